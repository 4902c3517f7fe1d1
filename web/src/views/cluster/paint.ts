// Paints tiles. Everything that a tile needs is an argument: nothing is kept between frames.

import type { Node, Pod } from "../../state/model";
import { token } from "../../state/theme";
import { cells, type Rect } from "./layout";

export interface Palette {
  bg: string; tile: string; line: string; strong: string; track: string; bar: string; use: string;
  text: string; dim: string; faint: string; accent: string; amber: string; red: string; violet: string;
  shades: string[];
  inks: string[];
  hatch: CanvasPattern | null;
}

const SHADES = 6;

export function palette(ctx: CanvasRenderingContext2D): Palette {
  const lo = rgb(token("pod-lo"));
  const hi = rgb(token("pod-hi"));
  const shades = Array.from({ length: SHADES }, (_, i) => {
    const t = i / (SHADES - 1);
    return `rgb(${lo.map((v, c) => Math.round(v + (hi[c]! - v) * t)).join(" ")})`;
  });
  const inks = shades.map((_, i) => (i < SHADES / 2 ? token("pod-text") : token("pod-text-hi")));
  return {
    bg: token("bg"), tile: token("tile"), line: token("tile-line"), strong: token("line-strong"),
    track: token("track"), bar: token("bar"), use: token("use"), text: token("text"), dim: token("dim"),
    faint: token("faint"), accent: token("accent"), amber: token("amber-fill"), red: token("red-fill"),
    violet: token("violet-fill"), shades, inks, hatch: hatch(ctx),
  };
}

