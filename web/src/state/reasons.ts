// Why pods wait, in groups.

import type { Pod } from "./model";

export interface Waiting {
  key: string;
  title: string;
  pods: Pod[];
  oldest: Pod;
  kind: "unfit" | "gated" | "new" | "nobody" | "making-room";
}

/** The reasons of `0/5 nodes are available: 2 x, 3 y. preemption: …`, most nodes first. */
export function reasons(message: string): { count: number; text: string }[] {
  const at = message.indexOf(" nodes are available: ");
  if (at < 0) return [];
  let list = message.slice(at + " nodes are available: ".length);
  const end = list.indexOf(". ");
  if (end >= 0) list = list.slice(0, end);
  list = list.replace(/\.$/, "");
  const out: { count: number; text: string }[] = [];
  for (const part of list.split(", ")) {
    const match = /^(\d+) (.+)$/.exec(part);
    if (match) out.push({ count: Number(match[1]), text: match[2]! });
    else if (out.length) out.at(-1)!.text += `, ${part}`;
  }
  return out.sort((a, b) => b.count - a.count);
}

export function title(pod: Pod): { key: string; title: string; kind: Waiting["kind"] } {
  if (pod.gated) return { key: "gated", title: "held back by scheduling gates", kind: "gated" };
  if (pod.nominated) return { key: "room", title: "room is being made by preemption", kind: "making-room" };
  if (!pod.tried) return { key: "new", title: "waiting to be tried", kind: "new" };
  const found = reasons(pod.message);
  if (found.length) {
    const text = found.map(({ text }) => text).join(", ");
    const key = found.map(({ text }) => text).sort().join("|");
    return { key, title: text, kind: "unfit" };
  }
  return { key: pod.message, title: pod.message || "no reason was told", kind: "unfit" };
}

export function groups(pods: Iterable<Pod>): Waiting[] {
  const out = new Map<string, Waiting>();
  for (const pod of pods) {
    const { key, title: text, kind } = title(pod);
    const group = out.get(key);
    if (!group) out.set(key, { key, title: text, kind, pods: [pod], oldest: pod });
    else {
      group.pods.push(pod);
      if (pod.created < group.oldest.created) group.oldest = pod;
    }
  }
  return [...out.values()].sort((a, b) => a.oldest.created - b.oldest.created);
}
