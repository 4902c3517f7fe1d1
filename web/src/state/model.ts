// What the page keeps of each object: little, so that 50,000 pods are no burden.

export interface Pod {
  id: string; // namespace/name
  ns: string;
  name: string;
  uid: string;
  node: string; // "" while it is on none
  nominated: string;
  phase: string;
  ready: boolean;
  prio: number;
  cls: string; // priority class
  cpu: number; // thousandths
  mem: number; // bytes
  gpu: number;
  created: number; // ms
  bound: number; // ms, 0 if it is not
  started: number;
  deleting: number;
  gated: boolean;
  message: string; // why it is pending
  tried: boolean; // whether a scheduler has said anything of it
  failing: string; // why it does not run, if it should
  disrupted: string; // reason of the condition DisruptionTarget
  disruption: string; // its message
  owner: string; // Kind/name
  app: string; // labels, as the budgets see them
  labels: Record<string, string>;
  scheduler: string;
  restarts: number;
}

export interface Node {
  id: string;
  name: string;
  zone: string;
  kind: string; // instance type
  cpu: number;
  mem: number;
  gpu: number;
  pods: number;
  ready: boolean;
  why: string; // why it is not ready
  since: number; // when readiness changed
  cordoned: boolean;
  taints: string[];
  created: number;
  simulated: boolean;
  fault: string;
  uid: string;
}

export interface Workload {
  id: string; // Kind/namespace/name
  kind: string;
  ns: string;
  name: string;
  uid: string;
  wanted: number;
  ready: number;
  updated: number;
  available: number;
  created: number;
  owner: string;
  paused: boolean;
  revision: string;
  message: string;
  selector: Record<string, string>;
}

export interface Job {
  id: string;
  ns: string;
  name: string;
  uid: string;
  owner: string;
  completions: number;
  parallelism: number;
  active: number;
  succeeded: number;
  failed: number;
  backoff: number;
  created: number;
  started: number;
  ended: number;
  outcome: "" | "Complete" | "Failed" | "Suspended";
  message: string;
  scheduled: number; // the time of its CronJob that it stands for
}

export interface Cron {
  id: string;
  ns: string;
  name: string;
  uid: string;
  schedule: string;
  zone: string;
  suspended: boolean;
  policy: string;
  last: number;
  success: number;
  active: number;
  created: number;
}

export interface Budget {
  id: string;
  ns: string;
  name: string;
  allowed: number;
  healthy: number;
  desired: number;
  expected: number;
  rule: string;
  selector: Record<string, string>;
}

export interface Quota {
  id: string;
  ns: string;
  name: string;
  lines: { what: string; used: number; hard: number; usedText: string; hardText: string }[];
}

export interface Happening {
  id: string;
  at: number;
  kind: "preempted" | "evicted" | "node" | "drain" | "rollout" | "failed";
  what: string; // title of the object
  ref: string; // pod id, node name or workload id
  node: string;
  by: string; // who caused it
  text: string;
}

export interface Tables {
  pods: Pod;
  nodes: Node;
  workloads: Workload;
  jobs: Job;
  crons: Cron;
  budgets: Budget;
  quotas: Quota;
  happenings: Happening;
}
export type Table = keyof Tables;
export const TABLES: Table[] = [
  "pods", "nodes", "workloads", "jobs", "crons", "budgets", "quotas", "happenings",
];
