// The rounds as a picture: a strand per node, or per few dozen of them, runs from the queue to the scores. Strands fall
// where a filter drops their nodes; of those that are left one goes on to the winner.

import { count, plural } from "../../live/amounts";
import type { Tournament } from "../../tournament/model";
import { Name, plain } from "../../ui/text";
import { RULES } from "./preempting";
import { useWidth } from "./rounds";
import { share } from "./strands";
import { FILTERS, meaning } from "./words";

const TOP = 62;
const BAND = 132;
const HEIGHT = 300;
const FLOOR = TOP + BAND + 38;
/** More strands than this are a blur. */
const STRANDS = 44;

export function River({ told, chosen, choose }: { told: Tournament; chosen: string; choose: (plugin: string) => void }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  return (
    <div class="river" ref={ref}>
      {width > 0 && <Drawing told={told} width={width} chosen={chosen} choose={choose} />}
    </div>
  );
}

interface Station {
  x: number;
  w: number;
  plugin: string;
  out: number;
  after: number;
  reason: string;
  more: number;
  /** Strands that fall here: from this one on, counted from the lowest. */
  strands: number;
}

function Drawing({ told, width, chosen, choose }: { told: Tournament; width: number; chosen: string; choose: (p: string) => void }) {
  const narrow = width < 900;
  const queueW = narrow ? 116 : 168;
  const endW = narrow ? 156 : 220;
  const dropping = told.stopped ? [] : told.rounds.filter((r) => r.out > 0);
  const { falls, stay } = share(dropping.map((r) => r.out), told.stopped ? 0 : told.feasible, STRANDS);
  const left = queueW;
  const gate = width - endW - (narrow ? 46 : 84);
  const step = (gate - left) / Math.max(1, dropping.length);
  const stations: Station[] = dropping.map((r, i) => ({
    x: left + i * step, w: step, plugin: r.plugin, out: r.out, after: r.entered - r.out,
    reason: r.reasons[0]?.text ?? "", more: r.reasons.length - 1, strands: falls[i]!,
  }));
  const strands = falls.reduce((a, b) => a + b, 0) + stay;
  const gap = strands ? Math.min(11, BAND / strands) : 0;
  const middle = TOP + BAND / 2;
  const top = middle - (gap * (strands - 1)) / 2;
  const passed = told.rounds.filter((r) => r.out === 0).length + told.skipped.length;
  const label = `${plural(told.total, "node")} entered, ${stations.map((s) => `${s.out} dropped out at ${s.plugin}`).join(", ") || "none dropped out"}, ${told.feasible} left.`;
  const more = told.total > strands && strands > 0;
  return (
    <div class="river-in">
      <svg width={width} height={HEIGHT} role="img" aria-label={label}>
        {stations.map((s) => <line key={s.plugin} x1={s.x + s.w / 2} x2={s.x + s.w / 2} y1={TOP - 10} y2={FLOOR} class="station-line" />)}
        <Strands stations={stations} stay={stay} top={top} gap={gap} left={left - 12} gate={gate} width={width - endW} told={told} middle={middle} chosen={chosen} />
      </svg>
      <Box x={0} w={queueW - 24} middle={middle} class="stage">
        <span class="stage-title">Queue</span>
        <b class="stage-number">{count(told.total)}</b>
        <span class="dim">{told.total === 1 ? "node" : "nodes"} to try</span>
        {told.narrowed !== null && <span class="dim">{count(told.narrowed)} asked</span>}
        {more && <span class="dim small">1 line ≈ {count(Math.round(told.total / strands))}</span>}
      </Box>
      {stations.map((s) => (
        <Box key={s.plugin} x={s.x} w={s.w} class="station" at={4}>
          <button type="button" aria-pressed={chosen === s.plugin} onClick={() => choose(s.plugin)} title={s.plugin}>
            <span class="station-title">{FILTERS[s.plugin] ?? s.plugin}</span>
            <span class="station-plugin">{s.plugin}</span>
          </button>
        </Box>
      ))}
      {stations.map((s) => (
        <Box key={`${s.plugin} out`} x={s.x + 4} w={s.w - 8} class="fall-text" at={FLOOR + 6}>
          <b>−{count(s.out)}</b> <span>{plain(meaning(s.reason))}</span>
          {s.more > 0 && <span class="dim"> and {plural(s.more, "other reason")}</span>}
        </Box>
      ))}
      {stations.length === 0 && !told.stopped && told.total > 0 && (
        <Box x={left} w={gate - left} class="calm" at={20}><span class="dim">No filter dropped a node</span></Box>
      )}
      {told.stopped && <Box x={left} w={gate - left} class="calm" at={middle - 10}><span class="dim">No node was asked</span></Box>}
      {passed > 0 && !told.stopped && (
        <Box x={width - endW} w={endW} class="passed" at={HEIGHT - 26}><span class="dim">{plural(passed, stations.length ? "other filter" : "filter")} dropped none</span></Box>
      )}
      <End told={told} x={width - endW} w={endW} middle={middle} />
    </div>
  );
}

