// What the worker and the page tell each other.

import type { Table, Tables } from "../state/model";
import type { Tournament } from "../tournament/model";

export type Link = "connecting" | "live" | "lost" | "ended";

export interface Batch {
  type: "batch";
  changed: { [T in Table]?: Tables[T][] };
  gone: { [T in Table]?: string[] };
  /** Objects that were pending when they were last told, and are bound now: for motion. */
  first: boolean;
}

export interface KindState {
  type: "kind";
  id: string;
  state: "listing" | "live" | "forbidden" | "missing" | "failed";
  message: string;
  seen: number;
  total: number;
}

export type FromWorker =
  | Batch
  | KindState
  | { type: "link"; link: Link; since: number }
  | { type: "tournament"; ask: number; answer?: Tournament; error?: { code: number; message: string } };

export type ToWorker =
  | { type: "start"; key: string }
  | { type: "tournament"; ask: number; ns: string; name: string }
  | { type: "whatif"; ask: number; ns: string; body: string };
