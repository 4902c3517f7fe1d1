// What people run: deployments with their spread, jobs with attempts, schedules with past and next runs, budgets with
// their headroom, quotas.

import { useMemo } from "preact/hooks";
import { ofJob, ofWorkload } from "../../api/actions";
import { count, percent, plural, span } from "../../live/amounts";
import type { Budget, Job, Pod, Quota, Workload } from "../../state/model";
import { store, useNow, useStore } from "../../state/store";
import { href, set, timeWindow, usePlace } from "../../state/url";
import { Actions } from "../../ui/actions";
import { Empty, Mark, Meter } from "../../ui/parts";
import { Name, plain } from "../../ui/text";
import { jobWithin } from "../window";
import { Crons } from "./crons";

const ROWS = 100;
const SECTIONS = ["services", "jobs", "schedules", "budgets", "quotas"] as const;
const TITLES = { services: "Services", jobs: "Jobs", schedules: "Schedules", budgets: "Budgets", quotas: "Quotas" };

export function Workloads() {
  useStore(store.rows.pods.size > 10_000 ? 1500 : 400);
  const now = useNow(1000);
  const { params } = usePlace();
  const section = SECTIONS.find((s) => s === params.of) ?? "services";
  const rows = store.rows;
  const counts = {
    services: [...rows.workloads.values()].filter(isTop).length, jobs: rows.jobs.size, schedules: rows.crons.size,
    budgets: rows.budgets.size, quotas: rows.quotas.size,
  };
  const ready = store.listed("deployments", "jobs", "cronjobs", "budgets", "quotas");
  const ns = params.ns ?? "";
  const here = <T extends { ns: string }>(all: Iterable<T>) => [...all].filter((o) => !ns || o.ns === ns);
  const spaces = [...new Set([...rows.workloads.values(), ...rows.jobs.values(), ...rows.crons.values()].map((o) => o.ns))].sort();
  return (
    <div class="page">
      <div class="subnav">
        <div role="tablist" aria-label="Kinds of workloads" class="tabs">
          {SECTIONS.map((s) => (
            <button key={s} type="button" role="tab" aria-selected={s === section} onClick={() => set({ of: s })}>
              {TITLES[s]} <span class="dim num">{count(counts[s])}</span>
            </button>
          ))}
        </div>
        <label class="select"><span>Namespace</span>
          <select value={ns} onChange={(e) => set({ ns: e.currentTarget.value }, true)}>
            <option value="">all</option>
            {spaces.map((s) => <option key={s} value={s}>{plain(s)}</option>)}
          </select>
        </label>
      </div>
      {!ready && counts[section] === 0 ? <Empty title="Reading the cluster…" /> : counts[section] === 0 ? <None section={section} />
        : section === "services" ? <Services all={here(rows.workloads.values()).filter(isTop)} />
          : section === "jobs" ? <Jobs all={here(rows.jobs.values())} now={now} />
            : section === "schedules" ? <Crons all={here(rows.crons.values())} now={now} />
              : section === "budgets" ? <Budgets all={here(rows.budgets.values())} />
                : <Quotas all={here(rows.quotas.values())} />}
    </div>
  );
}

const isTop = (w: Workload) => !(w.kind === "ReplicaSet" && w.owner);

function None({ section }: { section: (typeof SECTIONS)[number] }) {
  const say: Record<typeof section, [string, string]> = {
    services: ["No deployments yet", "kubectl create deployment web --image=nginx --replicas=3"],
    jobs: ["No jobs yet", "kubectl create job hello --image=busybox"],
    schedules: ["No schedules yet", "kubectl create cronjob tick --image=busybox --schedule='* * * * *'"],
    budgets: ["No disruption budgets yet", "kubectl create poddisruptionbudget web --selector=app=web --min-available=1"],
    quotas: ["No quotas yet", "kubectl create quota team --hard=pods=10"],
  };
  const [title, command] = say[section];
  return <Empty title={title}><p>Make one: <code>{command}</code></p></Empty>;
}

/** The pods of each workload. Those of a deployment belong to its replica sets. */
function usePods(): Map<string, Pod[]> {
  return useMemo(() => {
    const out = new Map<string, Pod[]>();
    const above = new Map<string, string>();
    for (const w of store.rows.workloads.values()) {
      if (w.kind === "ReplicaSet" && w.owner) above.set(`ReplicaSet/${w.ns}/${w.name}`, `${w.owner.replace("/", `/${w.ns}/`)}`);
    }
    for (const pod of store.rows.pods.values()) {
      if (!pod.owner) continue;
      const own = pod.owner.replace("/", `/${pod.ns}/`);
      const id = above.get(own) ?? own;
      const list = out.get(id);
      if (list) list.push(pod);
      else out.set(id, [pod]);
    }
    return out;
  }, [store.versions.pods, store.versions.workloads]);
}

