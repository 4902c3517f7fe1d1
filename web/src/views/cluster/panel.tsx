// What is selected on the map: a node or a pod, and why it is as it is.

import { useEffect, useState } from "preact/hooks";
import { ofNode, ofPod } from "../../api/actions";
import { ask } from "../../api/request";
import { bytes, cores, percent, plural, span } from "../../live/amounts";
import type { Node, Pod } from "../../state/model";
import { store, useNow, useStore } from "../../state/store";
import { go, href, set } from "../../state/url";
import { Actions } from "../../ui/actions";
import { Empty, Mark, Meter } from "../../ui/parts";
import { Name, plain } from "../../ui/text";
import { podsOn } from "./map";

function Frame({ title, kind, children }: { title: string; kind: string; children: preact.ComponentChildren }) {
  return (
    <aside class="panel" aria-label={`${kind} ${plain(title)}`}>
      <header class="panel-head">
        <div>
          <p class="kind">{kind}</p>
          <h2><Name text={title} /></h2>
        </div>
        <button type="button" class="quiet close" aria-label="Close" onClick={() => set({ node: "", pod: "" })}>✕</button>
      </header>
      {children}
    </aside>
  );
}

function Line({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return <><dt>{name}</dt><dd>{children}</dd></>;
}

export function NodePanel({ name, node }: { name: string; node: Node | undefined }) {
  useStore(250);
  const now = useNow(5000);
  if (!node) {
    return <Frame title={name} kind="Node"><Empty title={store.listed("nodes") ? "This node is gone" : "Reading…"} /></Frame>;
  }
  const use = store.use.get(name);
  const used = store.usage.get(name);
  const pods = podsOn(name).sort((a, b) => b.prio - a.prio || (a.id < b.id ? -1 : 1));
  const lines: [string, number, number, number | undefined, (n: number) => string][] = [
    ["cpu", use?.cpu ?? 0, node.cpu, used?.cpu, cores],
    ["memory", use?.mem ?? 0, node.mem, used?.mem, bytes],
  ];
  if (node.gpu) lines.push(["GPU", use?.gpu ?? 0, node.gpu, undefined, String]);
  lines.push(["pods", pods.length, node.pods, undefined, String]);
  return (
    <Frame title={name} kind="Node">
      <p class="state">
        {!node.ready ? <><Mark state="bad" /> <b class="red">Not ready</b> for {span(now - node.since)}: {plain(node.why)}</>
          : node.cordoned ? <><Mark state="off" /> Cordoned: takes no new pods</>
            : <><Mark state="ok" /> Ready</>}
        {node.fault && <span class="dim"> · fault: {plain(node.fault)}</span>}
      </p>
      <table class="amounts">
        <thead><tr><th scope="col">Resource</th><th scope="col"><span class="hidden">Share</span></th><th scope="col">Requested</th><th scope="col">Used</th><th scope="col">Of</th></tr></thead>
        <tbody>
          {lines.map(([what, asked, all, now, show]) => (
            <tr key={what}>
              <th scope="row">{what}</th>
              <td class="amounts-bar"><Meter part={all ? asked / all : 0} used={now === undefined || !all ? undefined : now / all}
                label={`${what}: ${percent(all ? asked / all : 0)} requested`} /></td>
              <td>{show(asked)}</td><td>{now === undefined ? "" : show(now)}</td><td>{show(all)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <dl class="facts">
        <Line name="Zone">{plain(node.zone) || "none"}</Line>
        {node.kind && <Line name="Type">{plain(node.kind)}</Line>}
        {node.taints.length > 0 && <Line name="Taints">{node.taints.map((t) => <code key={t} class="taint">{plain(t)}</code>)}</Line>}
        <Line name="Age">{span(now - node.created)}</Line>
      </dl>
      <Actions actions={ofNode(node)} of={name} />
      <h3>{plural(pods.length, "pod")}</h3>
      <ul class="rows">
        {pods.slice(0, 200).map((pod) => (
          <li key={pod.id}>
            <a href={href("cluster", { pod: pod.id })}>
              <Mark state={pod.failing ? "bad" : pod.disrupted ? "preempted" : pod.phase === "Running" ? "ok" : "pending"} />
              <Name text={pod.id} />
              <span class="num" title="priority">{pod.prio}</span>
            </a>
          </li>
        ))}
      </ul>
    </Frame>
  );
}

interface Decision {
  outcome: string;
  node?: string;
  time: string;
  durationSeconds: number;
  message?: string;
  tied?: number;
  reasons: { count: number; reason: string }[];
  best: { node: string; total?: number }[];
}

function useDecision(pod: Pod | undefined): Decision | string {
  const [told, tell] = useState<Decision | string>("");
  useEffect(() => {
    if (!pod) return;
    let gone = false;
    ask<Decision>(`/apis/stowplan.dev/v1/namespaces/${encodeURIComponent(pod.ns)}/decisions/${encodeURIComponent(pod.name)}`).then(
      (decision) => !gone && tell(decision),
      (error: Error & { code?: number }) => !gone && tell(error.code === 404 ? "No decision is remembered." : error.message));
    return () => {
      gone = true;
    };
  }, [pod?.uid, pod?.node, pod?.message]);
  return told;
}

export function PodPanel({ id, pod }: { id: string; pod: Pod | undefined }) {
  useStore(250);
  const now = useNow();
  const decision = useDecision(pod);
  if (!pod) {
    return <Frame title={id} kind="Pod"><Empty title={store.listed("pods") ? "This pod is gone" : "Reading…"} /></Frame>;
  }
  return (
    <Frame title={pod.name} kind="Pod">
      <p class="state"><PodState pod={pod} now={now} /></p>
      <section class="why">
        <h3>Why {pod.node ? "here" : "nowhere yet"}?</h3>
        <Why decision={decision} />
        <p>
          <button type="button" class="primary" onClick={() => go("tournament", { pod: pod.id })}>See the whole tournament</button>
        </p>
      </section>
      <dl class="facts">
        <Line name="Namespace">{plain(pod.ns)}</Line>
        {pod.node && <Line name="Node"><a class="link" href={href("cluster", { node: pod.node })}><Name text={pod.node} /></a></Line>}
        <Line name="Asks for">{[`${cores(pod.cpu)} cpu`, bytes(pod.mem), pod.gpu ? plural(pod.gpu, "GPU") : ""].filter(Boolean).join(", ")}</Line>
        <Line name="Priority">{pod.prio}{pod.cls && <span class="dim"> {plain(pod.cls)}</span>}</Line>
        {pod.owner && <Line name="Owner"><Name text={pod.owner} /></Line>}
        <Line name="Scheduler">{plain(pod.scheduler)}</Line>
        <Line name="Age">{span(now - pod.created)}</Line>
        {pod.bound > 0 && <Line name="Waited">{pod.bound - pod.created < 1000 ? "less than 1s" : span(pod.bound - pod.created)}</Line>}
        {pod.restarts > 0 && <Line name="Restarts">{pod.restarts}</Line>}
      </dl>
      <Actions actions={ofPod(pod)} of={pod.id} />
    </Frame>
  );
}

function PodState({ pod, now }: { pod: Pod; now: number }) {
  if (pod.disrupted) return <><Mark state="preempted" /> <b class="violet">{pod.disrupted === "PreemptionByScheduler" ? "Preempted" : "Has to go"}</b>: {plain(pod.disruption)}</>;
  if (pod.failing) return <><Mark state="bad" /> <b class="red">{plain(pod.failing)}</b></>;
  if (pod.deleting) return <><Mark state="off" /> Is being deleted</>;
  if (!pod.node) return <><Mark state="pending" /> <b class="amber">Pending</b> for {span(now - pod.created)}</>;
  return <><Mark state={pod.phase === "Pending" ? "pending" : "ok"} /> {pod.phase === "Pending" ? "Starting" : pod.phase}{pod.ready ? ", ready" : ""}</>;
}

function Why({ decision }: { decision: Decision | string }) {
  if (decision === "") return <p class="dim">Asking the scheduler…</p>;
  if (typeof decision === "string") return <p class="dim">{plain(decision)}</p>;
  const rejected = decision.reasons;
  const [first] = decision.best;
  return (
    <>
      {decision.node && first && (
        <p>
          {first.total === undefined ? "It was the only node that fits." : <>Best of those that fit, with a score of <b class="num">{first.total}</b>.</>}
          {(decision.tied ?? 0) > 1 && <> {decision.tied} nodes were equally good.</>}
        </p>
      )}
      {rejected.length > 0 && (
        <ul class="reasons">
          {rejected.map((r) => <li key={r.reason}><b class="num">{r.count}</b> <span>{plain(r.reason)}</span></li>)}
        </ul>
      )}
      {!decision.node && rejected.length === 0 && decision.message && <p>{plain(decision.message)}</p>}
      <p class="dim">{decision.outcome} at {new Date(decision.time).toLocaleTimeString([], { hour12: false })}, decided in {(decision.durationSeconds * 1000).toFixed(2)} ms</p>
    </>
  );
}
