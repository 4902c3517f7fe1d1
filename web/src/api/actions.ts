// What one may do here. Each action says what it will do, which right it needs, and the command that does the same.

import type { Job, Node, Pod, Workload, Cron } from "../state/model";
import { store } from "../state/store";
import { ask, Refused, type Right } from "./request";

export interface Field {
  name: string;
  label: string;
  type: "number" | "text";
  value: string;
  min?: number;
}

export interface Step {
  text: string;
  state: "ok" | "blocked" | "skipped" | "doing";
}

export interface Action {
  id: string;
  label: string;
  title: string;
  explain: string;
  danger?: boolean;
  right: Right;
  fields?: Field[];
  command: (values: Record<string, string>) => string;
  /** What would come of it, without doing it. */
  rehearse?: (tell: (steps: Step[]) => void) => Promise<boolean>;
  run: (values: Record<string, string>, tell: (steps: Step[]) => void, stopped: () => boolean) => Promise<string>;
}

const MERGE = "application/merge-patch+json";
const enc = encodeURIComponent;
const quoted = (text: string) => (/^[\w./:=@,-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);
const path = (root: string, ns: string, plural: string, name: string) =>
  `${root}/namespaces/${enc(ns)}/${plural}/${enc(name)}`;

function patch(path: string, body: unknown) {
  return ask(path, { method: "PATCH", body, type: MERGE });
}

export function ofNode(node: Node): Action[] {
  const at = `/api/v1/nodes/${enc(node.name)}`;
  const right: Right = { verb: "patch", resource: "nodes", name: node.name };
  const mark = (fault: string | null) => patch(at, { metadata: { annotations: { "stowplan.dev/fault": fault } } });
  const out: Action[] = [
    {
      id: "cordon", label: node.cordoned ? "Uncordon" : "Cordon", right,
      title: `${node.cordoned ? "Uncordon" : "Cordon"} ${node.name}`,
      explain: node.cordoned ? "New pods may be placed there again." : "No new pod is placed there. Pods that run there stay.",
      command: () => `kubectl ${node.cordoned ? "uncordon" : "cordon"} ${quoted(node.name)}`,
      run: async () => {
        await patch(at, { spec: { unschedulable: node.cordoned ? null : true } });
        return node.cordoned ? "It takes pods again." : "It is cordoned.";
      },
    },
    drain(node),
  ];
  if (node.simulated) {
    out.push(node.fault
      ? {
        id: "recover", label: "Recover", right, title: `Recover ${node.name}`,
        explain: "The simulated kubelet comes back and reports.",
        command: () => `stowplan node recover ${quoted(node.name)}`,
        run: async () => {
          await mark(null);
          return "It recovers.";
        },
      }
      : {
        id: "fail", label: "Fail", danger: true, right, title: `Fail ${node.name}`,
        explain: "The simulated kubelet dies, as when a machine loses power. After 50 seconds of silence the node is not ready; its pods move when their tolerations end.",
        command: () => `stowplan node fail ${quoted(node.name)}`,
        run: async () => {
          await mark("fail");
          return "It has failed.";
        },
      });
  }
  return out;
}

function goes(pod: Pod): "goes" | "skipped" | "unowned" {
  if (pod.owner.startsWith("DaemonSet/") || pod.owner.startsWith("Node/")) return "skipped";
  return pod.owner ? "goes" : "unowned";
}

function evict(pod: Pod, dry: boolean) {
  return ask(`${path("/api/v1", pod.ns, "pods", pod.name)}/eviction`, {
    method: "POST",
    body: {
      apiVersion: "policy/v1", kind: "Eviction", metadata: { name: pod.name, namespace: pod.ns },
      deleteOptions: dry ? { dryRun: ["All"] } : { preconditions: { uid: pod.uid } },
    },
  });
}

function drain(node: Node): Action {
  const there = () => [...(store.use.get(node.name)?.pods ?? [])]
    .flatMap((id) => store.rows.pods.get(id) ?? []).sort((a, b) => (a.id < b.id ? -1 : 1));
  return {
    id: "drain", label: "Drain", danger: true, title: `Drain ${node.name}`,
    right: { verb: "create", resource: "pods", subresource: "eviction" },
    explain: "Cordons the node and evicts its pods, one by one, within disruption budgets. Pods of DaemonSets stay. An eviction that a budget refuses is tried again every five seconds.",
    command: () => `kubectl drain ${quoted(node.name)} --ignore-daemonsets`,
    rehearse: async (tell) => {
      const steps: Step[] = [];
      let unowned = false;
      for (const pod of there()) {
        const kind = goes(pod);
        if (kind === "skipped") steps.push({ text: `${pod.id} stays: a DaemonSet runs it`, state: "skipped" });
        else if (kind === "unowned") {
          unowned = true;
          steps.push({ text: `${pod.id} blocks: nothing would make it again (kubectl needs --force)`, state: "blocked" });
        } else {
          try {
            await evict(pod, true);
            steps.push({ text: `${pod.id} goes`, state: "ok" });
          } catch (error) {
            const told = error as Refused;
            if (told.code === 403) throw error;
            steps.push({ text: `${pod.id} has to wait: ${told.message}`, state: "blocked" });
          }
        }
        tell([...steps]);
      }
      return !unowned;
    },
    run: async (_, tell, stopped) => {
      await patch(`/api/v1/nodes/${enc(node.name)}`, { spec: { unschedulable: true } });
      const steps: Step[] = [{ text: `${node.name} is cordoned`, state: "ok" }];
      tell([...steps]);
      for (const pod of there()) {
        if (goes(pod) !== "goes") continue;
        const step: Step = { text: `${pod.id}: evicting`, state: "doing" };
        steps.push(step);
        for (;;) {
          if (stopped()) return "Stopped. The node stays cordoned.";
          tell([...steps]);
          try {
            await evict(pod, false);
            Object.assign(step, { text: `${pod.id} was evicted`, state: "ok" });
            break;
          } catch (error) {
            const told = error as Refused;
            if (told.code === 404 || told.code === 409) {
              Object.assign(step, { text: `${pod.id} is gone already`, state: "ok" });
              break;
            }
            if (told.code !== 429) throw error;
            Object.assign(step, { text: `${pod.id} waits: ${told.message}`, state: "blocked" });
            tell([...steps]);
            await new Promise((done) => setTimeout(done, 5000));
          }
        }
        tell([...steps]);
      }
      return "The node is drained.";
    },
  };
}

export function ofPod(pod: Pod): Action[] {
  return [{
    id: "delete", label: "Delete", danger: true, title: `Delete ${pod.id}`,
    right: { verb: "delete", resource: "pods", namespace: pod.ns, name: pod.name },
    explain: pod.owner ? `${pod.owner} will make another one.` : "Nothing will make it again.",
    fields: [{ name: "reason", label: "Why (noted on the pod)", type: "text", value: "" }],
    command: (values) => (values.reason
      ? `kubectl annotate pod ${quoted(pod.name)} -n ${quoted(pod.ns)} ${quoted(`stowplan.dev/deletion-reason=${values.reason}`)} && ` : "")
      + `kubectl delete pod ${quoted(pod.name)} -n ${quoted(pod.ns)}`,
    run: async (values) => {
      const at = path("/api/v1", pod.ns, "pods", pod.name);
      if (values.reason) {
        await patch(at, { metadata: { annotations: { "stowplan.dev/deletion-reason": values.reason } } });
      }
      await ask(at, { method: "DELETE", body: { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid: pod.uid } } });
      return "It is being deleted.";
    },
  }];
}

