// Finds nodes, pods, workloads and views by a part of their names.

import { useState } from "preact/hooks";
import { store } from "../state/store";
import { href } from "../state/url";
import { VIEWS } from "../views/registry";
import { Dialog } from "./parts";
import { Name } from "./text";

interface Hit {
  kind: string;
  name: string;
  to: string;
}

const MOST = 12;

function find(text: string): Hit[] {
  const wanted = text.trim().toLowerCase();
  const out: Hit[] = [];
  const add = (kind: string, name: string, to: string) => {
    if (out.length < MOST && name.toLowerCase().includes(wanted)) out.push({ kind, name, to });
  };
  for (const v of VIEWS) add("view", v.title, href(v.id));
  if (!wanted) return out;
  for (const n of store.rows.nodes.values()) add("node", n.name, href("cluster", { node: n.name }));
  for (const w of store.rows.workloads.values()) if (w.kind !== "ReplicaSet" || !w.owner) add(w.kind.toLowerCase(), `${w.ns}/${w.name}`, href("workloads", { of: "services", ns: w.ns }));
  for (const c of store.rows.crons.values()) add("schedule", c.id, href("workloads", { of: "schedules", ns: c.ns }));
  for (const j of store.rows.jobs.values()) add("job", j.id, href("workloads", { of: "jobs", ns: j.ns }));
  for (const p of store.rows.pods.values()) {
    if (out.length >= MOST) break;
    add(p.node ? "pod" : "pending pod", p.id, href("cluster", { pod: p.id }));
  }
  return out;
}

export function Search({ close }: { close: () => void }) {
  const [text, set] = useState("");
  const [at, move] = useState(0);
  const hits = find(text);
  const open = (hit: Hit | undefined) => {
    if (!hit) return;
    close();
    location.hash = hit.to;
  };
  const key = (e: KeyboardEvent) => {
    if (e.key === "ArrowDown") move(Math.min(hits.length - 1, at + 1));
    else if (e.key === "ArrowUp") move(Math.max(0, at - 1));
    else if (e.key === "Enter") open(hits[at]);
    else return;
    e.preventDefault();
  };
  return (
    <Dialog title="Search" close={close}>
      <input class="search-input" type="text" autofocus role="combobox" aria-expanded="true" aria-controls="hits" aria-label="Search nodes, pods, workloads"
        aria-activedescendant={hits[at] ? `hit-${at}` : undefined} placeholder="A node, a pod, a workload" value={text}
        onInput={(e) => { set(e.currentTarget.value); move(0); }} onKeyDown={key} />
      <ul id="hits" role="listbox" aria-label="Found" class="hits">
        {hits.map((hit, i) => (
          <li key={hit.kind + hit.name} id={`hit-${i}`} role="option" aria-selected={i === at} onClick={() => open(hit)} onPointerMove={() => move(i)}>
            <span class="hit-kind">{hit.kind}</span> <Name text={hit.name} />
          </li>
        ))}
      </ul>
      {hits.length === 0 && <p class="dim">Nothing has that name.</p>}
    </Dialog>
  );
}
