// What waits, under the map: oldest first, grouped by reason.

import { useEffect, useState } from "preact/hooks";
import { count, span } from "../../live/amounts";
import { groups, type Waiting } from "../../state/reasons";
import { store, useNow, useStore } from "../../state/store";
import { href } from "../../state/url";
import { Mark } from "../../ui/parts";
import { plain } from "../../ui/text";

const SHOWN = 6;
const MARKS = 40;

export function Strip() {
  useStore(250);
  const now = useNow();
  const all = groups(store.pending.values());
  if (all.length === 0) {
    return (
      <section class="strip strip-calm" aria-label="Pending">
        <Mark state="ok" /> <span class="strip-marks">{store.listed("pods") ? "Nothing waits." : "Reading the cluster…"}</span>
      </section>
    );
  }
  return (
    <section class="strip" aria-label="Pending">
      <h2 class="strip-title">
        <a href={href("pending")}><b>{count(store.pending.size)}</b> pending</a>
      </h2>
      <div class="strip-groups">
        {all.slice(0, SHOWN).map((group) => <Group key={group.key} group={group} now={now} />)}
        {all.length > SHOWN && <a class="strip-more" href={href("pending")}>{all.length - SHOWN} more reasons</a>}
      </div>
    </section>
  );
}

function Group({ group, now }: { group: Waiting; now: number }) {
  const help = useHelp(group);
  return (
    <a class="strip-group" href={href("pending", { reason: group.key })}>
      <span class="strip-marks" aria-hidden="true">
        {group.pods.slice(0, MARKS).map((pod) => <i key={pod.id} data-strip={pod.id} class={`cell cell-${group.kind}`} />)}
      </span>
      <span class="strip-head">
        <b>{count(group.pods.length)}</b>
        <span class="strip-reason">{plain(group.title)}</span>
        <span class="strip-wait">{span(now - group.oldest.created)}</span>
      </span>
      <span class="strip-help">{plain(help) || "\u00a0"}</span>
    </a>
  );
}

const kept = new Map<string, { message: string; text: string }>();

/** What would make the oldest of a group fit. The scheduler is asked once per message. */
export function useHelp(group: Waiting): string {
  const { oldest, kind } = group;
  const [, again] = useState(0);
  useEffect(() => {
    if (kind !== "unfit") return;
    const known = kept.get(group.key);
    if (known?.message === oldest.message) return;
    kept.set(group.key, { message: oldest.message, text: known?.text ?? "" });
    store.tournament(oldest.ns, oldest.name).then((told) => {
      const first = told.help?.[0];
      kept.set(group.key, { message: oldest.message, text: first ? first.change : "" });
      again((n) => n + 1);
    }, () => void kept.delete(group.key));
  }, [group.key, oldest.id, oldest.message]);
  if (kind === "gated") return "remove the gates";
  return kept.get(group.key)?.text ?? "";
}