const PLURALS: Record<string, string> = { Deployment: "deployments", StatefulSet: "statefulsets", ReplicaSet: "replicasets" };

export function ofWorkload(w: Workload): Action[] {
  const plural = PLURALS[w.kind];
  if (!plural) return [];
  const at = path("/apis/apps/v1", w.ns, plural, w.name);
  const kind = w.kind.toLowerCase();
  const out: Action[] = [{
    id: "scale", label: "Scale", title: `Scale ${kind} ${w.ns}/${w.name}`,
    right: { verb: "patch", group: "apps", resource: plural, subresource: "scale", namespace: w.ns, name: w.name },
    explain: `It wants ${w.wanted} now.`,
    fields: [{ name: "replicas", label: "Replicas", type: "number", value: String(w.wanted), min: 0 }],
    command: (v) => `kubectl scale ${kind}/${quoted(w.name)} -n ${quoted(w.ns)} --replicas=${v.replicas}`,
    run: async (v) => {
      await patch(`${at}/scale`, { spec: { replicas: Number(v.replicas) } });
      return `It wants ${v.replicas} now.`;
    },
  }];
  if (w.kind === "Deployment") {
    out.push({
      id: "restart", label: "Restart", title: `Restart deployment ${w.ns}/${w.name}`,
      right: { verb: "patch", group: "apps", resource: plural, namespace: w.ns, name: w.name },
      explain: "All its pods are replaced, a few at a time.",
      command: () => `kubectl rollout restart deployment/${quoted(w.name)} -n ${quoted(w.ns)}`,
      run: async () => {
        const now = new Date().toISOString();
        await patch(at, { spec: { template: { metadata: { annotations: { "kubectl.kubernetes.io/restartedAt": now } } } } });
        return "Its rollout has begun.";
      },
    });
  }
  return out;
}

