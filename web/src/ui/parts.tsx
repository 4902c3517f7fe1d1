// Small things that all views use.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { plain } from "./text";

/** A bar of what is requested, with a thin line of what is used. */
export function Meter({ part, used, label, state = "" }: {
  part: number; used?: number | undefined; label: string; state?: string;
}) {
  const ref = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    ref.current?.style.setProperty("--part", String(Math.min(1, part)));
    if (used !== undefined) ref.current?.style.setProperty("--used", String(Math.min(1, used)));
  });
  return (
    <span ref={ref} class={`meter ${state} ${used === undefined ? "" : "has-use"}`} role="img" aria-label={label}>
      <span class="meter-fill" />
      {used !== undefined && <span class="meter-use" />}
    </span>
  );
}

/** The command that does the same. */
export function Command({ text }: { text: string }) {
  const [copied, set] = useState(false);
  return (
    <span class="command">
      <code tabIndex={0}>{plain(text)}</code>
      <button type="button" class="quiet" onClick={async () => {
        try {
          await navigator.clipboard.writeText(text);
          set(true);
          setTimeout(() => set(false), 1500);
        } catch {
          set(false);
        }
      }}>{copied ? "Copied" : "Copy"}</button>
    </span>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <div class="empty-more">{children}</div>}
    </div>
  );
}

export function Dialog({ title, close, children }: {
  title: string; close: () => void; children: ComponentChildren;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  // At once: whoever types on must not lose a letter.
  useLayoutEffect(() => {
    const dialog = ref.current!;
    const before = document.activeElement as HTMLElement | null;
    if (!dialog.open) dialog.showModal();
    return () => before?.focus?.();
  }, []);
  return (
    <dialog ref={ref} class="dialog" aria-labelledby="dialog-title" onCancel={(e) => { e.preventDefault(); close(); }}
      onClick={(e) => { if (e.target === ref.current) close(); }}>
      <div class="dialog-in">
        <h2 id="dialog-title">{plain(title)}</h2>
        {children}
      </div>
    </dialog>
  );
}

/** A small mark that says a state by its shape, too. */
export function Mark({ state }: { state: "ok" | "pending" | "bad" | "preempted" | "off" }) {
  const shapes = { ok: "●", pending: "◐", bad: "✕", preempted: "◆", off: "○" };
  return <span class={`mark mark-${state}`} aria-hidden="true">{shapes[state]}</span>;
}
