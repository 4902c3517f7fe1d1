// Where zones, nodes and pods are on the map. Pure.

import type { Node } from "../../state/model";

export interface Zone {
  name: string;
  x: number;
  w: number;
  columns: number;
  nodes: string[];
}

export interface Layout {
  zones: Zone[];
  tile: { w: number; h: number; gap: number };
  top: number;
  width: number;
  height: number;
  /** Where each node is: its zone and its place in it. */
  places: Map<string, [number, number]>;
}

const HEAD = 26;
const ZONE_GAP = 18;
const MARGIN = 16;

const natural = new Intl.Collator("en", { numeric: true });

export function layout(nodes: Iterable<Node>, width: number, height: number): Layout {
  const byZone = new Map<string, string[]>();
  for (const node of nodes) {
    const list = byZone.get(node.zone);
    if (list) list.push(node.name);
    else byZone.set(node.zone, [node.name]);
  }
  const names = [...byZone.keys()].sort(natural.compare);
  const counts = names.map((name) => byZone.get(name)!.length);
  const best = fit(counts, width - 2 * MARGIN, height - HEAD - MARGIN);
  const places = new Map<string, [number, number]>();
  let x = MARGIN;
  const zones = names.map((name, z) => {
    const list = byZone.get(name)!.sort(natural.compare);
    list.forEach((node, at) => places.set(node, [z, at]));
    const w = best.columns[z]! * best.w;
    const zone = { name, x, w, columns: best.columns[z]!, nodes: list };
    x += w + ZONE_GAP;
    return zone;
  });
  const rest = width - (x - ZONE_GAP) - MARGIN;
  if (rest > 0 && zones.length > 0) {
    // What is left over goes to both sides and between the zones.
    const extra = Math.min(rest / (zones.length + 1), 80);
    zones.forEach((zone, z) => (zone.x += rest / 2 - (extra * (zones.length - 1)) / 2 + extra * z));
  }
  const gap = Math.max(1, Math.min(8, Math.min(best.w, best.h) * (best.w < 20 ? 0.16 : 0.07)));
  return { zones, tile: { w: best.w, h: best.h, gap }, top: HEAD, width, height, places };
}

/** The columns of each zone that make tiles largest. */
function fit(counts: number[], width: number, height: number) {
  const total = counts.reduce((a, b) => a + b, 0);
  const room = Math.max(10, width - ZONE_GAP * Math.max(0, counts.length - 1));
  let best = { columns: counts.map(() => 1), w: 1, h: 1, score: -1 };
  const most = Math.min(total, 400);
  for (let c = counts.length; c <= Math.max(most, counts.length); c++) {
    const columns = counts.map((n) => Math.max(1, Math.round((c * n) / total)));
    const rows = Math.max(1, ...counts.map((n, z) => Math.ceil(n / columns[z]!)));
    const across = columns.reduce((a, b) => a + b, 0);
    let w = room / across;
    let h = Math.max(2, height) / rows;
    if (h > w * 0.95) h = w * 0.95;
    // Many small tiles are easier to read as squares; few large ones may be as wide as the window.
    const wide = total > 300 ? 1.15 : total > 60 ? 1.6 : 2.6;
    if (w > h * wide) w = h * wide;
    const score = w * h;
    if (score > best.score) best = { columns, w, h, score };
  }
  return best;
}

export interface Rect {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** A tile's place, without zoom. */
export function tileRect(map: Layout, node: string): Rect | null {
  const place = map.places.get(node);
  if (!place) return null;
  const zone = map.zones[place[0]]!;
  const { w, h, gap } = map.tile;
  const column = place[1] % zone.columns;
  const row = Math.floor(place[1] / zone.columns);
  return { x: zone.x + column * w + gap / 2, y: map.top + row * h + gap / 2, w: w - gap, h: h - gap };
}

/** The node at a point, without zoom. */
export function nodeAt(map: Layout, x: number, y: number): string | null {
  const { w, h } = map.tile;
  for (const zone of map.zones) {
    if (x < zone.x || x >= zone.x + zone.columns * w || y < map.top) continue;
    const at = Math.floor((y - map.top) / h) * zone.columns + Math.floor((x - zone.x) / w);
    return zone.nodes[at] ?? null;
  }
  return null;
}

/**
 * Cells whose areas are as given, in a rectangle whose area is 1, as square as may be: a squarified treemap. The
 * sizes have to be sorted, the largest first. What they leave free is on the right.
 */
export function cells(sizes: number[], into: Rect): Rect[] {
  const sum = sizes.reduce((a, b) => a + b, 0);
  const scale = (into.w * into.h) / Math.max(1, sum);
  const areas = sizes.map((size) => size * scale);
  const out: Rect[] = [];
  let { x, y, w, h } = into;
  // What is free is one piece at the end.
  w *= Math.min(1, sum);
  let at = 0;
  while (at < areas.length && w > 0 && h > 0) {
    const side = Math.min(w, h);
    let end = at;
    let area = 0;
    let worst = Infinity;
    while (end < areas.length) {
      const more = area + areas[end]!;
      const thick = more / side;
      const first = areas[at]! / thick;
      const last = areas[end]! / thick;
      const ratio = Math.max(first / thick, thick / first, last / thick, thick / last);
      if (ratio > worst) break;
      worst = ratio;
      area = more;
      end += 1;
    }
    const thick = area / side;
    let along = 0;
    for (let i = at; i < end; i++) {
      const length = areas[i]! / thick;
      out.push(w >= h
        ? { x, y: y + along, w: thick, h: length }
        : { x: x + along, y, w: length, h: thick });
      along += length;
    }
    if (w >= h) {
      x += thick;
      w -= thick;
    } else {
      y += thick;
      h -= thick;
    }
    at = end;
  }
  return out;
}