export function ofJob(job: Job): Action[] {
  return [{
    id: "delete", label: "Delete", danger: true, title: `Delete job ${job.id}`,
    right: { verb: "delete", group: "batch", resource: "jobs", namespace: job.ns, name: job.name },
    explain: "Its pods go, too.",
    command: () => `kubectl delete job ${quoted(job.name)} -n ${quoted(job.ns)}`,
    run: async () => {
      await ask(`${path("/apis/batch/v1", job.ns, "jobs", job.name)}?propagationPolicy=Background`, { method: "DELETE" });
      return "It is being deleted.";
    },
  }];
}

export function ofCron(cron: Cron): Action[] {
  const at = path("/apis/batch/v1", cron.ns, "cronjobs", cron.name);
  return [
    {
      id: "run", label: "Run now", title: `Run ${cron.id} now`,
      right: { verb: "create", group: "batch", resource: "jobs", namespace: cron.ns },
      explain: "Makes a job of its template at once, beside its schedule.",
      fields: [{ name: "name", label: "Name of the job", type: "text", value: `${cron.name.slice(0, 45)}-${Date.now().toString(36).slice(-6)}` }],
      command: (v) => `kubectl create job ${quoted(v.name ?? "")} --from=cronjob/${quoted(cron.name)} -n ${quoted(cron.ns)}`,
      run: async (v) => {
        type Template = { metadata?: { labels?: unknown; annotations?: Record<string, string> }; spec: unknown };
        const whole = await ask<{ metadata: { uid: string }; spec: { jobTemplate: Template } }>(at);
        const template = whole.spec.jobTemplate;
        await ask(`/apis/batch/v1/namespaces/${enc(cron.ns)}/jobs`, {
          method: "POST",
          body: {
            apiVersion: "batch/v1", kind: "Job",
            metadata: {
              name: v.name, labels: template.metadata?.labels,
              annotations: { ...template.metadata?.annotations, "cronjob.kubernetes.io/instantiate": "manual" },
              ownerReferences: [{ apiVersion: "batch/v1", kind: "CronJob", name: cron.name, uid: whole.metadata.uid, controller: true }],
            },
            spec: template.spec,
          },
        });
        return `The job ${v.name} was made.`;
      },
    },
    {
      id: "suspend", label: cron.suspended ? "Resume" : "Suspend",
      title: `${cron.suspended ? "Resume" : "Suspend"} ${cron.id}`,
      right: { verb: "patch", group: "batch", resource: "cronjobs", namespace: cron.ns, name: cron.name },
      explain: cron.suspended ? "It runs on schedule again." : "It starts no job until it is resumed.",
      command: () => `kubectl patch cronjob ${quoted(cron.name)} -n ${quoted(cron.ns)} -p '{"spec":{"suspend":${!cron.suspended}}}'`,
      run: async () => {
        await patch(at, { spec: { suspend: !cron.suspended } });
        return cron.suspended ? "It is resumed." : "It is suspended.";
      },
    },
  ];
}
