// The map on its canvases: one for tiles, which is painted when something changes, and one above it for what
// moves.

import type { Node, Pod } from "../../state/model";
import { store, type Motion } from "../../state/store";
import { still } from "../../state/theme";
import { layout, nodeAt, tileRect, type Layout, type Rect } from "./layout";
import { palette, tile, type Cell, type Fill, type Palette } from "./paint";

export interface Target {
  node: string;
  pod: Pod | null;
}

interface Flight {
  from: [number, number] | null;
  to: Rect;
  start: number;
  color: string;
  kind: Motion["kind"];
}

const BIND_MS = 220;
const FADE_MS = 420;
const FLIGHTS_MAX = 60;
/** So much of a frame may go into tiles that have changed. */
const FRAME_MS = 10;

export class ClusterMap {
  private ctx: CanvasRenderingContext2D;
  private over: CanvasRenderingContext2D;
  private colors: Palette;
  private map: Layout;
  private seen = -1;
  private cells = new Map<string, Cell[]>();
  private whole = true;
  private frame = 0;
  private flights: Flight[] = [];
  private w = 0;
  private h = 0;
  k = 1;
  x = 0;
  y = 0;
  hover: Target | null = null;
  selected = "";
  selectedPod = "";
  highlight: Set<string> | null = null;
  /** Where pods come from: the place of a pod's group on the strip. */
  source: (pod: Pod) => [number, number] | null = () => null;

  constructor(private base: HTMLCanvasElement, private top: HTMLCanvasElement) {
    this.ctx = base.getContext("2d", { alpha: false })!;
    this.over = top.getContext("2d")!;
    this.colors = palette(this.ctx);
    this.map = layout([], 10, 10);
  }

  recolor() {
    this.colors = palette(this.ctx);
    this.redraw();
  }

  resize(w: number, h: number) {
    const ratio = devicePixelRatio || 1;
    this.w = w;
    this.h = h;
    for (const canvas of [this.base, this.top]) {
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
    }
    this.ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.over.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.seen = -1;
    this.clamp();
    this.redraw();
  }

  redraw() {
    this.whole = true;
    this.soon();
  }

