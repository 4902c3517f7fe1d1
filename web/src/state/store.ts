// What the page knows of the cluster. One thread writes it: the batches of the worker. Views read it, and are
// told once per frame at most.

import { useEffect, useReducer } from "preact/hooks";
import { kept, use } from "../api/key";
import workerUrl from "../live/worker.ts?worker&url";
import type { Batch, FromWorker, KindState, Link, ToWorker } from "../live/protocol";
import type { Tournament } from "../tournament/model";
import type { Node, Pod, Table, Tables } from "./model";
import { TABLES } from "./model";

export type Rows = { [T in Table]: Map<string, Tables[T]> };

export interface Motion {
  kind: "bound" | "gone";
  pod: Pod;
  was: Pod | undefined;
}

export interface NodeUse {
  cpu: number;
  mem: number;
  gpu: number;
  pods: Set<string>;
}

type Ear = () => void;

/** How far back the page remembers how fast pods were bound, in seconds. */
const HISTORY = 600;

class Store {
  rows: Rows = Object.fromEntries(TABLES.map((t) => [t, new Map()])) as unknown as Rows;
  versions: { [T in Table]: number } = Object.fromEntries(TABLES.map((t) => [t, 0])) as never;
  use = new Map<string, NodeUse>();
  pending = new Map<string, Pod>();
  kinds = new Map<string, KindState>();
  link: Link = "connecting";
  since = Date.now();
  /** Nodes whose picture has to be painted anew. */
  dirty = new Set<string>();
  layout = 0;
  motions: Motion[] = [];
  usage = new Map<string, { cpu: number; mem: number }>();
  /** Bindings seen since the page was opened, by second. */
  bindings: { at: number; count: number }[] = [];
  waits: { at: number; ms: number; id: string }[] = [];
  private ears = new Set<Ear>();
  private due = false;
  private worker: Worker | null = null;
  private asks = new Map<number, (message: FromWorker & { type: "tournament" }) => void>();
  private ask = 0;

  start() {
    const worker = makeWorker();
    this.worker = worker;
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.take(data);
    use(kept());
    this.post({ type: "start", key: kept() });
  }

  private post(message: ToWorker) {
    this.worker?.postMessage(message);
  }

  private take(message: FromWorker) {
    if (message.type === "batch") this.apply(message);
    else if (message.type === "kind") {
      this.kinds.set(message.id, message);
      this.told();
    } else if (message.type === "link") {
      this.link = message.link;
      this.since = message.since;
      this.told();
    } else {
      this.asks.get(message.ask)?.(message);
      this.asks.delete(message.ask);
    }
  }

  /** Whether the first list of these kinds is complete. */
  listed(...ids: string[]): boolean {
    return ids.every((id) => {
      const state = this.kinds.get(id)?.state;
      return state !== undefined && state !== "listing";
    });
  }

  private apply(batch: Batch) {
    const quiet = !this.listed("pods", "nodes");
    for (const table of TABLES) {
      const gone = batch.gone[table];
      const some = batch.changed[table];
      if (!gone && !some) continue;
      this.versions[table] += 1;
      const rows = this.rows[table] as Map<string, { id: string }>;
      for (const id of gone ?? []) {
        const was = rows.get(id);
        rows.delete(id);
        if (table === "pods" && was) this.podGone(was as Pod, quiet);
        if (table === "nodes") this.layout += 1;
      }
      for (const row of some ?? []) {
        const was = rows.get(row.id);
        if (table === "happenings" && was && (was as Tables["happenings"]).by && !(row as Tables["happenings"]).by) continue;
        rows.set(row.id, row);
        if (table === "pods") this.podSeen(row as Pod, was as Pod | undefined, quiet);
        if (table === "nodes") this.nodeSeen(row as Node, was as Node | undefined);
      }
    }
    this.told();
  }

  private nodeSeen(node: Node, was: Node | undefined) {
    if (!was || was.zone !== node.zone) this.layout += 1;
    this.dirty.add(node.name);
  }

  private place(pod: Pod): NodeUse {
    let use = this.use.get(pod.node);
    if (!use) this.use.set(pod.node, (use = { cpu: 0, mem: 0, gpu: 0, pods: new Set() }));
    return use;
  }

  private leave(pod: Pod) {
    if (pod.node && counts(pod)) {
      const use = this.place(pod);
      if (use.pods.delete(pod.id)) {
        use.cpu -= pod.cpu;
        use.mem -= pod.mem;
        use.gpu -= pod.gpu;
      }
      this.dirty.add(pod.node);
    }
    this.pending.delete(pod.id);
  }

