// The cluster: its map fills the window, what waits is below it, and what is selected beside it.

import { useEffect, useRef, useState } from "preact/hooks";
import { bytes, cores, percent, plural } from "../../live/amounts";
import type { Pod } from "../../state/model";
import { store, useStore } from "../../state/store";
import { set as setPlace, timeWindow, usePlace } from "../../state/url";
import { watchUsage } from "../../state/usage";
import { Empty } from "../../ui/parts";
import { plain } from "../../ui/text";
import { within } from "../window";
import { ClusterMap, type Target } from "./map";
import { NodePanel, PodPanel } from "./panel";
import { Strip } from "./strip";

export function Cluster() {
  const { params } = usePlace();
  useStore(250);
  const nodes = store.rows.nodes.size;
  const ready = store.listed("nodes");
  const forbidden = store.kinds.get("nodes")?.state === "forbidden";
  useEffect(watchUsage, []);
  const pod = params.pod ? store.rows.pods.get(params.pod) : undefined;
  const node = params.node ? store.rows.nodes.get(params.node) : undefined;
  return (
    <div class="cluster">
      <div class="cluster-main">
        {forbidden
          ? <Empty title="You may not list nodes">The map needs that right. Pending and Workloads show what you may see.</Empty>
          : ready && nodes === 0
            ? <Empty title="No nodes yet">
              <p>The cluster has none. Simulated ones come with <code>stowplan up --nodes 12</code>.</p>
            </Empty>
            : <MapView />}
        <Legend />
        <Strip />
      </div>
      {params.pod
        ? <PodPanel id={params.pod} pod={pod} />
        : params.node ? <NodePanel name={params.node} node={node} /> : null}
    </div>
  );
}

function summary(target: Target): string {
  const { pod } = target;
  const node = store.rows.nodes.get(target.node);
  if (pod) {
    const asks = [pod.cpu && `${cores(pod.cpu)} cpu`, pod.mem && bytes(pod.mem), pod.gpu && plural(pod.gpu, "GPU")];
    const state = pod.failing || (pod.deleting ? "is being deleted" : pod.phase.toLowerCase());
    return `${pod.id} · ${state} · priority ${pod.prio} · ${asks.filter(Boolean).join(", ") || "asks for nothing"}`;
  }
  if (!node) return target.node;
  const use = store.use.get(node.name);
  const part = (a: number | undefined, b: number) => percent(b ? (a ?? 0) / b : 0);
  const gpu = node.gpu ? `, GPU ${part(use?.gpu, node.gpu)}` : "";
  const state = !node.ready ? "not ready · " : node.cordoned ? "cordoned · " : "";
  return `${node.name} · ${state}requested: cpu ${part(use?.cpu, node.cpu)}, memory ${part(use?.mem, node.mem)}${gpu} · ${plural(use?.pods.size ?? 0, "pod")}`;
}

function MapView() {
  const { params } = usePlace();
  const box = useRef<HTMLDivElement>(null);
  const base = useRef<HTMLCanvasElement>(null);
  const top = useRef<HTMLCanvasElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const map = useRef<ClusterMap | null>(null);
  const [told, tell] = useState("");
  useEffect(() => start(box.current!, base.current!, top.current!, tip.current!, map), []);
  useEffect(() => {
    const m = map.current;
    if (!m) return;
    const pod = params.pod ? store.rows.pods.get(params.pod) : undefined;
    m.selected = params.node || pod?.node || "";
    m.selectedPod = params.pod ?? "";
    if (m.selected) m.show(m.selected);
    m.soon();
  }, [params.node, params.pod]);
  const from = params.from;
  const to = params.to;
  useEffect(() => {
    const m = map.current;
    if (!m) return;
    const range = timeWindow();
    m.highlight = range && new Set([...store.rows.pods.values()].filter((p) => within(p, range)).map((p) => p.id));
    m.redraw();
  }, [from, to]);
  const key = (e: KeyboardEvent) => {
    const m = map.current!;
    const steps: Record<string, [number, number]> = {
      ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
    };
    const step = steps[e.key];
    if (step) {
      const next = m.neighbour(m.selected, ...step);
      setPlace({ node: next, pod: "" }, true);
      tell(summary({ node: next, pod: null }));
    } else if (e.key === "+" || e.key === "=" || e.key === "-") {
      const rect = m.rectOf(m.selected);
      const w = box.current!.clientWidth;
      const h = box.current!.clientHeight;
      m.zoom(rect ? rect.x + rect.w / 2 : w / 2, rect ? rect.y + rect.h / 2 : h / 2, e.key === "-" ? 1 / 1.4 : 1.4);
    } else if (e.key === "0") m.reset();
    else return;
    e.preventDefault();
  };
  return (
    <div class="map" ref={box}>
      <canvas ref={base} aria-hidden="true" />
      <canvas ref={top} class="map-top" tabIndex={0} role="application" onKeyDown={key}
        aria-label={`Map of ${plural(store.rows.nodes.size, "node")}. Arrow keys move between nodes, plus and minus zoom.`} />
      <div class="tip" ref={tip} hidden />
      <div class="hidden" aria-live="polite">{plain(told)}</div>
    </div>
  );
}

