// Lists and watches the cluster away from the page's thread, and hands on what has changed in batches.

import { fetchOwn, use } from "../api/key";
import type { Table, Tables } from "../state/model";
import { condense } from "../tournament/condense";
import { KINDS, type Kind } from "./kinds";
import type { Batch, FromWorker, Link, ToWorker } from "./protocol";
import { disruption, type Json } from "./reduce";
import { Socket } from "./socket";

const tell = (message: FromWorker) => postMessage(message);

/** How many objects one page of a list has. */
const PAGE = 500;

// What has changed since the last batch.
let changed = new Map<Table, Map<string, unknown>>();
let gone = new Map<Table, Set<string>>();
let timer = 0;

function put<T extends Table>(table: T, row: Tables[T]) {
  let rows = changed.get(table);
  if (!rows) changed.set(table, (rows = new Map()));
  rows.set(row.id, row);
  gone.get(table)?.delete(row.id);
  soon();
}

function remove(table: Table, id: string) {
  changed.get(table)?.delete(id);
  let ids = gone.get(table);
  if (!ids) gone.set(table, (ids = new Set()));
  ids.add(id);
  soon();
}

/** Several changes in a short time are one batch; a batch is never so large that it holds up the page. */
const BATCH = 500;
function soon() {
  if (!timer) timer = setTimeout(flush, 60) as unknown as number;
}

function flush() {
  timer = 0;
  let room = BATCH;
  const batch: Batch = { type: "batch", changed: {}, gone: {}, first: false };
  for (const [table, ids] of gone) {
    if (ids.size) batch.gone[table] = [...ids];
    ids.clear();
  }
  for (const [table, rows] of changed) {
    if (!rows.size || room <= 0) continue;
    const some: unknown[] = [];
    for (const [id, row] of rows) {
      some.push(row);
      rows.delete(id);
      if (--room <= 0) break;
    }
    (batch.changed as Record<string, unknown[]>)[table] = some;
  }
  tell(batch);
  for (const rows of changed.values()) {
    if (!rows.size) continue;
    timer = setTimeout(flush, 12) as unknown as number;
    return;
  }
  for (const run of drained.splice(0)) run();
}

/** Who waits until everything so far was told. */
const drained: (() => void)[] = [];
function whenDrained(run: () => void) {
  drained.push(run);
  soon();
}

/** One kind: listed page by page, then watched from there. */
class Live {
  private known = new Set<string>();
  private version = "";
  private tries = 0;
  private generation = 0;

  constructor(private kind: Kind) {}

  private state(state: "listing" | "live" | "forbidden" | "missing" | "failed", message = "", seen = 0, total = 0) {
    tell({ type: "kind", id: this.kind.id, state, message, seen, total });
  }

  private path(query: string): string {
    const own = this.kind.query ? `${this.kind.query}&` : "";
    return `${this.kind.path}?${own}${query}`;
  }

  async start() {
    const generation = ++this.generation;
    this.state("listing");
    const seen = new Set<string>();
    let next = "";
    try {
      do {
        const more = next ? `&continue=${encodeURIComponent(next)}` : "";
        const answer = await fetchOwn(this.path(`limit=${PAGE}${more}`));
        if (generation !== this.generation) return;
        if (!answer.ok) return this.refused(answer.status, await said(answer));
        const list: Json = await answer.json();
        if (generation !== this.generation) return;
        for (const item of list.items ?? []) seen.add(this.take(item));
        next = list.metadata?.continue ?? "";
        this.version = list.metadata?.resourceVersion ?? "";
        const rest = list.metadata?.remainingItemCount ?? 0;
        this.state("listing", "", seen.size, seen.size + rest);
      } while (next);
    } catch {
      if (generation === this.generation) this.again();
      return;
    }
    for (const id of this.known) if (!seen.has(id)) remove(this.kind.table, id);
    this.known = seen;
    this.tries = 0;
    whenDrained(() => generation === this.generation && this.state("live", "", seen.size, seen.size));
    this.watch();
  }

  private take(item: Json): string {
    const row = this.kind.reduce(item);
    put(this.kind.table, row as never);
    if (this.kind.id === "pods") {
      const happened = disruption(item);
      if (happened) put("happenings", happened);
    }
    return row.id;
  }

