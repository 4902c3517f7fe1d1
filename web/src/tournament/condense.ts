// From an Explanation of the scheduler to what is drawn. Runs in the worker: of 5,000 nodes it is long.

import type { Json } from "../live/reduce";
import type { Candidate, Round, Row, Tournament } from "./model";

/** So many rows are shown, each a node or a group of nodes that fared alike. */
const ROWS = 50;
/** So many names stand for a group. */
const NAMES = 24;

export function condense(report: Json): Tournament {
  const nodes: Json[] = report.nodes ?? [];
  const { rows, plugins, left } = matrix(nodes, report.best ?? []);
  const bound: string = report.pod?.node ?? "";
  const best: string[] = report.best ?? [];
  // Where it runs may not be where it would go now.
  const winner: string = best.includes(bound) ? bound : report.nominatedNode || best[0] || bound;
  const { candidates, hopeless } = preemption(nodes, report.preemption?.node ?? "");
  return {
    pod: {
      ns: report.pod.namespace, name: report.pod.name, priority: report.pod.priority,
      scheduler: report.pod.schedulerName, state: report.pod.state, node: bound,
      requests: Object.entries(report.pod.requests ?? {}) as [string, string][],
    },
    outcome: report.outcome,
    message: report.message ?? "",
    note: report.moment?.note ?? "",
    atDecision: report.moment?.atDecision ?? false,
    lastAttempt: report.moment?.lastAttempt ?? "",
    stopped: report.rejectedBy
      ? { plugin: report.rejectedBy.plugin, reasons: report.rejectedBy.reasons ?? [] } : null,
    narrowed: report.narrowedTo ? report.narrowedTo.length : null,
    nominated: report.nominatedNode ?? "",
    total: report.totalNodes ?? nodes.length,
    feasible: report.feasible ?? 0,
    rounds: rounds(nodes),
    skipped: report.skippedFilters ?? [],
    plugins, quiet: report.skippedScores ?? [],
    rows, rowsLeft: left,
    winner: report.outcome === "Fits" ? winner : "",
    ties: best.length,
    packing: report.packing ?? "",
    candidates: candidates.slice(0, ROWS),
    candidatesLeft: Math.max(0, candidates.length - ROWS),
    hopeless,
    preemption: report.preemption ? {
      ineligible: report.preemption.ineligible ?? "",
      node: report.preemption.node ?? "",
      decidedBy: report.preemption.decidedBy ?? "",
    } : null,
    help: report.whatWouldHelp
      ? report.whatWouldHelp.map((c: Json) => ({ change: c.change, nodes: c.nodes, kind: c.kind })) : null,
    untried: report.changesUntried ?? 0,
    spread: (report.spread ?? []).map((s: Json) => ({
      key: s.topologyKey, maxSkew: s.maxSkew, when: s.whenUnsatisfiable, minimum: s.minimum,
      domains: s.domains.map((d: Json) => ({
        name: d.name, pods: d.pods, skew: d.skew, counts: d.counts, taint: d.taint ?? "",
      })),
    })),
  };
}

/** Who dropped out where: each node leaves with the first filter that rejects it. */
function rounds(nodes: Json[]): Round[] {
  const order: string[] = [];
  const out = new Map<string, Map<string, { count: number; nodes: string[] }>>();
  for (const node of nodes) {
    let after = -1;
    for (const filter of node.filters ?? []) {
      const at = order.indexOf(filter.plugin);
      if (at < 0) order.splice(++after, 0, filter.plugin);
      else after = Math.max(after, at);
    }
    const by = node.rejectedBy;
    if (!by) continue;
    if (!order.includes(by.plugin)) order.push(by.plugin);
    let reasons = out.get(by.plugin);
    if (!reasons) out.set(by.plugin, (reasons = new Map()));
    const text = (by.reasons ?? []).join(", ") || by.code;
    const group = reasons.get(text) ?? { count: 0, nodes: [] };
    group.count += 1;
    if (group.nodes.length < NAMES) group.nodes.push(node.name);
    reasons.set(text, group);
  }
  let entered = nodes.length;
  return order.map((plugin) => {
    const reasons = [...(out.get(plugin) ?? new Map())]
      .map(([text, group]) => ({ text, ...group }))
      .sort((a, b) => b.count - a.count || a.text.localeCompare(b.text));
    const gone = reasons.reduce((sum, r) => sum + r.count, 0);
    const round = { plugin, entered, out: gone, reasons };
    entered -= gone;
    return round;
  });
}

function matrix(nodes: Json[], best: string[]) {
  const isBest = new Set(best);
  const plugins: { name: string; weight: number }[] = [];
  const groups = new Map<string, Row>();
  for (const node of nodes) {
    if (!node.feasible || node.total === undefined || node.total === null) continue;
    if (plugins.length === 0) {
      for (const s of node.scores) plugins.push({ name: s.plugin, weight: s.weight });
    }
    const like = node.scores.map((s: Json) => s.normalized * s.weight).join(" ") + isBest.has(node.name);
    const row = groups.get(like);
    if (row) {
      row.count += 1;
      if (row.nodes.length < NAMES) row.nodes.push(node.name);
    } else {
      groups.set(like, {
        nodes: [node.name], count: 1, total: node.total, best: isBest.has(node.name),
        scores: node.scores.map((s: Json) => ({ raw: s.raw ?? null, normalized: s.normalized, weight: s.weight })),
      });
    }
  }
  const all = [...groups.values()].sort((a, b) => b.total - a.total || compare(a.nodes[0]!, b.nodes[0]!));
  for (const row of all) row.nodes.sort(compare);
  return { rows: all.slice(0, ROWS), plugins, left: Math.max(0, all.length - ROWS) };
}

function preemption(nodes: Json[], chosen: string) {
  const candidates: Candidate[] = [];
  const hopeless = new Map<string, number>();
  for (const node of nodes) {
    const found = node.preemption;
    if (!found) continue;
    if (found.rejectedBy) {
      const text = (found.rejectedBy.reasons ?? []).join(", ") || found.rejectedBy.code;
      hopeless.set(text, (hopeless.get(text) ?? 0) + 1);
    } else {
      candidates.push({
        node: node.name, victims: found.victims ?? [], violations: found.pdbViolations ?? 0,
        chosen: node.name === chosen,
      });
    }
  }
  candidates.sort((a, b) => Number(b.chosen) - Number(a.chosen) || a.violations - b.violations
    || a.victims.length - b.victims.length || compare(a.node, b.node));
  return {
    candidates,
    hopeless: [...hopeless].map(([text, count]) => ({ text, count })).sort((a, b) => b.count - a.count),
  };
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
