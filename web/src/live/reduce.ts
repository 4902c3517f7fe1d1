// From objects as the API sends them to what the page keeps. Pure: the tests call it with plain JSON.

import type { Budget, Cron, Happening, Job, Node, Pod, Quota, Workload } from "../state/model";
import { quantity } from "./amounts";

/* eslint-disable @typescript-eslint/no-explicit-any */
export type Json = any;

const when = (text: unknown): number => (typeof text === "string" ? Date.parse(text) || 0 : 0);
const meta = (o: Json) => o.metadata ?? {};
const key = (o: Json) => (meta(o).namespace ? `${meta(o).namespace}/${meta(o).name}` : meta(o).name);
const condition = (o: Json, type: string) =>
  (o.status?.conditions ?? []).find((c: Json) => c.type === type);

function owner(o: Json): string {
  const refs: Json[] = meta(o).ownerReferences ?? [];
  const ref = refs.find((r) => r.controller) ?? refs[0];
  return ref ? `${ref.kind}/${ref.name}` : "";
}

const GPUS = /(^|[./])gpu$/;

function gpus(amounts: Json): number {
  let sum = 0;
  for (const name in amounts ?? {}) if (GPUS.test(name)) sum += quantity(amounts[name]);
  return sum;
}

/** What a pod asks for: containers together, or the largest init container, and the overhead. */
function requests(spec: Json): [number, number, number] {
  const sum: [number, number, number] = [0, 0, 0];
  const peak: [number, number, number] = [0, 0, 0];
  const of = (c: Json): [number, number, number] => {
    const r = c.resources?.requests ?? {};
    return [quantity(r.cpu) * 1000, quantity(r.memory), gpus(r)];
  };
  for (const c of spec.containers ?? []) of(c).forEach((v, i) => (sum[i]! += v));
  for (const c of spec.initContainers ?? []) {
    const own = of(c);
    if (c.restartPolicy === "Always") own.forEach((v, i) => (sum[i]! += v));
    else own.forEach((v, i) => (peak[i] = Math.max(peak[i]!, v)));
  }
  const over = spec.overhead ?? {};
  const extra = [quantity(over.cpu) * 1000, quantity(over.memory), 0];
  return sum.map((v, i) => Math.max(v, peak[i]!) + extra[i]!) as [number, number, number];
}

function failing(o: Json): string {
  if (o.status?.phase === "Failed") return o.status.reason || "Failed";
  const all = [...(o.status?.initContainerStatuses ?? []), ...(o.status?.containerStatuses ?? [])];
  for (const c of all) {
    const waits = c.state?.waiting?.reason;
    if (waits && waits !== "ContainerCreating" && waits !== "PodInitializing") return waits;
    const ended = c.state?.terminated;
    if (ended && ended.exitCode !== 0) return ended.reason || `exit code ${ended.exitCode}`;
  }
  return "";
}

export function pod(o: Json): Pod {
  const m = meta(o);
  const spec = o.spec ?? {};
  const status = o.status ?? {};
  const [cpu, mem, gpu] = requests(spec);
  const scheduled = condition(o, "PodScheduled");
  const disrupted = condition(o, "DisruptionTarget");
  let restarts = 0;
  for (const c of status.containerStatuses ?? []) restarts += c.restartCount ?? 0;
  return {
    id: key(o), ns: m.namespace, name: m.name, uid: m.uid,
    node: spec.nodeName ?? "",
    nominated: status.nominatedNodeName ?? "",
    phase: status.phase ?? "Pending",
    ready: condition(o, "Ready")?.status === "True",
    prio: spec.priority ?? 0,
    cls: spec.priorityClassName ?? "",
    cpu, mem, gpu,
    created: when(m.creationTimestamp),
    bound: scheduled?.status === "True" ? when(scheduled.lastTransitionTime) : 0,
    started: when(status.startTime),
    deleting: when(m.deletionTimestamp),
    gated: (spec.schedulingGates ?? []).length > 0,
    message: scheduled?.status === "False" ? (scheduled.message ?? "") : "",
    tried: scheduled?.status === "False",
    failing: failing(o),
    disrupted: disrupted?.status === "True" ? disrupted.reason : "",
    disruption: disrupted?.status === "True" ? (disrupted.message ?? "") : "",
    owner: owner(o),
    app: "",
    labels: m.labels ?? {},
    scheduler: spec.schedulerName ?? "",
    restarts,
  };
}

