// A pod that does not exist: paste it, change it, see its rounds.

import { useEffect, useRef, useState } from "preact/hooks";
import { store, useStore } from "../state/store";
import { set, usePlace } from "../state/url";
import type { Tournament } from "../tournament/model";
import { Empty } from "../ui/parts";
import { plain } from "../ui/text";
import { Rounds } from "./tournament/rounds";

const SAMPLE = `apiVersion: v1
kind: Pod
metadata:
  name: maybe
  labels: {app: web}
spec:
  containers:
  - name: web
    image: nginx
    resources:
      requests: {cpu: "1", memory: 1Gi}
`;
const PAUSE = 450;

export function WhatIf() {
  useStore(1000);
  const { params } = usePlace();
  const ns = params.ns || "default";
  const yaml = params.yaml ?? SAMPLE;
  const [told, tell] = useState<Tournament | null>(null);
  const [error, fail] = useState("");
  const [busy, work] = useState(false);
  const turn = useRef(0);
  useEffect(() => {
    const own = ++turn.current;
    const timer = setTimeout(() => {
      work(true);
      store.whatif(ns, yaml).then(
        (answer) => {
          if (own !== turn.current) return;
          tell(answer);
          fail("");
          work(false);
        },
        (error: Error & { code?: number }) => {
          if (own !== turn.current) return;
          fail(error.code === 404 || error.code === 405 ? "This cluster's scheduler does not answer questions about pods that do not exist." : error.message);
          work(false);
        });
    }, PAUSE);
    return () => clearTimeout(timer);
  }, [ns, yaml]);
  const spaces = [...new Set(["default", ns, ...[...store.rows.pods.values()].slice(0, 20_000).map((p) => p.ns)])].sort();
  return (
    <div class="whatif">
      <section class="whatif-edit" aria-label="The pod">
        <h1 class="view-title">What if there were this pod?</h1>
        <p class="dim">Nothing is created. It is looked at as the cluster is now, with defaults and priorities as if it were.</p>
        <label class="select"><span>Namespace</span>
          <select value={ns} onChange={(e) => set({ ns: e.currentTarget.value }, true)}>{spaces.map((s) => <option key={s} value={s}>{plain(s)}</option>)}</select>
        </label>
        <label class="yaml"><span class="hidden">Pod as YAML</span>
          <textarea spellcheck={false} value={yaml} onInput={(e) => set({ yaml: e.currentTarget.value }, true)} /></label>
        <p class={`whatif-state ${error ? "red" : "dim"}`} role="status">{error ? plain(error) : busy ? "Playing the rounds…" : told ? "This is how it would go." : ""}</p>
      </section>
      <section class={`whatif-rounds ${error ? "stale" : ""}`} aria-label="Its rounds">
        {told ? <Rounds told={told} /> : <Empty title={error ? "No rounds to show" : "Playing the rounds…"} />}
      </section>
    </div>
  );
}