function Services({ all }: { all: Workload[] }) {
  const pods = usePods();
  const zones = [...new Set([...store.rows.nodes.values()].map((n) => n.zone))].sort();
  all.sort((a, b) => Number(b.ready < b.wanted) - Number(a.ready < a.wanted) || (a.ns + a.name < b.ns + b.name ? -1 : 1));
  return (
    <table class="table wide">
      <thead><tr><th scope="col">Workload</th><th scope="col">Ready</th><th scope="col">Rollout</th><th scope="col">Pods by zone</th><th scope="col">Budget</th><th scope="col"><span class="hidden">Actions</span></th></tr></thead>
      <tbody>
        {all.slice(0, ROWS).map((w) => <Service key={w.id} w={w} pods={pods.get(w.id) ?? []} zones={zones} />)}
      </tbody>
    </table>
  );
}

function budgetOf(w: Workload): Budget | undefined {
  for (const b of store.rows.budgets.values()) {
    const pairs = Object.entries(b.selector);
    if (b.ns === w.ns && pairs.length && pairs.every(([k, v]) => w.selector[k] === v)) return b;
  }
  return undefined;
}

function Service({ w, pods, zones }: { w: Workload; pods: Pod[]; zones: string[] }) {
  const rolls = w.updated < w.wanted || w.available < w.updated;
  const budget = budgetOf(w);
  return (
    <tr>
      <td><span class="dim">{w.kind === "Deployment" ? "" : `${w.kind} `}</span><Name text={`${w.ns}/${w.name}`} /></td>
      <td class={`num ${w.ready < w.wanted ? "amber" : ""}`}>{w.ready < w.wanted && <Mark state="pending" />} {count(w.ready)} of {count(w.wanted)}</td>
      <td>
        {w.message ? <span class="red"><Mark state="bad" /> {plain(w.message)}</span>
          : w.paused ? <span class="dim">paused</span>
            : w.kind === "DaemonSet" || !rolls || w.wanted === 0 ? <span class="dim">{w.revision ? `revision ${w.revision}` : "settled"}</span>
              : w.updated >= w.wanted ? <span class="dim">waits for {plural(w.wanted - w.available, "pod")}</span>
              : <span class="rollout"><Meter part={w.updated / Math.max(1, w.wanted)} label={`${w.updated} of ${w.wanted} updated`} state="meter-won" /><span class="num">{w.updated} of {w.wanted} new</span></span>}
      </td>
      <td><Spread pods={pods} zones={zones} /></td>
      <td>{budget ? <Headroom b={budget} /> : <span class="dim">none</span>}</td>
      <td class="right"><Actions actions={ofWorkload(w)} of={w.id} /></td>
    </tr>
  );
}

const DOTS = 14;

/** A dot per pod, zone by zone. */
function Spread({ pods, zones }: { pods: Pod[]; zones: string[] }) {
  const alive = pods.filter((p) => p.phase !== "Succeeded" && p.phase !== "Failed");
  const byZone = new Map<string, Pod[]>();
  const waiting: Pod[] = [];
  for (const p of alive) {
    if (!p.node) {
      waiting.push(p);
      continue;
    }
    const zone = store.rows.nodes.get(p.node)?.zone ?? "";
    const list = byZone.get(zone);
    if (list) list.push(p);
    else byZone.set(zone, [p]);
  }
  const at = (zone: string) => byZone.get(zone) ?? [];
  return (
    <span class="zones">
      {zones.map((zone) => {
        const there = at(zone);
        return (
          <span key={zone} class="zone" title={`${zone || "no zone"}: ${there.length}`}>
            <span class="zone-name">{plain(zone) || "–"}</span>
            {there.slice(0, DOTS).map((p) => <a key={p.id} href={href("cluster", { pod: p.id })} aria-label={`${plain(p.id)}`} class={`pod-dot ${p.failing ? "dot-bad" : p.ready ? "" : "dot-starting"}`} />)}
            {there.length > DOTS && <span class="dim num">+{there.length - DOTS}</span>}
          </span>
        );
      })}
      {waiting.length > 0 && (
        <span class="zone" title={`${waiting.length} pending`}>
          <span class="zone-name amber">pending</span>
          {waiting.slice(0, DOTS).map((p) => <a key={p.id} href={href("tournament", { pod: p.id })} aria-label={`${plain(p.id)}, pending`} class="pod-dot dot-pending" />)}
          {waiting.length > DOTS && <span class="amber num">+{waiting.length - DOTS}</span>}
        </span>
      )}
    </span>
  );
}

