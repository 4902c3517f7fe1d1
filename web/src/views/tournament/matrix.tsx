// The score matrix: a row per node or group of alike nodes, a column per plugin, a cell per weighted score.

import { useState } from "preact/hooks";
import { count } from "../../live/amounts";
import { href } from "../../state/url";
import type { Row, Tournament } from "../../tournament/model";
import { Meter } from "../../ui/parts";
import { Name } from "../../ui/text";
import { SCORES } from "./words";

export function Matrix({ told }: { told: Tournament }) {
  const [by, sort] = useState(-1);
  const max = told.plugins.map((p, i) => Math.max(1, p.weight * 100, ...told.rows.map((r) => weighted(r, i))));
  const rows = [...told.rows];
  if (by >= 0) rows.sort((a, b) => weighted(b, by) - weighted(a, by) || b.total - a.total);
  const top = Math.max(1, ...rows.map((r) => r.total));
  const head = (label: string, at: number, title?: string) => (
    <th scope="col" aria-sort={by === at ? "descending" : "none"}>
      <button type="button" class="sort" title={title} onClick={() => sort(at)}>{label}{by === at && <span aria-hidden="true"> ↓</span>}</button>
    </th>
  );
  return (
    <section class="block matrix" aria-label="Scores">
      <h2>Scores <span class="dim">{count(told.feasible)} {told.feasible === 1 ? "node" : "nodes"} left, {told.packing ? `packed by ${told.packing}` : "weighted score of each plugin"}</span></h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Score matrix">
        <table>
          <thead>
            <tr>
              <th scope="col" class="matrix-node">Node</th>
              {told.plugins.map((p, i) => <Head key={p.name} plugin={p} render={(label, title) => head(label, i, title)} />)}
              {head("total", -1)}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => <Line key={row.nodes[0]} row={row} told={told} max={max} top={top} />)}
          </tbody>
        </table>
      </div>
      <p class="dim small">
        {told.rowsLeft > 0 && <>{count(told.rowsLeft)} more groups scored less. </>}
        {told.quiet.length > 0 && <>Nothing to tell nodes apart by: {told.quiet.join(", ")}.</>}
      </p>
    </section>
  );
}

function Head({ plugin, render }: { plugin: { name: string; weight: number }; render: (label: string, title: string) => preact.JSX.Element }) {
  const label = SCORES[plugin.name] ?? plugin.name;
  return render(plugin.weight === 1 ? label : `${label} ×${plugin.weight}`, `${plugin.name}, weight ${plugin.weight}`);
}

function weighted(row: Row, at: number): number {
  const s = row.scores[at];
  return s ? s.normalized * s.weight : 0;
}

function Line({ row, told, max, top }: { row: Row; told: Tournament; max: number[]; top: number }) {
  const won = row.nodes.includes(told.winner) || (row.best && row.count > 24);
  const name = won ? told.winner : row.nodes[0]!;
  const others = row.count - 1;
  return (
    <tr class={won ? "won" : row.best ? "tied" : ""}>
      <th scope="row" class="matrix-node">
        <span class="matrix-mark" aria-hidden="true">{won ? "★" : row.best ? "=" : ""}</span>
        <a class="link" href={href("cluster", { node: name })}><Name text={name} /></a>
        {others > 0 && <span class="alike" title={row.nodes.slice(0, 24).join(", ")}>+{count(others)} alike</span>}
        {won && <span class="hidden">, the winner</span>}
        {row.best && !won && <span class="hidden">, tied with the winner</span>}
      </th>
      {row.scores.map((s, i) => (
        <td key={i} title={`${s.normalized} × ${s.weight}${s.raw === null ? "" : `, raw ${s.raw}`}`}>
          <span class="score"><Meter part={weighted(row, i) / max[i]!} label={`${weighted(row, i)}`} state={won ? "meter-won" : ""} /><span class="num">{weighted(row, i)}</span></span>
        </td>
      ))}
      <td class="matrix-total"><span class="score"><Meter part={row.total / top} label={`${row.total}`} state={won ? "meter-won" : ""} /><b class="num">{row.total}</b></span></td>
    </tr>
  );
}
