// Few plots, each with the question as its title.

import { useEffect, useState } from "preact/hooks";
import { ask } from "../api/request";
import { count, millis, percent, plural, span } from "../live/amounts";
import type { Pod } from "../state/model";
import { groups, reasons } from "../state/reasons";
import { store, useNow, useStore } from "../state/store";
import { href, timeWindow, usePlace } from "../state/url";
import { watchUsage } from "../state/usage";
import { Empty } from "../ui/parts";
import { plain } from "../ui/text";
import { useWidth } from "./tournament/rounds";

export function Health() {
  useStore(1000);
  const now = useNow(1000);
  usePlace();
  useEffect(watchUsage, []);
  if (!store.listed("pods", "nodes")) return <Empty title="Reading the cluster…" />;
  return (
    <div class="page health">
      <h1 class="hidden">Health</h1>
      <Waits />
      <Failures />
      <Fullness />
      <Speed />
      <Backlog now={now} />
    </div>
  );
}

function Plot({ question, answer, note, children }: { question: string; answer?: string | undefined; note?: string; children: preact.ComponentChildren }) {
  return (
    <section class="plot">
      <h2>{question}</h2>
      {answer && <p class="plot-answer">{answer}</p>}
      {children}
      {note && <p class="dim small">{note}</p>}
    </section>
  );
}

interface Bar { label: string; n: number; m?: number; state?: string; to?: string }

/** Plots use a tall window. */
const height = () => Math.round(Math.max(130, Math.min(300, innerHeight * 0.2)));

/** Columns of counts, each with its number above it. */
function Columns({ bars, unit }: { bars: Bar[]; unit: string }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const H = height();
  const top = Math.max(1, ...bars.flatMap((b) => [b.n, b.m ?? 0]));
  const step = width / Math.max(1, bars.length);
  const show = (n: number) => (step < 40 && n >= 1000 ? `${Math.round(n / 1000)}k` : count(n));
  return (
    <div ref={ref} class="columns">
      {width > 0 && (
        <svg width={width} height={H + 40} role="img" aria-label={bars.map((b) => `${b.label}: ${b.n} ${unit}`).join(", ")}>
          <line x1="0" x2={width} y1={H + 18.5} y2={H + 18.5} class="axis-line" />
          {bars.map((b, i) => {
            const h = (b.n / top) * H;
            const mh = ((b.m ?? 0) / top) * H;
            return (
              <g key={b.label}>
                <rect x={i * step + 2} y={H + 18 - h} width={Math.max(1, step - 4)} height={h} class={`col ${b.state ?? ""}`} />
                {b.m !== undefined && b.m > 0 && <rect x={i * step + step / 2 - 2} y={H + 18 - mh} width="4" height={mh} class="col-use" />}
                {b.n > 0 && <text x={i * step + step / 2} y={H + 13 - Math.max(h, mh)} text-anchor="middle" class="col-n">{show(b.n)}</text>}
                <text x={i * step + step / 2} y={H + 34} text-anchor="middle" class="tick">{b.label}</text>
              </g>
            );
          })}
        </svg>
      )}
    </div>
  );
}

const BUCKETS: [string, number][] = [
  ["<1s", 1_000], ["2s", 2_000], ["5s", 5_000], ["10s", 10_000], ["30s", 30_000], ["1m", 60_000], ["5m", 300_000], ["more", Infinity],
];

function quantile(sorted: number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
}

const secs = (ms: number) => (ms < 1000 ? "less than 1s" : span(ms));

function Waits() {
  const range = timeWindow();
  const waits: number[] = [];
  for (const pod of store.rows.pods.values()) {
    if (pod.bound && (!range || (pod.bound >= range[0] && pod.bound <= range[1]))) waits.push(Math.max(0, pod.bound - pod.created));
  }
  waits.sort((a, b) => a - b);
  let at = 0;
  const bars = BUCKETS.map(([label, limit]) => {
    const from = at;
    while (at < waits.length && waits[at]! < limit) at += 1;
    return { label, n: at - from };
  });
  return (
    <Plot question="How long do pods wait?" note="From creation to binding, of the pods that are there now. The API tells seconds."
      answer={waits.length ? `p50 ${secs(quantile(waits, 0.5))}, p99 ${secs(quantile(waits, 0.99))}` : "Nothing was placed yet"}>
      <Columns bars={bars} unit="pods" />
    </Plot>
  );
}

function Failures() {
  const by = new Map<string, number>();
  for (const pod of store.pending.values()) {
    const found = reasons(pod.message);
    const text = found[0]?.text ?? (pod.gated ? "held back by gates" : pod.tried ? pod.message : "waiting to be tried");
    by.set(text, (by.get(text) ?? 0) + 1);
  }
  for (const pod of store.rows.pods.values()) if (pod.failing && pod.node) by.set(pod.failing, (by.get(pod.failing) ?? 0) + 1);
  const all = [...by].sort((a, b) => b[1] - a[1]);
  const top = all[0]?.[1] ?? 1;
  const total = all.reduce((sum, [, n]) => sum + n, 0);
  return (
    <Plot question="Why do they fail?" answer={total ? `${plural(total, "pod")}, ${plural(groups(store.pending.values()).length, "reason")} to wait` : "Nothing waits and nothing fails"}>
      <ul class="bars">
        {all.slice(0, 8).map(([text, n]) => (
          <li key={text}><a href={href("pending")}><span class="bars-text">{plain(text)}</span><BarLine part={n / top} /><b class="num">{count(n)}</b></a></li>
        ))}
      </ul>
    </Plot>
  );
}

