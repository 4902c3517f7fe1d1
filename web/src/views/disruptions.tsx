// What was taken away, by whom, and when: one axis, a lane per kind. Brushing it filters every other view.

import { useMemo, useRef, useState } from "preact/hooks";
import { clock, plural, span } from "../live/amounts";
import type { Happening } from "../state/model";
import { store, useNow, useStore } from "../state/store";
import { href, set, timeWindow, usePlace } from "../state/url";
import { Empty, Mark } from "../ui/parts";
import { Name, plain } from "../ui/text";
import { useWidth } from "./tournament/rounds";
import { label } from "./workloads/crons";

type Kind = Happening["kind"];
const LANES: { kind: Kind; title: string; mark: "preempted" | "bad" | "off" | "ok" }[] = [
  { kind: "preempted", title: "Preemptions", mark: "preempted" },
  { kind: "evicted", title: "Evictions", mark: "bad" },
  { kind: "node", title: "Nodes", mark: "bad" },
  { kind: "drain", title: "Cordons", mark: "off" },
  { kind: "failed", title: "Failed jobs", mark: "bad" },
  { kind: "rollout", title: "Rollouts", mark: "ok" },
];
const LANE = 44;
/** Preemptions have two rows: who pushed, and who was pushed out. */
const TALL = 84;
const LEFT = 112;
const SPANS: [string, number][] = [["5m", 300_000], ["15m", 900_000], ["1h", 3_600_000], ["6h", 6 * 3_600_000], ["24h", 24 * 3_600_000]];

export function Disruptions() {
  useStore(400);
  const now = useNow();
  const { params } = usePlace();
  const all = useHappenings();
  const length = SPANS.find(([name]) => name === params.span)?.[1] ?? fitting(all, now);
  const range = timeWindow();
  const listed = all.filter((h) => (range ? h.at >= range[0] && h.at <= range[1] : h.at > now - length));
  if (all.length === 0) {
    return <Empty title={store.listed("pods") ? "Nothing was disrupted" : "Reading the cluster…"}>
      <p>Preemptions, evictions, drains, node failures and rollouts appear here as they happen.</p></Empty>;
  }
  return (
    <div class="page timeline">
      <div class="subnav">
        <h1 class="view-title">{plural(listed.length, "event")} <span class="dim">{range ? `from ${clock(range[0])} to ${clock(range[1])}` : `in the last ${span(length)}`}</span></h1>
        <div role="group" aria-label="How far back" class="tabs">
          {SPANS.map(([name, ms]) => <button key={name} type="button" aria-pressed={ms === length} onClick={() => set({ span: name }, true)}>{name}</button>)}
        </div>
      </div>
      <Axis all={all} from={now - length} to={now} />
      <p class="dim small pad">Drag over the axis to see only that time, here and in every other view.</p>
      <table class="table wide">
        <thead><tr><th scope="col">When</th><th scope="col">What</th><th scope="col">About</th><th scope="col">By</th><th scope="col">Why</th></tr></thead>
        <tbody>
          {listed.slice(0, 200).map((h) => <Line key={h.id} h={h} />)}
        </tbody>
      </table>
    </div>
  );
}

/** What happened, the latest first; who did it is named, as far as he is known. */
function useHappenings(): Happening[] {
  const anonymous = [...store.rows.happenings.values()].some((h) => h.by && !h.by.includes("/"));
  return useMemo(() => {
    const names = new Map<string, string>();
    const unnamed = new Set([...store.rows.happenings.values()].filter((h) => h.by && !h.by.includes("/")).map((h) => h.by));
    if (unnamed.size) for (const pod of store.rows.pods.values()) if (unnamed.has(pod.uid)) names.set(pod.uid, pod.id);
    const all = [...store.rows.happenings.values()].map((h) => ({ ...h, by: names.get(h.by) ?? h.by }));
    return all.sort((a, b) => b.at - a.at);
  }, [store.versions.happenings, anonymous ? store.versions.pods : 0]);
}