function Strands({ stations, stay, top, gap, left, gate, width, told, middle, chosen }: {
  stations: Station[]; stay: number; top: number; gap: number; left: number; gate: number; width: number;
  told: Tournament; middle: number; chosen: string;
}) {
  const thick = Math.max(1, Math.min(4, gap * 0.5));
  const out: preact.JSX.Element[] = [];
  let lane = stay;
  // The first to fall are the lowest, so that strands do not cross.
  for (const s of [...stations].reverse()) {
    const middleX = s.x + s.w / 2;
    for (let i = 0; i < s.strands; i++) {
      const y = top + lane * gap;
      const spread = (i - (s.strands - 1) / 2) * Math.min(thick * 1.6, (s.w * 0.5) / Math.max(1, s.strands));
      const turn = Math.min(46, s.w * 0.3);
      const x = middleX - spread;
      const path = `M ${left} ${y} L ${x - turn} ${y} C ${x - turn * 0.3} ${y} ${x} ${y + 10} ${x} ${Math.min(FLOOR, y + 46)} L ${x} ${FLOOR}`;
      out.push(<path key={`${s.plugin} ${i}`} d={path} stroke-width={thick} class={`strand strand-out ${chosen === s.plugin ? "strand-chosen" : ""}`} />);
      lane += 1;
    }
  }
  const winnerLane = Math.floor(stay / 2);
  const ties = Math.min(stay, told.ties);
  for (let i = 0; i < stay; i++) {
    const y = top + i * gap;
    const won = told.winner !== "" && i === winnerLane;
    if (won) continue;
    const tied = told.winner !== "" && Math.abs(i - winnerLane) < Math.ceil(ties / 2);
    out.push(<path key={i} d={`M ${left} ${y} L ${gate} ${y}`} stroke-width={thick} class={`strand ${tied ? "strand-tied" : ""}`} />);
    out.push(<circle key={`end ${i}`} cx={gate} cy={y} r={Math.max(1.2, thick * 0.8)} class={`strand-end ${tied ? "strand-end-tied" : ""}`} />);
  }
  if (told.winner) {
    const y = top + winnerLane * gap;
    const bend = (gate + width) / 2;
    out.push(<path key="won" d={`M ${left} ${y} L ${gate} ${y} C ${bend} ${y} ${bend} ${middle} ${width} ${middle}`} stroke-width={Math.max(3, thick)} class="strand strand-won" />);
  } else if (told.outcome === "FitsAfterPreemption") {
    out.push(<path key="room" d={`M ${gate - 20} ${middle} L ${width} ${middle}`} stroke-width="3" class="strand strand-room" />);
  }
  return <g fill="none">{out}</g>;
}

/** Text over the drawing, as HTML: it wraps, and can be selected. */
function Box({ x, w, at, middle, class: kind, children }: {
  x: number; w: number; at?: number; middle?: number; class: string; children: preact.ComponentChildren;
}) {
  const place = (el: HTMLElement | null) => {
    if (!el) return;
    el.style.left = `${x}px`;
    el.style.width = `${Math.max(0, w)}px`;
    el.style.top = `${at ?? middle ?? 0}px`;
  };
  return <div ref={place} class={`over ${kind} ${middle !== undefined ? "over-middle" : ""}`}>{children}</div>;
}

function End({ told, x, w, middle }: { told: Tournament; x: number; w: number; middle: number }) {
  const ties = told.ties - 1;
  return (
    <Box x={x} w={w} middle={middle} class={`stage stage-end outcome-${told.outcome}`}>
      {told.winner ? <>
        <span class="stage-title">{told.feasible === 1 ? "The only one left" : <>Winner of {count(told.feasible)}</>}</span>
        <Name text={told.winner} class="stage-winner" />
        <span class="dim">{told.rows[0] ? <>score <b class="num">{count(told.rows[0].total)}</b></> : "not scored"}{ties > 0 && <> · tied with {count(ties)}</>}</span>
      </> : told.outcome === "FitsAfterPreemption" && told.preemption ? <>
        <span class="stage-title">Preempts on</span>
        <Name text={told.preemption.node} class="stage-winner" />
        <span class="dim">{plain(RULES[told.preemption.decidedBy] ?? told.preemption.decidedBy)}</span>
      </> : <>
        <span class="stage-title">{told.outcome === "Gated" ? "Held back" : told.outcome === "Error" ? "Broke" : "Nobody left"}</span>
        <b class="stage-number">0</b>
        <span class="dim">of {plural(told.total, "node")}</span>
      </>}
    </Box>
  );
}