  soon() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.paint());
  }

  stop() {
    cancelAnimationFrame(this.frame);
  }

  /** What has changed since the last time. */
  changed() {
    if (store.layout !== this.seen) this.whole = true;
    for (const motion of store.motions.splice(0)) this.begin(motion);
    if (this.whole || store.dirty.size || this.flights.length) this.soon();
  }

  private relayout() {
    if (store.layout === this.seen) return;
    this.seen = store.layout;
    this.map = layout(store.rows.nodes.values(), this.w, this.h);
  }

  private onScreen(r: Rect): Rect {
    // Whole pixels: thousands of soft edges would shimmer.
    const x = Math.round(r.x * this.k + this.x);
    const y = Math.round(r.y * this.k + this.y);
    const right = Math.round((r.x + r.w) * this.k + this.x);
    const bottom = Math.round((r.y + r.h) * this.k + this.y);
    return { x, y, w: Math.max(1, right - x), h: Math.max(1, bottom - y) };
  }

  rectOf(node: string): Rect | null {
    const rect = tileRect(this.map, node);
    return rect && this.onScreen(rect);
  }

  private paint() {
    this.frame = 0;
    this.relayout();
    if (this.whole) this.paintAll();
    else this.paintSome();
    if (this.whole) store.dirty.clear();
    this.whole = false;
    this.paintOver();
  }

  /** Paints what has changed, and leaves the rest to the next frame when this one is full. */
  private paintSome() {
    const start = performance.now();
    let n = 0;
    for (const node of store.dirty) {
      store.dirty.delete(node);
      this.paintNode(node);
      if (++n % 32 === 0 && performance.now() - start > FRAME_MS) {
        this.soon();
        return;
      }
    }
  }

  private paintAll() {
    const { ctx } = this;
    ctx.fillStyle = this.colors.bg;
    ctx.fillRect(0, 0, this.w, this.h);
    this.cells.clear();
    for (const zone of this.map.zones) this.paintZone(zone.name, zone.x, zone.w, zone.nodes);
  }

  private paintZone(name: string, zx: number, zw: number, nodes: string[]) {
    const { ctx } = this;
    const { tile: t, top } = this.map;
    const left = zx * this.k + this.x;
    const right = left + zw * this.k;
    if (right < 0 || left > this.w) return;
    const first = Math.max(0, Math.floor(((-this.y) / this.k - top) / t.h));
    const last = Math.ceil(((this.h - this.y) / this.k - top) / t.h);
    const zone = this.map.zones.find((z) => z.name === name)!;
    for (const node of nodes.slice(first * zone.columns, (last + 1) * zone.columns)) this.paintNode(node);
    // Its name stays in view while the zone is.
    const y = Math.max(0, this.y + (top - 24) * this.k);
    ctx.font = "600 12px system-ui, sans-serif";
    const title = name || "no zone";
    const told = `${nodes.length}`;
    const w = ctx.measureText(title).width + ctx.measureText(told).width + 16;
    const x = Math.max(left, 4);
    ctx.fillStyle = this.colors.bg;
    ctx.fillRect(x - 2, y + 1, w, 20);
    ctx.fillStyle = this.colors.text;
    ctx.textBaseline = "middle";
    ctx.fillText(title, x, y + 12);
    const after = x + ctx.measureText(title).width + 7;
    ctx.font = "12px system-ui, sans-serif";
    ctx.fillStyle = this.colors.faint;
    ctx.fillText(told, after, y + 12);
  }

  private fill(node: Node): Fill {
    const use = store.use.get(node.name);
    const usage = store.usage.get(node.name);
    const part = (a: number | undefined, b: number) => (b > 0 ? (a ?? 0) / b : 0);
    return {
      cpu: part(use?.cpu, node.cpu), mem: part(use?.mem, node.mem), gpu: part(use?.gpu, node.gpu),
      usedCpu: usage ? part(usage.cpu, node.cpu) : null,
      usedMem: usage ? part(usage.mem, node.mem) : null,
    };
  }

  private paintNode(name: string) {
    const node = store.rows.nodes.get(name);
    const rect = this.rectOf(name);
    if (!node || !rect) return;
    if (rect.x + rect.w < 0 || rect.y + rect.h < 0 || rect.x > this.w || rect.y > this.h) return;
    const { ctx } = this;
    // Only names and hatches reach beyond a tile, and small ones have none.
    const clips = rect.w >= 40;
    if (clips) {
      ctx.save();
      ctx.beginPath();
      ctx.rect(rect.x, rect.y, rect.w, rect.h);
      ctx.clip();
    }
    const shown = tile(ctx, this.colors, rect, node, this.fill(node), () => podsOn(name), this.highlight);
    if (clips) ctx.restore();
    if (shown.length) this.cells.set(name, shown);
    else this.cells.delete(name);
  }

  private begin(motion: Motion) {
    if (still() || document.hidden || this.flights.length >= FLIGHTS_MAX) return;
    const tileAt = this.rectOf(motion.pod.node);
    if (!tileAt) return;
    const cell = this.cells.get(motion.pod.node)?.find((c) => c.pod.id === motion.pod.id);
    const to = cell ?? { x: tileAt.x + tileAt.w / 2 - 3, y: tileAt.y + tileAt.h / 2 - 3, w: 6, h: 6 };
    const from = motion.kind === "bound" ? this.source(motion.pod) : null;
    if (motion.kind === "bound" && !from) return;
    this.flights.push({
      from, to, start: performance.now(), kind: motion.kind,
      color: motion.kind === "bound" ? this.colors.amber
        : motion.pod.disrupted === "PreemptionByScheduler" ? this.colors.violet : this.colors.red,
    });
  }

  private paintOver() {
    const { over } = this;
    over.clearRect(0, 0, this.w, this.h);
    this.outline(this.selected, this.colors.accent, 2, this.selectedPod);
    if (this.hover) this.outline(this.hover.node, this.colors.text, 1, this.hover.pod?.id ?? "");
    const now = performance.now();
    this.flights = this.flights.filter((flight) => this.paintFlight(flight, now));
    if (this.flights.length) this.soon();
  }

  private paintFlight(flight: Flight, now: number): boolean {
    const { over } = this;
    const length = flight.kind === "bound" ? BIND_MS : FADE_MS;
    const t = (now - flight.start) / length;
    if (t >= 1) return false;
    const eased = 1 - (1 - t) ** 3;
    over.fillStyle = flight.color;
    if (flight.from) {
      const { to } = flight;
      const [fx, fy] = flight.from;
      const x = fx + (to.x + to.w / 2 - fx) * eased;
      const y = fy + (to.y + to.h / 2 - fy) * eased;
      over.globalAlpha = 0.95;
      over.fillRect(x - 4, y - 4, 8, 8);
    } else {
      over.globalAlpha = 0.85 * (1 - eased);
      over.fillRect(flight.to.x, flight.to.y, flight.to.w, flight.to.h);
    }
    over.globalAlpha = 1;
    return true;
  }

  private outline(node: string, color: string, width: number, pod: string) {
    if (!node) return;
    const tileAt = this.rectOf(node);
    if (!tileAt) return;
    const cell = pod ? this.cells.get(node)?.find((c) => c.pod.id === pod) : undefined;
    const rect = cell ?? tileAt;
    this.over.strokeStyle = color;
    this.over.lineWidth = width;
    this.over.strokeRect(rect.x - width / 2, rect.y - width / 2, rect.w + width, rect.h + width);
  }

  at(px: number, py: number): Target | null {
    const node = nodeAt(this.map, (px - this.x) / this.k, (py - this.y) / this.k);
    if (!node) return null;
    const cell = this.cells.get(node)?.find(
      (c) => px >= c.x && px < c.x + c.w && py >= c.y && py < c.y + c.h);
    return { node, pod: cell?.pod ?? null };
  }

  /** The neighbour of a node, for arrow keys. */
  neighbour(node: string, dx: number, dy: number): string {
    const place = this.map.places.get(node);
    if (!place) return this.map.zones[0]?.nodes[0] ?? "";
    const [z, at] = place;
    const zone = this.map.zones[z]!;
    const column = (at % zone.columns) + dx;
    const row = Math.floor(at / zone.columns);
    if (column < 0 || column >= zone.columns) {
      const next = this.map.zones[z + dx];
      if (!next) return node;
      const edge = dx > 0 ? 0 : next.columns - 1;
      return next.nodes[Math.min(next.nodes.length - 1, row * next.columns + edge)] ?? node;
    }
    return zone.nodes[(row + dy) * zone.columns + column] ?? node;
  }

  zoom(px: number, py: number, factor: number) {
    const most = Math.max(1, 720 / Math.max(1, this.map.tile.w));
    const k = Math.max(1, Math.min(most, this.k * factor));
    this.x = px - ((px - this.x) / this.k) * k;
    this.y = py - ((py - this.y) / this.k) * k;
    this.k = k;
    this.clamp();
    this.redraw();
  }

  pan(dx: number, dy: number) {
    this.x += dx;
    this.y += dy;
    this.clamp();
    this.redraw();
  }

  reset() {
    this.k = 1;
    this.x = this.y = 0;
    this.redraw();
  }

  /** Brings a node into view. */
  show(node: string) {
    this.relayout();
    const rect = this.rectOf(node);
    if (!rect) return;
    const margin = 40;
    if (rect.x < 0 || rect.x + rect.w > this.w) this.x += this.w / 2 - (rect.x + rect.w / 2);
    if (rect.y < margin || rect.y + rect.h > this.h) this.y += this.h / 2 - (rect.y + rect.h / 2);
    this.clamp();
    this.redraw();
  }

  private clamp() {
    this.x = Math.min(0, Math.max(this.w - this.w * this.k, this.x));
    this.y = Math.min(0, Math.max(this.h - this.h * this.k, this.y));
  }
}

export function podsOn(node: string): Pod[] {
  const out: Pod[] = [];
  for (const id of store.use.get(node)?.pods ?? []) {
    const pod = store.rows.pods.get(id);
    if (pod) out.push(pod);
  }
  return out;
}