function rgb(hex: string): number[] {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function hatch(ctx: CanvasRenderingContext2D): CanvasPattern | null {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 8;
  const own = canvas.getContext("2d")!;
  own.strokeStyle = token("line-strong");
  own.lineWidth = 1.2;
  own.beginPath();
  for (const at of [-8, 0, 8]) {
    own.moveTo(at, 8);
    own.lineTo(at + 8, 0);
  }
  own.stroke();
  return ctx.createPattern(canvas, "repeat");
}

/** How dark a pod is: the more important, the darker. */
export function shade(priority: number): number {
  if (priority < 0) return 0;
  if (priority >= 2_000_000_000) return SHADES - 1;
  if (priority === 0) return 1;
  return Math.min(SHADES - 2, 2 + Math.floor(Math.log10(priority) / 3));
}

export function share(pod: Pod, node: Node): number {
  const part = (a: number, b: number) => (b > 0 ? a / b : 0);
  return Math.max(0.006, part(pod.cpu, node.cpu), part(pod.mem, node.mem), part(pod.gpu, node.gpu));
}

export interface Fill {
  cpu: number; mem: number; gpu: number;
  usedCpu: number | null; usedMem: number | null;
}

export interface Cell extends Rect {
  pod: Pod;
}

const FONT = "11px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

/** Paints one tile at its place on the screen; returns where its pods are, if they are shown. */
export function tile(
  ctx: CanvasRenderingContext2D, p: Palette, at: Rect, node: Node, fill: Fill, pods: () => Pod[], dim: Set<string> | null,
): Cell[] {
  const small = at.w < 10 || at.h < 9;
  const dead = !node.ready;
  ctx.fillStyle = dead ? p.bg : p.tile;
  ctx.fillRect(at.x, at.y, at.w, at.h);
  if (small) {
    dot(ctx, p, at, node, fill);
    return [];
  }
  if (node.cordoned && p.hatch) {
    ctx.fillStyle = p.hatch;
    ctx.fillRect(at.x, at.y, at.w, at.h);
  }
  const named = at.w >= 84 && at.h >= 56;
  const head = named ? 18 : 0;
  const pad = at.w >= 56 ? Math.min(6, at.w * 0.05) : at.w >= 20 ? 2 : 0;
  const withPods = at.w >= 36 && at.h >= 26;
  const inner = { x: at.x + pad, y: at.y + head + pad, w: at.w - 2 * pad, h: at.h - head - 2 * pad };
  const room = withPods ? Math.max(9, Math.min(42, inner.w * 0.2)) : inner.w;
  if (!dead) bars(ctx, p, { ...inner, w: room }, node, fill);
  let shown: Cell[] = [];
  if (withPods && !dead) {
    const gap = Math.max(2, pad);
    const area = { x: inner.x + room + gap, y: inner.y, w: inner.w - room - gap, h: inner.h };
    shown = podCells(ctx, p, area, node, pods(), dim);
  } else if (withPods && dead) {
    const area = { x: inner.x, y: inner.y, w: inner.w, h: inner.h };
    shown = podCells(ctx, p, area, node, pods(), dim, true);
  }
  if (pad === 0 && !dead) return shown;
  ctx.lineWidth = dead ? 1.5 : 1;
  ctx.strokeStyle = dead ? p.red : p.line;
  if (dead) ctx.setLineDash([4, 3]);
  ctx.strokeRect(at.x + 0.5, at.y + 0.5, at.w - 1, at.h - 1);
  ctx.setLineDash([]);
  if (named) title(ctx, p, at, node, pad);
  return shown;
}

function title(ctx: CanvasRenderingContext2D, p: Palette, at: Rect, node: Node, pad: number) {
  ctx.font = FONT;
  ctx.textBaseline = "middle";
  const note = !node.ready ? "not ready" : node.cordoned ? "cordoned" : node.fault ? node.fault : "";
  const room = at.w - 2 * pad;
  const right = note && at.w > 150 ? ctx.measureText(note).width + 8 : 0;
  ctx.fillStyle = node.ready ? p.dim : p.red;
  ctx.fillText(cut(ctx, node.name, room - right), at.x + pad, at.y + pad / 2 + 10);
  if (right) {
    ctx.textAlign = "right";
    ctx.fillStyle = node.ready ? p.faint : p.red;
    ctx.fillText(note, at.x + at.w - pad, at.y + pad / 2 + 10);
    ctx.textAlign = "left";
  }
}

/** As much of a text as there is room for. */
function cut(ctx: CanvasRenderingContext2D, text: string, room: number): string {
  if (ctx.measureText(text).width <= room) return text;
  const each = ctx.measureText("x").width;
  const keep = Math.floor(room / each) - 1;
  if (keep < 3) return "";
  // The beginning says whose it is, and the end tells it from its like.
  const tail = keep < 9 ? 0 : Math.min(5, Math.floor(keep / 3));
  return `${text.slice(0, keep - tail)}…${tail ? text.slice(-tail) : ""}`;
}

function dot(ctx: CanvasRenderingContext2D, p: Palette, at: Rect, node: Node, fill: Fill) {
  if (!node.ready) {
    ctx.strokeStyle = p.red;
    ctx.lineWidth = 1;
    ctx.strokeRect(at.x + 0.5, at.y + 0.5, Math.max(1, at.w - 1), Math.max(1, at.h - 1));
    return;
  }
  const top = Math.min(1, Math.max(fill.cpu, fill.mem, fill.gpu));
  const h = at.h * top;
  ctx.fillStyle = node.cordoned ? p.line : p.bar;
  ctx.fillRect(at.x, at.y + at.h - h, at.w, h);
}

function bars(ctx: CanvasRenderingContext2D, p: Palette, at: Rect, node: Node, fill: Fill) {
  const parts: [number, number | null][] = [[fill.cpu, fill.usedCpu], [fill.mem, fill.usedMem]];
  if (node.gpu > 0) parts.push([fill.gpu, null]);
  const gap = at.w > 26 ? 3 : at.w > 12 ? 2 : 1;
  const whole = (at.w - gap * (parts.length - 1)) / parts.length;
  const w = whole >= 3 ? Math.floor(whole) : whole;
  if (w <= 0) return;
  parts.forEach(([asked, used], i) => {
    const x = at.x + i * (w + gap);
    ctx.fillStyle = p.track;
    ctx.fillRect(x, at.y, w, at.h);
    const h = at.h * Math.min(1, asked);
    ctx.fillStyle = p.bar;
    ctx.fillRect(x, at.y + at.h - h, w, h);
    if (used !== null && w >= 6) {
      const line = Math.max(1, Math.min(3, w * 0.28));
      const uh = at.h * Math.min(1, used);
      ctx.fillStyle = p.use;
      ctx.fillRect(x + (w - line) / 2, at.y + at.h - uh, line, uh);
    }
  });
}

function podCells(
  ctx: CanvasRenderingContext2D, p: Palette, at: Rect, node: Node, pods: Pod[], dim: Set<string> | null, hollow = false,
): Cell[] {
  if (at.w < 4 || at.h < 4) return [];
  const sized = pods.map((pod) => ({ pod, size: share(pod, node) }));
  sized.sort((a, b) => b.size - a.size || (a.pod.id < b.pod.id ? -1 : 1));
  const rects = cells(sized.map(({ size }) => size), at);
  return rects.map((rect, i) => {
    const { pod } = sized[i]!;
    const cell = { ...rect, pod };
    paintPod(ctx, p, cell, hollow, dim !== null && !dim.has(pod.id));
    return cell;
  });
}

function paintPod(ctx: CanvasRenderingContext2D, p: Palette, cell: Cell, hollow: boolean, faded: boolean) {
  const { pod } = cell;
  const inset = Math.min(cell.w, cell.h) > 7 ? 0.75 : 0.35;
  const x = cell.x + inset;
  const y = cell.y + inset;
  const w = Math.max(0.8, cell.w - 2 * inset);
  const h = Math.max(0.8, cell.h - 2 * inset);
  const at = shade(pod.prio);
  ctx.globalAlpha = faded ? 0.18 : 1;
  const starting = pod.phase === "Pending" && !pod.failing;
  const ink = pod.failing ? p.red : pod.disrupted ? p.violet : null;
  if (hollow || pod.deleting || starting) {
    ctx.strokeStyle = ink ?? (starting ? p.strong : p.faint);
    ctx.lineWidth = 1;
    if (pod.deleting) ctx.setLineDash([2, 2]);
    ctx.strokeRect(x + 0.5, y + 0.5, Math.max(0.5, w - 1), Math.max(0.5, h - 1));
    ctx.setLineDash([]);
  } else {
    ctx.fillStyle = ink ?? p.shades[at]!;
    ctx.fillRect(x, y, w, h);
    if (pod.failing && w > 8 && h > 8) {
      ctx.strokeStyle = p.bg;
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      ctx.moveTo(x + w / 2 - 3, y + h / 2 - 3);
      ctx.lineTo(x + w / 2 + 3, y + h / 2 + 3);
      ctx.moveTo(x + w / 2 + 3, y + h / 2 - 3);
      ctx.lineTo(x + w / 2 - 3, y + h / 2 + 3);
      ctx.stroke();
    }
  }
  if (w > 46 && h > 15) {
    ctx.font = FONT;
    ctx.textBaseline = "middle";
    ctx.fillStyle = hollow || pod.deleting || starting ? p.dim : ink ? p.bg : p.inks[at]!;
    const text = cut(ctx, pod.name, w - 8);
    if (text) ctx.fillText(text, x + 4, y + Math.min(h / 2, 11) + 0.5);
  }
  ctx.globalAlpha = 1;
}