  watch() {
    if (!this.version) return;
    const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${encodeURIComponent(this.version)}`;
    socket.open(this.kind.id, this.path(query));
  }

  lines(lines: string[]) {
    for (const line of lines) {
      if (!line) continue;
      const { type, object }: { type: string; object: Json } = JSON.parse(line);
      if (type === "ERROR") {
        // Too old, most likely: list anew.
        this.version = "";
        socket.close(this.kind.id);
        void this.start();
        return;
      }
      this.version = object.metadata?.resourceVersion ?? this.version;
      if (type === "BOOKMARK") continue;
      if (type === "DELETED") {
        const { id } = this.kind.reduce(object);
        if (this.kind.id === "pods") this.take(object);
        this.known.delete(id);
        // What happened stays on the timeline, although the event that told of it is forgotten.
        if (this.kind.table !== "happenings") remove(this.kind.table, id);
      } else {
        this.known.add(this.take(object));
      }
    }
  }

  answered(status: number, message: string) {
    if (status === 200) {
      this.tries = 0;
      return;
    }
    if (status === 410) void this.start();
    else this.refused(status, message);
  }

  ended() {
    // A watch ends now and then; it goes on where it was.
    if (socket.isOpen()) setTimeout(() => this.watch(), this.tries ? this.pause() : 0);
  }

  private refused(status: number, message: string) {
    if (status === 403) this.state("forbidden", message);
    else if (status === 404) this.state("missing", message);
    else if (status === 410) void this.start();
    else {
      if (status === 401) return link("ended");
      this.state("failed", message);
      this.again();
    }
  }

  private again() {
    setTimeout(() => void this.start(), this.pause());
  }

  private pause(): number {
    this.tries += 1;
    return Math.min(10_000, 500 * 2 ** Math.min(this.tries, 5)) * (0.75 + Math.random() / 2);
  }
}

async function said(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    return JSON.parse(text).message ?? text;
  } catch {
    return text;
  }
}

let present: Link = "connecting";
function link(next: Link) {
  if (next === present) return;
  present = next;
  tell({ type: "link", link: next, since: Date.now() });
}

const lives = new Map(KINDS.map((kind) => [kind.id, new Live(kind)]));
const listed = new Set<string>();

const socket = new Socket({
  opened() {
    link("live");
    for (const [id, live] of lives) {
      if (listed.has(id)) live.watch();
      else {
        listed.add(id);
        void live.start();
      }
    }
  },
  lost: () => link("lost"),
  refused: () => link("ended"),
  answered: (id, status, message) => lives.get(id)?.answered(status, message),
  lines: (id, lines) => lives.get(id)?.lines(lines),
  ended: (id) => lives.get(id)?.ended(),
});

async function tournament(ask: number, path: string, body?: string) {
  // The scheduler has little time for such questions, and says so.
  for (let tries = 0; ; tries++) {
    try {
      const answer = await fetchOwn(path, body === undefined ? {} : {
        method: "POST", body, headers: { "content-type": "application/yaml" },
      });
      if (answer.status === 429 && tries < 12) {
        await new Promise((done) => setTimeout(done, 300 + 200 * tries));
        continue;
      }
      if (!answer.ok) {
        tell({ type: "tournament", ask, error: { code: answer.status, message: await said(answer) } });
        return;
      }
      tell({ type: "tournament", ask, answer: condense(await answer.json()) });
      return;
    } catch (error) {
      tell({ type: "tournament", ask, error: { code: 0, message: String(error) } });
      return;
    }
  }
}

addEventListener("message", ({ data }: MessageEvent<ToWorker>) => {
  const root = "/apis/stowplan.dev/v1/namespaces";
  if (data.type === "start") {
    use(data.key);
    socket.start();
  } else if (data.type === "tournament") {
    void tournament(data.ask, `${root}/${encodeURIComponent(data.ns)}/decisions/${encodeURIComponent(data.name)}/tournament`);
  } else {
    void tournament(data.ask, `${root}/${encodeURIComponent(data.ns)}/decisions`, data.body);
  }
});
