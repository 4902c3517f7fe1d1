// The tournament of one pod: queue, filters, scores, winner. The picture that answers "why there?" and "why nowhere?".

import { useEffect, useState } from "preact/hooks";
import { span } from "../../live/amounts";
import { store, useNow, useStore } from "../../state/store";
import { href, set, usePlace } from "../../state/url";
import type { Tournament } from "../../tournament/model";
import { Command, Empty, Mark } from "../../ui/parts";
import { Name, plain } from "../../ui/text";
import { Rounds } from "./rounds";

export function TournamentView() {
  const { params } = usePlace();
  return params.pod ? <OfPod id={params.pod} key={params.pod} /> : <Choose />;
}

type State = { told?: Tournament; error?: Error & { code?: number }; asked: string };

function OfPod({ id }: { id: string }) {
  useStore(400);
  const [state, setState] = useState<State>({ asked: "" });
  const slash = id.indexOf("/");
  const ns = id.slice(0, slash);
  const name = id.slice(slash + 1);
  const pod = store.rows.pods.get(id);
  // What was decided is told again when it was decided again.
  const version = pod ? `${pod.node} ${pod.message}` : "";
  useEffect(() => {
    // The scheduler is asked before the list of pods is complete; what it said then is still good if nothing is new.
    if (state.told && pod && pod.node === state.told.pod.node && (pod.node || pod.message === state.told.message)) return;
    if (state.told && !pod) return;
    let gone = false;
    store.tournament(ns, name).then(
      (told) => !gone && setState({ told, asked: version }),
      (error) => !gone && setState((before) => ({ ...before, error, asked: version })));
    return () => {
      gone = true;
    };
  }, [version]);
  if (!pod && !state.told && state.error) {
    return store.listed("pods")
      ? <Empty title="There is no such pod"><p><Name text={id} /> is gone, or it never was. <a class="link" href={href("tournament", { pod: "" })}>Choose another one</a>.</p></Empty>
      : <Empty title="Reading the cluster…" />;
  }
  if (state.error && !state.told) {
    return (
      <Empty title={state.error.code === 404 ? "The scheduler remembers nothing of this pod" : "The tournament could not be read"}>
        <p>{plain(state.error.message)}</p>
        <Command text={`stowplan explain pod ${name} -n ${ns}`} />
      </Empty>
    );
  }
  if (!state.told) return <Empty title="Playing the tournament again…"><p><Name text={id} /></p></Empty>;
  return <Rounds told={state.told} command={`stowplan explain pod ${name} -n ${ns}`} />;
}

/** Whose tournament? What waits first, then what was placed last. */
function Choose() {
  useStore(500);
  const now = useNow(5000);
  const { params } = usePlace();
  const wanted = (params.q ?? "").toLowerCase();
  const match = (id: string) => id.toLowerCase().includes(wanted);
  const waiting = [...store.pending.values()].filter((p) => match(p.id)).sort((a, b) => a.created - b.created).slice(0, 20);
  const placed = [...store.rows.pods.values()].filter((p) => p.bound && match(p.id)).sort((a, b) => b.bound - a.bound).slice(0, 40);
  return (
    <div class="choose">
      <h1 class="view-title">Whose tournament?</h1>
      <p class="dim lead">For each pod the scheduler tries every node: filters drop those that will not do, scores rank the rest. Choose a pod to see its rounds.</p>
      <label class="find"><span class="hidden">Find a pod</span>
        <input type="search" placeholder="Find a pod" value={params.q ?? ""} onInput={(e) => set({ q: e.currentTarget.value }, true)} />
      </label>
      {store.rows.pods.size === 0 && store.listed("pods") && <Empty title="No pods yet"><p>Ask about <a class="link" href={href("whatif")}>one that does not exist</a>.</p></Empty>}
      <div class="choose-lists">
        {waiting.length > 0 && <List title="Waiting" pods={waiting.map((p) => ({ id: p.id, note: span(now - p.created), state: "pending" as const }))} />}
        {placed.length > 0 && <List title="Placed last" pods={placed.map((p) => ({ id: p.id, note: p.node, state: "ok" as const }))} />}
      </div>
    </div>
  );
}

function List({ title, pods }: { title: string; pods: { id: string; note: string; state: "pending" | "ok" }[] }) {
  return (
    <section>
      <h2>{title}</h2>
      <ul class="rows">
        {pods.map((pod) => (
          <li key={pod.id}>
            <a href={href("tournament", { pod: pod.id })}><Mark state={pod.state} /><Name text={pod.id} /><span class="dim num">{plain(pod.note)}</span></a>
          </li>
        ))}
      </ul>
    </section>
  );
}
