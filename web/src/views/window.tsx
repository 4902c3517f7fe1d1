// The window of time that was brushed on the timeline; it filters every view.

import { clock } from "../live/amounts";
import type { Job, Pod } from "../state/model";
import { set, timeWindow, usePlace } from "../state/url";

/** Whether something happened to a pod in this time. */
export function within(pod: Pod, [from, to]: [number, number]): boolean {
  const inside = (at: number) => at >= from && at <= to;
  return inside(pod.created) || inside(pod.bound) || inside(pod.started) || inside(pod.deleting);
}

export function jobWithin(job: Job, [from, to]: [number, number]): boolean {
  return job.created <= to && (job.ended || Infinity) >= from;
}

export function WindowChip() {
  usePlace();
  const range = timeWindow();
  if (!range) return null;
  return (
    <button type="button" class="chip" onClick={() => set({ from: "", to: "" })}
      title="Every view shows what happened in this time. Press to show all.">
      {clock(range[0])} to {clock(range[1])} <span aria-hidden="true">✕</span>
      <span class="hidden">Show all times</span>
    </button>
  );
}
