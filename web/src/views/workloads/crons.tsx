// Schedules: past runs by length and outcome, now, the next runs; missed ones are hollow.

import { ofCron } from "../../api/actions";
import { clock, span } from "../../live/amounts";
import type { Cron, Job } from "../../state/model";
import { store } from "../../state/store";
import { Actions } from "../../ui/actions";
import { Mark } from "../../ui/parts";
import { Name, plain } from "../../ui/text";
import { useWidth } from "../tournament/rounds";
import { missed, next, parse } from "./cron";

const HEIGHT = 30;
const SPANS = [10 * 60_000, 20 * 60_000, 40 * 60_000, 90 * 60_000, 6 * 3_600_000, 24 * 3_600_000, 7 * 24 * 3_600_000];

/** How much time is shown: about a dozen runs of the most frequent. */
function shown(all: Cron[], now: number): number {
  const gaps = all.flatMap((c) => {
    const [a, b] = next(c.schedule, c.zone, now, 2);
    return a && b ? [b - a] : [];
  });
  const wanted = Math.min(...gaps, 24 * 3_600_000) * 14;
  return SPANS.find((s) => s >= wanted) ?? SPANS.at(-1)!;
}

export function Crons({ all, now }: { all: Cron[]; now: number }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const length = shown(all, now);
  const from = now - length * 0.7;
  const to = now + length * 0.3;
  const x = (at: number) => ((at - from) / (to - from)) * width;
  all.sort((a, b) => (a.id < b.id ? -1 : 1));
  return (
    <div class="crons">
      <div class="cron cron-axis"><span /><div ref={ref} class="cron-line">{width > 0 && <Axis width={width} from={from} to={to} now={now} x={x} />}</div><span /></div>
      {all.slice(0, 100).map((cron) => <Row key={cron.id} cron={cron} now={now} from={from} to={to} x={x} width={width} />)}
    </div>
  );
}

function Axis({ width, from, to, now, x }: { width: number; from: number; to: number; now: number; x: (at: number) => number }) {
  const steps = [60_000, 300_000, 900_000, 3_600_000, 6 * 3_600_000, 24 * 3_600_000];
  const step = steps.find((s) => ((s / (to - from)) * width) > 86) ?? steps.at(-1)!;
  const ticks: number[] = [];
  for (let at = Math.ceil(from / step) * step; at < to; at += step) ticks.push(at);
  return (
    <svg width={width} height={22} aria-hidden="true">
      {ticks.filter((t) => Math.abs(x(t) - x(now)) > 44).map((t) => <text key={t} x={x(t)} y={14} class="tick" text-anchor="middle">{label(t, step)}</text>)}
      <text x={x(now)} y={14} class="tick tick-now" text-anchor="middle">now</text>
    </svg>
  );
}

export function label(at: number, step: number): string {
  const d = new Date(at);
  if (step >= 24 * 3_600_000) return d.toLocaleDateString([], { month: "short", day: "numeric" });
  const text = clock(at);
  return step < 60_000 ? text : text.slice(0, 5);
}

function jobsOf(cron: Cron): Job[] {
  return [...store.rows.jobs.values()].filter((j) => j.ns === cron.ns && j.owner === `CronJob/${cron.name}`);
}

function Row({ cron, now, from, to, x, width }: { cron: Cron; now: number; from: number; to: number; x: (at: number) => number; width: number }) {
  const jobs = jobsOf(cron);
  const runs = jobs.map((j) => j.scheduled || j.created);
  const kept = Math.min(...runs, now);
  const since = Math.max(from, cron.created, kept - 60_000);
  const gaps = cron.suspended ? [] : missed(cron.schedule, cron.zone, since, now, runs);
  const coming = cron.suspended ? [] : next(cron.schedule, cron.zone, now, 40).filter((at) => at < to);
  const [soon] = next(cron.schedule, cron.zone, now, 1);
  const bad = jobs.filter((j) => j.outcome === "Failed").length;
  return (
    <div class="cron">
      <div class="cron-name">
        <p><Name text={cron.id} /></p>
        <p class="dim small"><code>{plain(cron.schedule)}</code>{cron.zone && ` ${plain(cron.zone)}`} · {cron.suspended ? "suspended" : soon ? `next in ${span(soon - now)}` : parse(cron.schedule) ? "never again" : "the cluster knows when"}
          {bad > 0 && <span class="red"> · <Mark state="bad" /> {bad} failed</span>}</p>
      </div>
      <div class="cron-line">
        <svg width={width} height={HEIGHT} role="img" aria-label={`${jobs.length} runs, ${bad} failed, ${gaps.length} missed`}>
          <line x1="0" x2={width} y1={HEIGHT / 2} y2={HEIGHT / 2} class="axis-line" />
          <line x1={x(now)} x2={x(now)} y1="0" y2={HEIGHT} class="now-line" />
          {jobs.filter((j) => (j.ended || now) > from).map((j) => {
            const start = Math.max(0, x(j.started || j.created));
            const w = Math.max(5, x(j.ended || now) - start);
            const kind = j.outcome === "Failed" ? "run-bad" : j.outcome === "Complete" ? "run-ok" : "run-on";
            return <rect key={j.id} x={start} y={HEIGHT / 2 - 6} width={w} height="12" rx="1.5" class={kind}><title>{`${plain(j.name)}: ${j.outcome || "runs"}, ${span((j.ended || now) - (j.started || j.created))}`}</title></rect>;
          })}
          {gaps.map((at) => <rect key={at} x={x(at)} y={HEIGHT / 2 - 6} width="6" height="12" rx="1.5" class="run-missed"><title>{`missed at ${clock(at)}`}</title></rect>)}
          {coming.map((at) => <circle key={at} cx={x(at)} cy={HEIGHT / 2} r="3" class="run-next"><title>{clock(at)}</title></circle>)}
        </svg>
      </div>
      <Actions actions={ofCron(cron)} of={cron.id} />
    </div>
  );
}