export function node(o: Json): Node {
  const m = meta(o);
  const free = o.status?.allocatable ?? o.status?.capacity ?? {};
  const ready = condition(o, "Ready");
  const labels = m.labels ?? {};
  const notes = m.annotations ?? {};
  return {
    id: m.name, name: m.name, uid: m.uid,
    zone: labels["topology.kubernetes.io/zone"] ?? labels["failure-domain.beta.kubernetes.io/zone"] ?? "",
    kind: labels["node.kubernetes.io/instance-type"] ?? "",
    cpu: quantity(free.cpu) * 1000, mem: quantity(free.memory), gpu: gpus(free),
    pods: quantity(free.pods),
    ready: ready?.status === "True",
    why: ready?.status === "True" ? "" : (ready?.message || ready?.reason || "it has not reported yet"),
    since: when(ready?.lastTransitionTime),
    cordoned: o.spec?.unschedulable === true,
    taints: (o.spec?.taints ?? []).map(
      (t: Json) => `${t.key}${t.value ? `=${t.value}` : ""}:${t.effect}`),
    created: when(m.creationTimestamp),
    simulated: "stowplan.dev/node" in notes || notes["kwok.x-k8s.io/node"] === "fake",
    fault: notes["stowplan.dev/fault"] ?? "",
  };
}

export function workload(kind: string) {
  return (o: Json): Workload => {
    const m = meta(o);
    const s = o.status ?? {};
    const daemon = kind === "DaemonSet";
    const progress = condition(o, "Progressing");
    return {
      id: `${kind}/${key(o)}`, kind, ns: m.namespace, name: m.name, uid: m.uid,
      wanted: daemon ? (s.desiredNumberScheduled ?? 0) : (o.spec?.replicas ?? 1),
      ready: daemon ? (s.numberReady ?? 0) : (s.readyReplicas ?? 0),
      updated: daemon ? (s.updatedNumberScheduled ?? 0) : (s.updatedReplicas ?? 0),
      available: daemon ? (s.numberAvailable ?? 0) : (s.availableReplicas ?? 0),
      created: when(m.creationTimestamp),
      owner: owner(o),
      paused: o.spec?.paused === true,
      revision: m.annotations?.["deployment.kubernetes.io/revision"] ?? "",
      message: progress?.status === "False" ? progress.message : "",
      selector: o.spec?.selector?.matchLabels ?? {},
    };
  };
}

export function job(o: Json): Job {
  const m = meta(o);
  const s = o.status ?? {};
  const failed = condition(o, "Failed");
  const done = condition(o, "Complete");
  const suspended = o.spec?.suspend === true;
  const outcome = done?.status === "True" ? "Complete"
    : failed?.status === "True" ? "Failed" : suspended ? "Suspended" : "";
  const given = m.annotations?.["batch.kubernetes.io/cronjob-scheduled-timestamp"];
  return {
    id: key(o), ns: m.namespace, name: m.name, uid: m.uid, owner: owner(o),
    completions: o.spec?.completions ?? 1,
    parallelism: o.spec?.parallelism ?? 1,
    active: s.active ?? 0, succeeded: s.succeeded ?? 0, failed: s.failed ?? 0,
    backoff: o.spec?.backoffLimit ?? 6,
    created: when(m.creationTimestamp),
    started: when(s.startTime),
    ended: when(s.completionTime) || (outcome === "Failed" ? when(failed.lastTransitionTime) : 0),
    outcome, message: outcome === "Failed" ? (failed.message ?? "") : "",
    scheduled: when(given),
  };
}

