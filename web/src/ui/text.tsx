// Text of the cluster: names and messages are text, whatever they contain.

import type { ComponentChildren } from "preact";

// Controls, marks that turn the direction of text, and such that cannot be seen.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Makes visible what would hide, or turn around what stands beside it. */
export function plain(text: string): string {
  return text.replace(HIDDEN, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function Name({ text, title, class: more = "" }: { text: string; title?: string; class?: string }) {
  return <bdi class={`name ${more}`} title={title ? plain(title) : undefined}>{plain(text)}</bdi>;
}

export function Link({ to, children, class: more = "", label }: {
  to: string; children: ComponentChildren; class?: string; label?: string;
}) {
  return <a href={to} class={`link ${more}`} aria-label={label}>{children}</a>;
}
