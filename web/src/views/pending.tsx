// What waits, how long, why, and what would make it fit.

import { count, plural, span } from "../live/amounts";
import { groups, reasons, type Waiting } from "../state/reasons";
import { store, useNow, useStore } from "../state/store";
import { href, set, timeWindow, usePlace } from "../state/url";
import { Empty, Mark } from "../ui/parts";
import { Name, plain } from "../ui/text";
import { useHelp } from "./cluster/strip";
import { within } from "./window";

const ROWS = 200;

export function Pending() {
  useStore(300);
  const now = useNow();
  const { params } = usePlace();
  const range = timeWindow();
  const pods = [...store.pending.values()].filter((pod) => !range || within(pod, range));
  const all = groups(pods);
  const chosen = all.find((g) => g.key === params.reason) ?? all[0];
  if (all.length === 0) {
    return store.listed("pods")
      ? <Empty title="Nothing waits">
        <p>Every pod has a place{range ? ", or was not touched in this time" : ""}. To see how one is found, open a pod's tournament, or <a class="link" href={href("whatif")}>ask about one that does not exist</a>.</p>
      </Empty>
      : <Empty title="Reading the cluster…" />;
  }
  return (
    <div class="split">
      <section class="split-list" aria-label="Reasons">
        <h1 class="view-title">{plural(pods.length, "pod")} pending <span class="dim">for {plural(all.length, "reason")}</span></h1>
        <ul class="reasons-list">
          {all.map((group) => <Reason key={group.key} group={group} now={now} chosen={group === chosen} />)}
        </ul>
      </section>
      {chosen && <Detail group={chosen} now={now} />}
    </div>
  );
}

function Reason({ group, now, chosen }: { group: Waiting; now: number; chosen: boolean }) {
  const help = useHelp(group);
  return (
    <li>
      <button type="button" class="reason" aria-pressed={chosen} onClick={() => set({ reason: group.key }, true)}>
        <b class="reason-count num">{count(group.pods.length)}</b>
        <span class="reason-text">
          {plain(group.title)}
          {help && <span class="reason-help">{plain(help)}</span>}
        </span>
        <span class="reason-wait num">{span(now - group.oldest.created)}</span>
      </button>
    </li>
  );
}

function Detail({ group, now }: { group: Waiting; now: number }) {
  const parts = reasons(group.oldest.message);
  const help = useHelp(group);
  const pods = group.pods.sort((a, b) => a.created - b.created || (a.id < b.id ? -1 : 1));
  return (
    <section class="split-detail" aria-label="Pods that wait for this reason">
      {parts.length > 0 && (
        <div class="why-list">
          <h2>Why no node takes it</h2>
          <ul class="reasons">{parts.map((p) => <li key={p.text}><b class="num">{count(p.count)}</b> <span>{plain(p.text)}</span></li>)}</ul>
        </div>
      )}
      {help && <div class="why-list"><h2>What would make it fit</h2><p>{plain(help)}</p></div>}
      <table class="table">
        <thead><tr><th scope="col">Pod</th><th scope="col">Owner</th><th scope="col" class="right">Priority</th><th scope="col" class="right">Waits</th><th scope="col"><span class="hidden">Decision</span></th></tr></thead>
        <tbody>
          {pods.slice(0, ROWS).map((pod) => (
            <tr key={pod.id}>
              <td><Mark state="pending" /> <a class="link" href={href("cluster", { pod: pod.id })}><Name text={pod.id} /></a></td>
              <td class="dim"><Name text={pod.owner} /></td>
              <td class="right num">{pod.prio}</td>
              <td class="right num">{span(now - pod.created)}</td>
              <td class="right"><a class="link" href={href("tournament", { pod: pod.id })} aria-label={`Why? The tournament of ${plain(pod.id)}`}>Why?</a></td>
            </tr>
          ))}
        </tbody>
      </table>
      {pods.length > ROWS && <p class="dim pad">The {ROWS} oldest of {count(pods.length)}.</p>}
    </section>
  );
}