export function cron(o: Json): Cron {
  const m = meta(o);
  return {
    id: key(o), ns: m.namespace, name: m.name, uid: m.uid,
    schedule: m.annotations?.["stowplan.dev/schedule"] ?? o.spec?.schedule ?? "",
    zone: o.spec?.timeZone ?? "",
    suspended: o.spec?.suspend === true,
    policy: o.spec?.concurrencyPolicy ?? "Allow",
    last: when(o.status?.lastScheduleTime),
    success: when(o.status?.lastSuccessfulTime),
    active: (o.status?.active ?? []).length,
    created: when(m.creationTimestamp),
  };
}

export function budget(o: Json): Budget {
  const s = o.status ?? {};
  const spec = o.spec ?? {};
  const rule = spec.minAvailable !== undefined
    ? `at least ${spec.minAvailable} available`
    : `at most ${spec.maxUnavailable ?? "?"} unavailable`;
  return {
    id: key(o), ns: meta(o).namespace, name: meta(o).name,
    allowed: s.disruptionsAllowed ?? 0, healthy: s.currentHealthy ?? 0,
    desired: s.desiredHealthy ?? 0, expected: s.expectedPods ?? 0,
    rule, selector: spec.selector?.matchLabels ?? {},
  };
}

export function quota(o: Json): Quota {
  const hard = o.status?.hard ?? o.spec?.hard ?? {};
  const used = o.status?.used ?? {};
  const lines = Object.keys(hard).sort().map((what) => ({
    what, used: quantity(used[what] ?? "0"), hard: quantity(hard[what]),
    usedText: String(used[what] ?? "0"), hardText: String(hard[what]),
  }));
  return { id: key(o), ns: meta(o).namespace, name: meta(o).name, lines };
}

const KINDS: Record<string, Happening["kind"]> = {
  Preempted: "preempted", TaintManagerEviction: "evicted", Evicted: "evicted",
  NodeNotReady: "node", NodeReady: "node", NodeNotSchedulable: "drain", NodeSchedulable: "drain",
  ScalingReplicaSet: "rollout", BackoffLimitExceeded: "failed",
};

export function event(o: Json): Happening {
  const about = o.regarding ?? o.involvedObject ?? {};
  const related = o.related ?? {};
  const title = about.namespace ? `${about.namespace}/${about.name}` : about.name;
  const text: string = o.note ?? o.message ?? "";
  const on = / on node (\S+)/.exec(text)?.[1] ?? "";
  const at = when(o.eventTime) || when(o.deprecatedLastTimestamp) || when(o.lastTimestamp)
    || when(o.series?.lastObservedTime) || when(meta(o).creationTimestamp);
  // kube-scheduler names the preemptor by its uid only.
  const preemptor = /^Preempted by (?:pod )?(\S+)/.exec(text)?.[1] ?? "";
  const by = related.name ? `${related.namespace ? `${related.namespace}/` : ""}${related.name}` : preemptor;
  return {
    id: about.kind === "Pod" && about.uid ? `pod/${about.uid}` : `event/${key(o)}`, at, kind: KINDS[o.reason] ?? "evicted", what: title,
    ref: about.kind === "Deployment" ? `Deployment/${title}` : title,
    node: about.kind === "Node" ? about.name : on, by, text,
  };
}

/** A pod that has to go is something that happened, whoever says so. */
export function disruption(o: Json): Happening | null {
  const c = condition(o, "DisruptionTarget");
  if (c?.status !== "True") return null;
  const preempted = c.reason === "PreemptionByScheduler";
  return {
    id: `pod/${meta(o).uid}`, at: when(c.lastTransitionTime),
    kind: preempted ? "preempted" : "evicted",
    what: key(o), ref: key(o), node: o.spec?.nodeName ?? "", by: "",
    text: c.message || c.reason,
  };
}