function start(
  box: HTMLElement, base: HTMLCanvasElement, top: HTMLCanvasElement, tip: HTMLElement,
  ref: { current: ClusterMap | null },
): () => void {
  const map = new ClusterMap(base, top);
  ref.current = map;
  (window as { stowplanMap?: ClusterMap }).stowplanMap = map;
  map.source = (pod: Pod) => {
    const mark = document.querySelector(`[data-strip="${CSS.escape(pod.id)}"]`) ?? document.querySelector(".strip-marks");
    if (!mark) return null;
    const at = mark.getBoundingClientRect();
    const own = base.getBoundingClientRect();
    return [at.left - own.left + Math.min(at.width, 20) / 2, at.top - own.top + at.height / 2];
  };
  const size = new ResizeObserver(() => map.resize(box.clientWidth, box.clientHeight));
  size.observe(box);
  map.resize(box.clientWidth, box.clientHeight);
  const stop = store.hear(() => map.changed());
  const recolor = () => map.recolor();
  addEventListener("theme", recolor);
  let drag: { x: number; y: number; moved: boolean } | null = null;
  const point = (e: MouseEvent): [number, number] => {
    const own = top.getBoundingClientRect();
    return [e.clientX - own.left, e.clientY - own.top];
  };
  const hover = (e: PointerEvent) => {
    const [x, y] = point(e);
    if (drag) {
      if (drag.moved || Math.hypot(e.clientX - drag.x, e.clientY - drag.y) > 4) {
        map.pan(e.clientX - drag.x, e.clientY - drag.y);
        drag = { x: e.clientX, y: e.clientY, moved: true };
        tip.hidden = true;
      }
      return;
    }
    map.hover = map.at(x, y);
    map.soon();
    tip.hidden = !map.hover;
    if (!map.hover) return;
    tip.textContent = plain(summary(map.hover));
    const w = tip.offsetWidth;
    tip.style.left = `${Math.max(4, Math.min(x + 14, box.clientWidth - w - 6))}px`;
    tip.style.top = `${y + 18 + tip.offsetHeight > box.clientHeight ? y - tip.offsetHeight - 8 : y + 18}px`;
  };
  const leave = () => {
    map.hover = null;
    tip.hidden = true;
    map.soon();
  };
  const down = (e: PointerEvent) => {
    drag = { x: e.clientX, y: e.clientY, moved: false };
    top.setPointerCapture(e.pointerId);
  };
  const up = (e: PointerEvent) => {
    const moved = drag?.moved;
    drag = null;
    if (moved) return;
    const target = map.at(...point(e));
    setPlace(target?.pod ? { pod: target.pod.id, node: "" } : { node: target?.node ?? "", pod: "" });
  };
  const wheel = (e: WheelEvent) => {
    e.preventDefault();
    map.zoom(...point(e), Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0015)));
    leave();
  };
  top.addEventListener("pointermove", hover);
  top.addEventListener("pointerleave", leave);
  top.addEventListener("pointerdown", down);
  top.addEventListener("pointerup", up);
  top.addEventListener("wheel", wheel, { passive: false });
  return () => {
    stop();
    map.stop();
    size.disconnect();
    removeEventListener("theme", recolor);
    ref.current = null;
  };
}

function Legend() {
  const loading = !store.listed("pods", "nodes");
  const pods = store.kinds.get("pods");
  const notReady = [...store.rows.nodes.values()].filter((n) => !n.ready).length;
  const cordoned = [...store.rows.nodes.values()].filter((n) => n.cordoned).length;
  return (
    <div class="legend">
      <span>{plural(store.rows.nodes.size, "node")}</span>
      {notReady > 0 && <span class="red">{notReady} not ready</span>}
      {cordoned > 0 && <span>{cordoned} cordoned</span>}
      <span>{plural(store.rows.pods.size, "pod")}</span>
      {loading && pods && pods.total > 0 && <span class="dim">reading {pods.seen} of {pods.total}</span>}
      <span class="legend-keys" aria-hidden="true">
        <i class="key key-asked" />requested <i class="key key-used" />used <i class="key key-lo" />
        <i class="key key-mid" /><i class="key key-hi" />priority <i class="key key-bad" />failing
        <i class="key key-violet" />preempted <i class="key key-hatch" />cordoned <i class="key key-dead" />not ready
      </span>
    </div>
  );
}

