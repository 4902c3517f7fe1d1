// What nodes use. The metrics API knows no watches: it is asked every 15 seconds while somebody looks, as often as
// kubelets measure.

import { ask } from "../api/request";
import { quantity } from "../live/amounts";
import { store } from "./store";

const EVERY = 15_000;

interface Metrics {
  items: { metadata: { name: string }; usage: { cpu: string; memory: string } }[];
}

export function watchUsage(): () => void {
  let stopped = false;
  let timer = 0;
  const look = async () => {
    if (!document.hidden && store.link === "live") {
      try {
        const list = await ask<Metrics>("/apis/metrics.k8s.io/v1beta1/nodes");
        if (stopped) return;
        store.usage = new Map(list.items.map((item) => [
          item.metadata.name,
          { cpu: quantity(item.usage.cpu) * 1000, mem: quantity(item.usage.memory) },
        ]));
        store.layout += 0;
        for (const name of store.rows.nodes.keys()) store.dirty.add(name);
        store.told();
      } catch {
        // A cluster without a metrics server shows requests only.
      }
    }
    if (!stopped) timer = setTimeout(look, EVERY) as unknown as number;
  };
  timer = setTimeout(look, store.rows.nodes.size ? 0 : 600) as unknown as number;
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