function fitting(all: Happening[], now: number): number {
  const oldest = all.at(-1)?.at ?? now;
  return (SPANS.find(([, ms]) => now - oldest < ms) ?? SPANS.at(-1)!)[1];
}

const WORDS: Record<Kind, string> = {
  preempted: "preempted", evicted: "evicted", node: "node", drain: "cordon", rollout: "rollout", failed: "failed",
};

function Line({ h }: { h: Happening }) {
  const lane = LANES.find((l) => l.kind === h.kind)!;
  const to = h.kind === "node" || h.kind === "drain" ? href("cluster", { node: h.ref })
    : h.kind === "rollout" || h.kind === "failed" ? href("workloads", { of: h.kind === "failed" ? "jobs" : "services" })
      : href("tournament", { pod: h.ref });
  return (
    <tr>
      <td class="num">{clock(h.at)}</td>
      <td><Mark state={h.kind === "node" && /is now: NodeReady|NodeReady/.test(h.text) && !/NotReady/.test(h.text) ? "ok" : lane.mark} /> {WORDS[h.kind]}</td>
      <td><a class="link" href={to}><Name text={h.what} /></a>{h.node && h.node !== h.what && <span class="dim"> on <Name text={h.node} /></span>}</td>
      <td>{h.by.includes("/") ? <a class="link" href={href("tournament", { pod: h.by })}><Name text={h.by} /></a> : h.by && <span class="dim">a pod that is gone</span>}</td>
      <td class="dim">{plain(h.text)}</td>
    </tr>
  );
}

function Axis({ all, from, to }: { all: Happening[]; from: number; to: number }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const svg = useRef<SVGSVGElement>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const range = timeWindow();
  const x = (at: number) => LEFT + ((at - from) / (to - from)) * (width - LEFT - 12);
  const time = (px: number) => Math.round(from + ((px - LEFT) / (width - LEFT - 12)) * (to - from));
  const steps = [60_000, 300_000, 900_000, 3_600_000, 3 * 3_600_000, 6 * 3_600_000];
  const step = steps.find((s) => (s / (to - from)) * width > 90) ?? steps.at(-1)!;
  const ticks: number[] = [];
  for (let at = Math.ceil(from / step) * step; at < to; at += step) ticks.push(at);
  const lanes = LANES.filter((l) => all.some((h) => h.kind === l.kind));
  const tall = (kind: Kind) => (kind === "preempted" ? TALL : LANE);
  const tops = lanes.map((_, i) => lanes.slice(0, i).reduce((sum, l) => sum + tall(l.kind), 0));
  const height = lanes.reduce((sum, l) => sum + tall(l.kind), 0) + 26;
  const point = (e: PointerEvent) => Math.max(LEFT, e.clientX - svg.current!.getBoundingClientRect().left);
  const brush: [number, number] | null = drag ?? (range ? [x(range[0]), x(range[1])] : null);
  return (
    <div ref={ref} class="axis">
      {width > 0 && (
        <svg ref={svg} width={width} height={height} role="img" aria-label={`${all.length} events on a time axis`}
          onPointerDown={(e) => { svg.current!.setPointerCapture(e.pointerId); setDrag([point(e), point(e)]); }}
          onPointerMove={(e) => drag && setDrag([drag[0], point(e)])}
          onPointerUp={() => {
            if (drag && Math.abs(drag[1] - drag[0]) > 5) {
              const [a, b] = drag[0] < drag[1] ? drag : [drag[1], drag[0]];
              set({ from: String(time(a)), to: String(time(b)) });
            } else if (range) set({ from: "", to: "" });
            setDrag(null);
          }}>
          {ticks.map((t) => <g key={t}><line x1={x(t)} x2={x(t)} y1="0" y2={height - 22} class="grid" /><text x={x(t)} y={height - 6} class="tick" text-anchor="middle">{label(t, step)}</text></g>)}
          {lanes.map((lane, i) => <Lane key={lane.kind} lane={lane} all={all} y={tops[i]!} h={tall(lane.kind)} x={x} from={from} width={width} />)}
          {brush && <rect x={Math.min(...brush)} y="0" width={Math.abs(brush[1] - brush[0])} height={height - 22} class="brush" />}
        </svg>
      )}
    </div>
  );
}