function Headroom({ b }: { b: Budget }) {
  return <span class={b.allowed === 0 ? "amber" : ""}>{b.allowed === 0 && <Mark state="pending" />} <span class="num">{b.allowed} of {b.expected}</span> may go</span>;
}

function Jobs({ all, now }: { all: Job[]; now: number }) {
  const range = timeWindow();
  const some = range ? all.filter((j) => jobWithin(j, range)) : all;
  some.sort((a, b) => Number(!!a.outcome) - Number(!!b.outcome) || b.created - a.created);
  return (
    <table class="table wide">
      <thead><tr><th scope="col">Job</th><th scope="col">State</th><th scope="col">Completions</th><th scope="col" class="right">Failed attempts</th><th scope="col" class="right">Took</th><th scope="col" class="right">Age</th><th scope="col"><span class="hidden">Actions</span></th></tr></thead>
      <tbody>
        {some.slice(0, ROWS).map((j) => (
          <tr key={j.id}>
            <td><Name text={j.id} /></td>
            <td>{j.outcome === "Complete" ? <><Mark state="ok" /> complete</> : j.outcome === "Failed" ? <span class="red" title={plain(j.message)}><Mark state="bad" /> failed</span>
              : j.outcome === "Suspended" ? <><Mark state="off" /> suspended</> : <><Mark state="pending" /> {j.active} active</>}</td>
            <td><span class="rollout"><Meter part={j.succeeded / Math.max(1, j.completions)} label={`${j.succeeded} of ${j.completions}`} /><span class="num">{j.succeeded} of {j.completions}</span></span></td>
            <td class={`right num ${j.failed ? "red" : "dim"}`}>{j.failed} of {j.backoff + 1}</td>
            <td class="right num">{j.started ? span((j.ended || now) - j.started) : ""}</td>
            <td class="right num dim">{span(now - j.created)}</td>
            <td class="right"><Actions actions={ofJob(j)} of={j.id} /></td>
          </tr>
        ))}
      </tbody>
      {some.length > ROWS && <caption>The latest {ROWS} of {count(some.length)}</caption>}
    </table>
  );
}

function Budgets({ all }: { all: Budget[] }) {
  all.sort((a, b) => a.allowed - b.allowed || (a.id < b.id ? -1 : 1));
  return (
    <table class="table wide">
      <thead><tr><th scope="col">Budget</th><th scope="col">Headroom</th><th scope="col">Rule</th><th scope="col">Healthy</th></tr></thead>
      <tbody>
        {all.slice(0, ROWS).map((b) => (
          <tr key={b.id}>
            <td><Name text={b.id} /></td>
            <td><Headroom b={b} /></td>
            <td class="dim">{plain(b.rule)}</td>
            <td><span class="budget" aria-label={`${b.healthy} of ${b.expected} healthy, ${b.desired} needed`} role="img">
              {Array.from({ length: Math.min(24, b.expected) }, (_, i) => (
                <i key={i} class={i < b.desired ? (i < b.healthy ? "need" : "lack") : i < b.healthy ? "spare" : "gone"} />
              ))}</span> <span class="num">{b.healthy}</span> <span class="dim">of {b.expected}, {b.desired} needed</span></td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Quotas({ all }: { all: Quota[] }) {
  return (
    <table class="table wide">
      <thead><tr><th scope="col">Quota</th><th scope="col">Resource</th><th scope="col">Used</th><th scope="col" class="right">Used</th><th scope="col" class="right">Of</th></tr></thead>
      <tbody>
        {all.slice(0, ROWS).flatMap((q) => q.lines.map((l, i) => {
          const part = l.hard ? l.used / l.hard : 0;
          return (
            <tr key={`${q.id} ${l.what}`}>
              <td>{i === 0 && <Name text={q.id} />}</td>
              <td><Name text={l.what} /></td>
              <td><span class="rollout"><Meter part={part} label={percent(part)} state={part >= 1 ? "meter-full" : ""} /><span class={`num ${part >= 1 ? "amber" : ""}`}>{percent(part)}</span></span></td>
              <td class="right num">{l.usedText}</td><td class="right num">{l.hardText}</td>
            </tr>
          );
        }))}
      </tbody>
    </table>
  );
}


