// The rounds from left to right: how many nodes enter, where they drop out, who is left, who wins.

import { useEffect, useRef, useState } from "preact/hooks";
import { amount, count, plural, quantity } from "../../live/amounts";
import type { Round, Tournament } from "../../tournament/model";
import { href } from "../../state/url";
import { Command, Mark } from "../../ui/parts";
import { Name, plain } from "../../ui/text";
import { Matrix } from "./matrix";
import { Preempting } from "./preempting";
import { River } from "./river";
import { FILTERS, meaning } from "./words";

export function Rounds({ told, command }: { told: Tournament; command?: string }) {
  const [chosen, choose] = useState("");
  const dropping = told.rounds.filter((r) => r.out > 0);
  const round = dropping.find((r) => r.plugin === chosen);
  return (
    <div class="tournament">
      <Heading told={told} />
      <River told={told} chosen={chosen} choose={(plugin) => choose(plugin === chosen ? "" : plugin)} />
      <div class="rounds-below">
        <Dropped rounds={round ? [round] : dropping} told={told} />
        <div class="rounds-right">
          {told.rows.length > 0 && <Matrix told={told} />}
          {told.feasible === 1 && told.rows.length === 0 && told.winner && (
            <section class="block"><h2>One node is left, so nothing is scored</h2>
              <p><a class="link" href={href("cluster", { node: told.winner })}><Name text={told.winner} /></a> takes the pod.</p></section>
          )}
          {told.preemption && <Preempting told={told} />}
          <Help told={told} />
          <Spread told={told} />
        </div>
      </div>
      {command && <footer class="foot"><span class="dim">The same on the command line</span><Command text={command} /></footer>}
    </div>
  );
}

const OUTCOMES = {
  Fits: "has a place", FitsAfterPreemption: "fits after preemption", FitsNowhere: "fits nowhere",
  Gated: "is held back", Error: "could not be decided",
};

function Heading({ told }: { told: Tournament }) {
  const { pod } = told;
  const state = told.outcome === "Fits" ? "ok" : told.outcome === "FitsAfterPreemption" ? "preempted" : told.outcome === "Error" ? "bad" : "pending";
  const moved = told.outcome === "Fits" && pod.node !== "" && pod.node !== told.winner;
  const when = told.lastAttempt ? new Date(told.lastAttempt).toLocaleTimeString([], { hour12: false }) : "";
  return (
    <header class="t-head">
      <h1>
        <Mark state={state} /> <Name text={`${pod.ns}/${pod.name}`} /> <span class="t-outcome">{moved ? <>is on <a class="link" href={href("cluster", { node: pod.node })}><Name text={pod.node} /></a>; now it would go elsewhere</> : OUTCOMES[told.outcome]}
          {told.winner && <>: <a class="link" href={href("cluster", { node: told.winner })}><Name text={told.winner} /></a></>}</span>
      </h1>
      <p class="dim">
        {told.atDecision ? `As it was decided at ${when}` : capital(plain(told.note)) || "As the cluster is now"}
        {told.atDecision && told.note && <>; {plain(told.note)}</>}
        {pod.requests.length > 0 && <> · asks for {pod.requests.map(([name, value]) => `${name} ${amount(name, quantity(value))}`).join(", ")}</>}
        {" "}· priority <span class="num">{pod.priority}</span>
      </p>
      {told.stopped && <p class="t-stopped"><b>{plain(told.stopped.plugin)}</b> {told.outcome === "Gated" ? "holds it back" : "rejected it before any node was asked"}: {plain(told.stopped.reasons.join(", "))}</p>}
    </header>
  );
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function Dropped({ rounds, told }: { rounds: Round[]; told: Tournament }) {
  if (rounds.length === 0) {
    return told.total ? <section class="block dropped"><h2>Nobody dropped out</h2><p class="dim">All {plural(told.total, "node")} passed every filter.</p></section> : null;
  }
  return (
    <section class="block dropped" aria-label="Nodes that dropped out">
      <h2>Dropped out</h2>
      {rounds.map((round) => (
        <div key={round.plugin} class="dropped-round">
          <h3>{FILTERS[round.plugin] ?? round.plugin} <span class="dim">{round.plugin}</span></h3>
          <ul>
            {round.reasons.map((reason) => (
              <li key={reason.text}>
                <b class="num">{count(reason.count)}</b>
                <div>
                  <p>{plain(reason.text)}{meaning(reason.text) !== reason.text && <span class="dim">: {plain(meaning(reason.text))}</span>}</p>
                  <p class="names">{reason.nodes.slice(0, 8).map((n) => <a key={n} class="link" href={href("cluster", { node: n })}><Name text={n} /></a>)}
                    {reason.count > 8 && <span class="dim">and {count(reason.count - 8)} more</span>}</p>
                </div>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}

function Help({ told }: { told: Tournament }) {
  if (!told.help) return null;
  return (
    <section class="block">
      <h2>What would make it fit</h2>
      {told.help.length === 0
        ? <p class="dim">No single change was found.</p>
        : <ul class="help">{told.help.map((h) => <li key={h.change}>{plain(h.change)}{h.nodes > 1 && <span class="dim">, then it fits on {h.nodes} nodes</span>}</li>)}</ul>}
      {told.untried > 0 && <p class="dim">{told.untried} more were not tried.</p>}
    </section>
  );
}

function Spread({ told }: { told: Tournament }) {
  if (told.spread.length === 0) return null;
  return (
    <section class="block">
      <h2>How its like are spread</h2>
      {told.spread.map((s) => (
        <div key={s.key} class="spread">
          <p class="dim"><code>{plain(s.key)}</code>: at most {s.maxSkew} apart{s.when === "ScheduleAnyway" ? ", if possible" : ""}</p>
          <ul>
            {s.domains.slice(0, 12).map((d) => (
              <li key={d.name} class={d.skew > s.maxSkew ? "full" : ""}>
                <Name text={d.name} class="spread-name" />
                <Dots n={d.pods} />
                <span class="dim">{d.pods}{d.skew > s.maxSkew ? ", one more would be too many" : ""}{d.taint ? `, tainted ${plain(d.taint)}` : ""}</span>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}

export function Dots({ n }: { n: number }) {
  return <span class="dots" aria-hidden="true">{Array.from({ length: Math.min(n, 30) }, (_, i) => <i key={i} />)}<i class="next" /></span>;
}

/** The width of an element, as it changes. */
export function useWidth<T extends HTMLElement>(): [preact.RefObject<T | null>, number] {
  const ref = useRef<T>(null);
  const [width, set] = useState(0);
  useEffect(() => {
    const size = new ResizeObserver(() => set(ref.current?.clientWidth ?? 0));
    size.observe(ref.current!);
    set(ref.current!.clientWidth);
    return () => size.disconnect();
  }, []);
  return [ref, width];
}