  private podSeen(pod: Pod, was: Pod | undefined, quiet: boolean) {
    if (was) this.leave(was);
    if (pod.node && counts(pod)) {
      const use = this.place(pod);
      if (!use.pods.has(pod.id)) {
        use.pods.add(pod.id);
        use.cpu += pod.cpu;
        use.mem += pod.mem;
        use.gpu += pod.gpu;
      }
      this.dirty.add(pod.node);
    } else if (!pod.node && pod.phase === "Pending" && !pod.deleting) {
      this.pending.set(pod.id, pod);
    }
    if (quiet) return;
    if (pod.node && counts(pod) && (!was || !was.node || was.uid !== pod.uid)) {
      this.move({ kind: "bound", pod, was });
      this.bound(pod, was);
    }
    if (pod.disrupted && !was?.disrupted && pod.node) this.move({ kind: "gone", pod, was });
  }

  private podGone(was: Pod, quiet: boolean) {
    this.leave(was);
    if (!quiet && was.node && counts(was)) this.move({ kind: "gone", pod: was, was });
  }

  private move(motion: Motion) {
    if (this.motions.length < 200) this.motions.push(motion);
  }

  private bound(pod: Pod, was: Pod | undefined) {
    const at = Math.floor(Date.now() / 1000);
    const last = this.bindings.at(-1);
    if (last?.at === at) last.count += 1;
    else this.bindings.push({ at, count: 1 });
    while (this.bindings[0] && this.bindings[0].at < at - HISTORY) this.bindings.shift();
    if (was && !was.node) {
      this.waits.push({ at: Date.now(), ms: Math.max(0, (pod.bound || Date.now()) - pod.created), id: pod.id });
      if (this.waits.length > 5000) this.waits.splice(0, 1000);
    }
  }

  told() {
    if (this.due) return;
    this.due = true;
    const run = () => {
      this.due = false;
      for (const ear of this.ears) ear();
    };
    if (document.hidden) setTimeout(run, 250);
    else requestAnimationFrame(run);
  }

  hear(ear: Ear): () => void {
    this.ears.add(ear);
    return () => this.ears.delete(ear);
  }

  tournament(ns: string, name: string): Promise<Tournament> {
    return this.question((ask) => ({ type: "tournament", ask, ns, name }));
  }

  whatif(ns: string, body: string): Promise<Tournament> {
    return this.question((ask) => ({ type: "whatif", ask, ns, body }));
  }

  private question(make: (ask: number) => ToWorker): Promise<Tournament> {
    const ask = ++this.ask;
    return new Promise((done, fail) => {
      this.asks.set(ask, (message) => {
        if (message.answer) done(message.answer);
        else fail(Object.assign(new Error(message.error?.message ?? "no answer"), { code: message.error?.code }));
      });
      this.post(make(ask));
    });
  }
}

/** Whether a pod takes up room on its node. */
export function counts(pod: Pod): boolean {
  return pod.phase !== "Succeeded" && pod.phase !== "Failed";
}

/** Scripts of workers are named by this policy only: nothing else on the page makes code of text. */
function makeWorker(): Worker {
  const trusted = (window as { trustedTypes?: TrustedTypes }).trustedTypes;
  const policy = trusted?.createPolicy("worker", {
    createScriptURL: (url) => {
      if (url !== workerUrl) throw new TypeError("another script");
      return url;
    },
  });
  const url = policy ? policy.createScriptURL(workerUrl) : workerUrl;
  return new Worker(url as string, { type: "module" });
}

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): unknown };
}

export const store = new Store();

/** Draws the component again when something has changed, at most once in so many milliseconds. */
export function useStore(every = 200): Store {
  const [, again] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    let last = 0;
    let timer = 0;
    const stop = store.hear(() => {
      const now = performance.now();
      if (timer) return;
      const wait = Math.max(0, every - (now - last));
      timer = setTimeout(() => {
        timer = 0;
        last = performance.now();
        again(0);
      }, wait) as unknown as number;
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [every]);
  return store;
}

/** The present, told so often. */
export function useNow(every = 1000): number {
  const [now, set] = useReducer(() => Date.now(), Date.now());
  useEffect(() => {
    const timer = setInterval(() => set(undefined), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}
