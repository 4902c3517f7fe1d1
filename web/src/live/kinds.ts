// What is watched, and where it goes. A view that needs another kind adds a line here.

import type { Table } from "../state/model";
import * as reduce from "./reduce";
import type { Json } from "./reduce";

export interface Kind {
  id: string;
  path: string;
  query?: string;
  table: Table;
  reduce: (o: Json) => { id: string };
}

const event = (reason: string, about = ""): Kind => ({
  id: `events ${reason}`, path: "/api/v1/events",
  query: `fieldSelector=reason%3D${reason}${about && `%2CinvolvedObject.kind%3D${about}`}`,
  table: "happenings", reduce: reduce.event,
});

export const KINDS: Kind[] = [
  { id: "nodes", path: "/api/v1/nodes", table: "nodes", reduce: reduce.node },
  { id: "pods", path: "/api/v1/pods", table: "pods", reduce: reduce.pod },
  { id: "deployments", path: "/apis/apps/v1/deployments", table: "workloads", reduce: reduce.workload("Deployment") },
  { id: "replicasets", path: "/apis/apps/v1/replicasets", table: "workloads", reduce: reduce.workload("ReplicaSet") },
  { id: "statefulsets", path: "/apis/apps/v1/statefulsets", table: "workloads", reduce: reduce.workload("StatefulSet") },
  { id: "daemonsets", path: "/apis/apps/v1/daemonsets", table: "workloads", reduce: reduce.workload("DaemonSet") },
  { id: "jobs", path: "/apis/batch/v1/jobs", table: "jobs", reduce: reduce.job },
  { id: "cronjobs", path: "/apis/batch/v1/cronjobs", table: "crons", reduce: reduce.cron },
  { id: "budgets", path: "/apis/policy/v1/poddisruptionbudgets", table: "budgets", reduce: reduce.budget },
  { id: "quotas", path: "/api/v1/resourcequotas", table: "quotas", reduce: reduce.quota },
  event("Preempted"), event("TaintManagerEviction"), event("NodeNotReady", "Node"), event("NodeReady", "Node"),
  event("NodeNotSchedulable"), event("NodeSchedulable"), event("ScalingReplicaSet"), event("BackoffLimitExceeded"),
];
