// Who could be pushed out, and where: what preemption tried, and the node before and after.

import { count, plural, quantity } from "../../live/amounts";
import { store } from "../../state/store";
import { href } from "../../state/url";
import type { Tournament } from "../../tournament/model";
import { Mark } from "../../ui/parts";
import { Name, plain } from "../../ui/text";
import { podsOn } from "../cluster/map";
import { cells } from "../cluster/layout";
import { share, shade } from "../cluster/paint";

/** The rules of preemption, in the order in which they are asked. */
export const RULES: Record<string, string> = {
  only: "it is the only node where room can be made",
  pdb: "the fewest disruption budgets are broken there",
  highest_priority: "its most important victim is the least important",
  sum_priorities: "its victims matter least, all together",
  num_victims: "it has the fewest victims",
  latest_start: "its most important victim started last",
  tie: "several were equally good; one was taken by chance",
};

export function Preempting({ told }: { told: Tournament }) {
  const p = told.preemption!;
  return (
    <section class="block preempting">
      <h2>Could others make room?</h2>
      {p.ineligible && <p>It may not preempt others: {plain(p.ineligible)}</p>}
      {!p.ineligible && !p.node && told.candidates.length === 0 && told.hopeless.length === 0 && <p class="dim">No: wherever others would go, the pod would not fit all the same.</p>}
      {p.node && <BeforeAfter told={told} />}
      {p.decidedBy && <p>This node, because {plain(RULES[p.decidedBy] ?? p.decidedBy)}.</p>}
      {told.candidates.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Candidates">
          <table class="table">
            <thead><tr><th scope="col">Node</th><th scope="col">Victims</th><th scope="col" class="right">Budgets broken</th></tr></thead>
            <tbody>
              {told.candidates.map((c) => (
                <tr key={c.node} class={c.chosen ? "chosen" : ""}>
                  <td>{c.chosen && <Mark state="preempted" />} <a class="link" href={href("cluster", { node: c.node })}><Name text={c.node} /></a></td>
                  <td>{c.victims.slice(0, 6).map((v) => <Victim key={v} id={v} />)}{c.victims.length > 6 && <span class="dim">and {c.victims.length - 6} more</span>}</td>
                  <td class="right num">{c.violations}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {told.candidatesLeft > 0 && <p class="dim">{count(told.candidatesLeft)} more candidates.</p>}
      {told.hopeless.length > 0 && (
        <ul class="reasons">{told.hopeless.map((h) => <li key={h.text}><b class="num">{count(h.count)}</b> <span>{plain(h.text)}</span></li>)}</ul>
      )}
    </section>
  );
}

function Victim({ id }: { id: string }) {
  const pod = store.rows.pods.get(id);
  return <span class="victim"><Name text={id} />{pod && <span class="dim num"> {pod.prio}</span>}</span>;
}

const W = 240;
const H = 120;

function BeforeAfter({ told }: { told: Tournament }) {
  const name = told.preemption!.node;
  const node = store.rows.nodes.get(name);
  const victims = new Set(told.candidates.find((c) => c.chosen)?.victims ?? []);
  if (!node) return null;
  const all = podsOn(name).map((pod) => ({ id: pod.id, size: share(pod, node), shade: shade(pod.prio), isNew: false }));
  const waiting = store.rows.pods.get(`${told.pod.ns}/${told.pod.name}`);
  const after = all.filter((p) => !victims.has(p.id));
  const asked = new Map(told.pod.requests);
  const size = waiting ? share(waiting, node) : Math.max(
    0.01, (quantity(asked.get("cpu") ?? "0") * 1000) / (node.cpu || 1), quantity(asked.get("memory") ?? "0") / (node.mem || 1));
  after.push({ id: `${told.pod.ns}/${told.pod.name}`, size, shade: 0, isNew: true });
  return (
    <div class="before-after">
      <Picture title="Before" pods={all} victims={victims} />
      <span class="arrow" aria-hidden="true">→</span>
      <Picture title="After" pods={after} victims={victims} />
      <p class="dim">{plural(victims.size, "pod")} would leave <Name text={name} /></p>
    </div>
  );
}

function Picture({ title, pods, victims }: {
  title: string; pods: { id: string; size: number; shade: number; isNew: boolean }[]; victims: Set<string>;
}) {
  const sorted = [...pods].sort((a, b) => b.size - a.size);
  const rects = cells(sorted.map((p) => p.size), { x: 0, y: 0, w: W, h: H });
  return (
    <figure>
      <svg width={W} height={H} role="img" aria-label={`${title}: ${plural(pods.length, "pod")}`}>
        <rect x="0.5" y="0.5" width={W - 1} height={H - 1} class="pic-node" />
        {rects.map((r, i) => {
          const p = sorted[i]!;
          const kind = victims.has(p.id) ? "pic-victim" : p.isNew ? "pic-new" : `pic-pod pic-${p.shade}`;
          return <rect key={p.id} x={r.x + 1} y={r.y + 1} width={Math.max(0.5, r.w - 2)} height={Math.max(0.5, r.h - 2)} class={kind}><title>{plain(p.id)}</title></rect>;
        })}
      </svg>
      <figcaption>{title}</figcaption>
    </figure>
  );
}
