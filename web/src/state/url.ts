// The address holds the whole state of the page, so that a view can be sent to a colleague.

import { useEffect, useReducer } from "preact/hooks";

export interface Place {
  view: string;
  params: Record<string, string>;
}

export function parse(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  return { view: decodeURIComponent(path) || "cluster", params: Object.fromEntries(new URLSearchParams(query)) };
}

export function format({ view, params }: Place): string {
  const some = Object.entries(params).filter(([, value]) => value !== "");
  const query = new URLSearchParams(some).toString().replace(/%2F/g, "/");
  return `#/${view}${query ? `?${query}` : ""}`;
}

/** What stays when another view is opened. */
const LASTING = ["from", "to", "ns"];

export function here(): Place {
  return parse(location.hash);
}

/** The address of a view. */
export function href(view: string, params: Record<string, string> = {}): string {
  const kept: Record<string, string> = {};
  const present = here().params;
  for (const name of LASTING) if (present[name]) kept[name] = present[name];
  return format({ view, params: { ...kept, ...params } });
}

export function go(view: string, params: Record<string, string> = {}) {
  location.hash = href(view, params);
}

/** Changes a part of the state; without a step back where it is a small one. */
export function set(params: Record<string, string>, replace = false) {
  const place = here();
  const next = format({ view: place.view, params: { ...place.params, ...params } });
  if (next === location.hash) return;
  if (replace) {
    history.replaceState(null, "", next);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else location.hash = next;
}

export function usePlace(): Place {
  const [, again] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    const ear = () => again(0);
    addEventListener("hashchange", ear);
    return () => removeEventListener("hashchange", ear);
  }, []);
  return here();
}

/** The window of time that was brushed, if any. */
export function timeWindow(): [number, number] | null {
  const { from, to } = here().params;
  return from && to ? [Number(from), Number(to)] : null;
}