/** Who pushed out whom: one above, the others below, and arcs between them. */
function Pushes({ all, y, x }: { all: Happening[]; y: number; x: (at: number) => number }) {
  const groups = new Map<string, Happening[]>();
  for (const h of all) {
    const key = `${h.by} ${Math.round(x(h.at) / 6)}`;
    const list = groups.get(key);
    if (list) list.push(h);
    else groups.set(key, [h]);
  }
  let taken = Infinity;
  return (
    <>
      {[...groups.values()].slice(0, 200).map((list) => {
        const [first] = list as [Happening, ...Happening[]];
        const px = x(first.at);
        const top = y + 18;
        const bottom = y + TALL - 18;
        const shown = list.slice(0, 12);
        const step = Math.min(13, 90 / shown.length);
        const name = plain(first.by || "a pod");
        const room = name.length * 7 + 14;
        const named = px - LEFT > room && px + 20 < taken;
        if (named) taken = px - room;
        return (
          <g key={first.id} class="h-preempted">
            {shown.map((h, i) => {
              const vx = px + (i - (shown.length - 1) / 2) * step;
              return (
                <g key={h.id}>
                  <title>{`${clock(h.at)} ${plain(h.what)} was pushed out by ${name}`}</title>
                  <path d={`M ${px} ${top} C ${px} ${(top + bottom) / 2} ${vx} ${(top + bottom) / 2} ${vx} ${bottom}`} class="arc" />
                  <rect x={vx - 3} y={bottom - 3} width="6" height="6" class="victim-mark" />
                </g>
              );
            })}
            <path d={`M ${px} ${top - 5} l 5 5 l -5 5 l -5 -5 z`}><title>{name}</title></path>
            {named && <text x={px - 10} y={top + 4} text-anchor="end" class="push-name">{name}</text>}
          </g>
        );
      })}
    </>
  );
}

function Lane({ lane, all, y, h: tall, x, from, width }: {
  lane: (typeof LANES)[number]; all: Happening[]; y: number; h: number; x: (at: number) => number; from: number; width: number;
}) {
  const own = all.filter((h) => h.kind === lane.kind && h.at >= from);
  // Those of one moment stand above each other.
  const stacks = new Map<number, number>();
  const middle = y + tall / 2;
  return (
    <g>
      <line x1="0" x2={width} y1={y + tall} y2={y + tall} class="axis-line" />
      <text x="0" y={middle + 4} class="lane-title">{lane.title}</text>
      <text x={LEFT - 14} y={middle + 4} class="tick" text-anchor="end">{own.length}</text>
      {lane.kind === "preempted" && <Pushes all={own} y={y} x={x} />}
      {lane.kind !== "preempted" && own.slice(0, 400).map((h) => {
        const px = x(h.at);
        const slot = Math.round(px / 7);
        const n = stacks.get(slot) ?? 0;
        stacks.set(slot, n + 1);
        const py = middle + (n % 2 ? -1 : 1) * Math.ceil(n / 2) * 7;
        if (n > 4) return null;
        const title = `${clock(h.at)} ${plain(h.what)}${h.by ? ` by ${plain(h.by)}` : ""}`;
        const good = /NodeReady/.test(h.text) && !/NotReady/.test(h.text);
        const kind = good ? "rollout" : h.kind;
        return kind === "rollout" || kind === "drain"
          ? <circle key={h.id} cx={px} cy={py} r="3" class={`h-${kind}`}><title>{title}</title></circle>
          : <path key={h.id} d={`M ${px - 3} ${py - 3} l 6 6 M ${px + 3} ${py - 3} l -6 6`} class={`h-${kind}`}><title>{title}</title></path>;
      })}
    </g>
  );
}