function BarLine({ part }: { part: number }) {
  return <span class="bar-line" ref={(el: HTMLElement | null) => el?.style.setProperty("--part", String(part))} />;
}

function Fullness() {
  const asked = Array.from({ length: 10 }, () => 0);
  const used = Array.from({ length: 10 }, () => 0);
  let sum = 0;
  let sumUsed = 0;
  let n = 0;
  const slot = (part: number) => Math.max(0, Math.min(9, Math.floor(part * 10 - 1e-9)));
  for (const node of store.rows.nodes.values()) {
    const use = store.use.get(node.name);
    const part = Math.max(node.cpu ? (use?.cpu ?? 0) / node.cpu : 0, node.mem ? (use?.mem ?? 0) / node.mem : 0);
    asked[slot(part)]! += 1;
    sum += part;
    n += 1;
    const u = store.usage.get(node.name);
    if (u) {
      const up = Math.max(node.cpu ? u.cpu / node.cpu : 0, node.mem ? u.mem / node.mem : 0);
      used[slot(up)]! += 1;
      sumUsed += up;
    }
  }
  const measured = store.usage.size > 0;
  const bars = asked.map((count, i) => ({ label: `${(i + 1) * 10}%`, n: count, ...(measured ? { m: used[i]! } : {}) }));
  return (
    <Plot question="How full are nodes?" note={`Nodes by the fuller of cpu and memory: requested as columns${measured ? ", used as the thin line" : ""}.`}
      answer={n ? `${percent(sum / n)} requested${measured ? `, ${percent(sumUsed / store.usage.size)} used` : ""} on average` : "No nodes"}>
      <Columns bars={bars} unit="nodes" />
    </Plot>
  );
}

const SAMPLE = 60;

/** The pods that were bound last. */
function latest(howMany: number): Pod[] {
  const out: Pod[] = [];
  let least = 0;
  for (const pod of store.rows.pods.values()) {
    if (pod.bound <= least) continue;
    out.push(pod);
    if (out.length >= howMany * 4) {
      out.sort((a, b) => b.bound - a.bound).splice(howMany);
      least = out.at(-1)!.bound;
    }
  }
  return out.sort((a, b) => b.bound - a.bound).slice(0, howMany);
}

/** How long the last decisions took; the scheduler is asked about a sample of the pods placed last. */
function useDurations(): number[] {
  const [durations, set] = useState<number[]>([]);
  let newest = 0;
  for (const pod of store.rows.pods.values()) newest = Math.max(newest, pod.bound);
  const round = Math.floor(newest / 10_000);
  useEffect(() => {
    let gone = false;
    const last = latest(SAMPLE);
    void (async () => {
      const out: number[] = [];
      for (let i = 0; i < last.length && !gone; i += 4) {
        await Promise.all(last.slice(i, i + 4).map(async (p) => {
          try {
            const told = await ask<{ durationSeconds: number }>(`/apis/stowplan.dev/v1/namespaces/${encodeURIComponent(p.ns)}/decisions/${encodeURIComponent(p.name)}`);
            out.push(told.durationSeconds * 1000);
          } catch {
            // It is forgotten.
          }
        }));
      }
      if (!gone) set(out.sort((a, b) => a - b));
    })();
    return () => {
      gone = true;
    };
  }, [round]);
  return durations;
}

const FAST: [string, number][] = [["20µs", 0.02], ["50µs", 0.05], ["0.1ms", 0.1], ["0.2ms", 0.2], ["0.5ms", 0.5], ["1ms", 1], ["5ms", 5], ["more", Infinity]];

function Speed() {
  const ms = useDurations();
  let at = 0;
  const bars = FAST.map(([label, limit]) => {
    const from = at;
    while (at < ms.length && ms[at]! < limit) at += 1;
    return { label, n: at - from };
  });
  return (
    <Plot question="How fast do we decide?" note={`Of the last ${plural(ms.length, "decision")} that the scheduler remembers: the time from taking a pod off the queue to a node.`}
      answer={ms.length ? `p50 ${millis(quantile(ms, 0.5))}, p99 ${millis(quantile(ms, 0.99))}` : "No decision is remembered"}>
      <Columns bars={bars} unit="decisions" />
    </Plot>
  );
}

function Backlog({ now }: { now: number }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const H = height();
  const seconds = 120;
  const end = Math.floor(now / 1000);
  const byAt = new Map(store.bindings.map((b) => [b.at, b.count]));
  const top = Math.max(4, ...store.bindings.map((b) => b.count));
  const w = width / seconds;
  const sum = store.bindings.filter((b) => b.at > end - seconds).reduce((n, b) => n + b.count, 0);
  return (
    <Plot question="Does the backlog shrink?" note="Pods bound in each of the last 120 seconds, as this page saw it."
      answer={`${count(store.pending.size)} waiting, ${count(sum)} bound in two minutes`}>
      <div ref={ref} class="columns">
        {width > 0 && (
          <svg width={width} height={H + 22} role="img" aria-label={`${sum} pods bound in the last two minutes`}>
            <line x1="0" x2={width} y1={H + 18.5} y2={H + 18.5} class="axis-line" />
            <text x="0" y="11" class="tick">{count(top)} per second</text>
            {Array.from({ length: seconds }, (_, i) => {
              const n = byAt.get(end - seconds + 1 + i) ?? 0;
              const h = (n / top) * H;
              return n ? <rect key={i} x={i * w} y={H + 18 - h} width={Math.max(1, w - 1)} height={h} class="col" /> : null;
            })}
          </svg>
        )}
      </div>
    </Plot>
  );
}
