// What needs no browser: reading objects, schedules, layout.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createServer } from "vite";

let vite, load;
before(async () => {
  vite = await createServer({ root: new URL("..", import.meta.url).pathname, server: { middlewareMode: true, hmr: false, ws: false }, appType: "custom", logLevel: "error", optimizeDeps: { noDiscovery: true } });
  load = (path) => vite.ssrLoadModule(path);
});
after(() => vite.close());

test("quantities are those of the API", async () => {
  const { quantity, span, cores, bytes } = await load("/src/live/amounts.ts");
  const cases = [["250m", 0.25], ["2", 2], ["1Gi", 2 ** 30], ["1.5Ki", 1536], ["1e3", 1000], ["5M", 5e6], ["x", 0]];
  for (const [text, expected] of cases) assert.equal(quantity(text), expected, text);
  assert.deepEqual([span(59_000), span(125_000), span(3_600_000), span(90_000_000)], ["59s", "2m 5s", "1h", "1d 1h"]);
  assert.deepEqual([cores(250), cores(1500), cores(2000), bytes(2 ** 30 * 1.5)], ["250m", "1.5", "2", "1.5Gi"]);
});

test("a pod asks for its containers together, or for its largest init container", async () => {
  const { pod } = await load("/src/live/reduce.ts");
  const of = (cpu, more = {}) => ({ resources: { requests: { cpu } }, ...more });
  const read = (spec) => pod({ metadata: { name: "p", namespace: "n" }, spec }).cpu;
  assert.equal(read({ containers: [of("1"), of("500m")] }), 1500);
  assert.equal(read({ containers: [of("1")], initContainers: [of("3")] }), 3000);
  assert.equal(read({ containers: [of("1")], initContainers: [of("1", { restartPolicy: "Always" })], overhead: { cpu: "100m" } }), 2100);
});

test("reasons of a message", async () => {
  const { reasons } = await load("/src/state/reasons.ts");
  const message = "0/9 nodes are available: 2 Insufficient cpu, 7 node(s) had a, b. no new claims to deallocate, preemption: x.";
  assert.deepEqual(reasons(message), [{ count: 7, text: "node(s) had a, b" }, { count: 2, text: "Insufficient cpu" }]);
});

test("schedules are due when they say", async () => {
  const { next, missed, parse } = await load("/src/views/workloads/cron.ts");
  const at = (text) => Date.parse(text);
  const due = (schedule, zone, from, n = 1) => next(schedule, zone, at(from), n).map((t) => new Date(t).toISOString().slice(0, 16));
  assert.deepEqual(due("*/15 * * * *", "", "2026-01-01T00:01:00Z", 2), ["2026-01-01T00:15", "2026-01-01T00:30"]);
  assert.deepEqual(due("30 3 * * 1-5", "", "2026-01-02T12:00:00Z"), ["2026-01-05T03:30"]);
  assert.deepEqual(due("0 0 13 * fri", "", "2026-01-01T00:00:00Z", 2), ["2026-01-02T00:00", "2026-01-09T00:00"]);
  assert.deepEqual(due("0 9 * * *", "America/New_York", "2026-07-01T00:00:00Z"), ["2026-07-01T13:00"]);
  assert.deepEqual(due("0 0 29 2 *", "", "2026-03-01T00:00:00Z"), ["2028-02-29T00:00"]);
  assert.equal(parse("H * * * *"), null);
  assert.equal(parse("61 * * * *"), null);
  const from = at("2026-01-01T00:00:00Z");
  assert.equal(missed("0 * * * *", "", from, from + 3.5 * 3_600_000, [from + 3_600_000]).length, 2);
});

test("cells fill what they should", async () => {
  const { cells, layout, nodeAt, tileRect } = await load("/src/views/cluster/layout.ts");
  const into = { x: 0, y: 0, w: 100, h: 50 };
  const rects = cells([0.4, 0.2, 0.1], into);
  const areas = rects.map((r) => Math.round((r.w * r.h) / 50) / 100);
  assert.deepEqual(areas, [0.4, 0.2, 0.1]);
  for (const r of rects) assert.ok(r.x >= 0 && r.y >= 0 && r.x + r.w <= 100.01 && r.y + r.h <= 50.01);
  const nodes = ["a-10", "a-2", "b-1"].map((name) => ({ name, zone: name[0] }));
  const map = layout(nodes, 800, 400);
  assert.deepEqual(map.zones.map((z) => z.nodes), [["a-2", "a-10"], ["b-1"]]);
  for (const { name } of nodes) {
    const r = tileRect(map, name);
    assert.equal(nodeAt(map, r.x + r.w / 2, r.y + r.h / 2), name);
  }
});

test("strands: each drop is seen, and no more are drawn than fit", async () => {
  const { share } = await load("/src/views/tournament/strands.ts");
  assert.deepEqual(share([1], 11, 44), { falls: [1], stay: 11 });
  assert.deepEqual(share([12], 0, 44), { falls: [12], stay: 0 });
  const { falls, stay } = share([1, 4990, 3], 6, 44);
  assert.ok(falls.every((n) => n >= 1) && stay >= 1);
  assert.ok(falls.reduce((a, b) => a + b, 0) + stay <= 44);
});

test("a tournament of alike nodes is condensed to groups", async () => {
  const { condense } = await load("/src/tournament/condense.ts");
  const node = (name, cpu) => ({ name, feasible: true, filters: [{ plugin: "A", code: "Success", reasons: [] }], total: cpu, scores: [{ plugin: "S", raw: cpu, normalized: cpu, weight: 1 }] });
  const out = (name) => ({ name, feasible: false, filters: [{ plugin: "A", code: "Success", reasons: [] }, { plugin: "B", code: "Unschedulable", reasons: ["full"] }], rejectedBy: { plugin: "B", code: "Unschedulable", reasons: ["full"] }, scores: [] });
  const nodes = [...Array.from({ length: 100 }, (_, i) => node(`n${i}`, i % 2)), ...Array.from({ length: 20 }, (_, i) => out(`x${i}`))];
  const told = condense({ pod: { namespace: "n", name: "p", requests: {} }, outcome: "Fits", best: nodes.filter((n) => n.total === 1).map((n) => n.name), feasible: 100, totalNodes: 120, nodes });
  assert.deepEqual(told.rows.map((r) => [r.count, r.total, r.best]), [[50, 1, true], [50, 0, false]]);
  assert.deepEqual(told.rounds.map((r) => [r.plugin, r.entered, r.out]), [["A", 120, 0], ["B", 120, 20]]);
});
