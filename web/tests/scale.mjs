// Measures the page on a large cluster: node tests/scale.mjs LINK KUBECONFIG [PODS]. Long tasks while pods are bound, memory, first paint.

import { readFileSync } from "node:fs";
import https from "node:https";
import { browser, deployment, until } from "./world.mjs";

const [, , link, kubeconfig, pods = "4000"] = process.argv;
const text = readFileSync(kubeconfig, "utf8");
const server = new URL(/server: (\S+)/.exec(text)[1]);
const token = /token: "?([^"\s]+)/.exec(text)[1];
const agent = new https.Agent({ rejectUnauthorized: false });
const api = (method, path, body, type = "application/json") => new Promise((done, fail) => {
  const request = https.request({ host: server.hostname, port: server.port, path, method, agent, headers: { authorization: `Bearer ${token}`, "content-type": type } }, (answer) => {
    answer.resume();
    answer.on("end", () => done(answer.statusCode));
  });
  request.on("error", fail);
  request.end(body && JSON.stringify(body));
});

const chromium = await browser();
const context = await chromium.newContext({ viewport: { width: 1440, height: 900 } });
const window = await context.newPage();
await window.goto(link);
await window.waitForURL((url) => url.pathname === "/");
await window.addInitScript(() => {
  globalThis.long = [];
  new PerformanceObserver((list) => globalThis.long.push(...list.getEntries().map((e) => Math.round(e.duration)))).observe({ type: "longtask", buffered: true });
});
await window.reload();
const start = performance.now();
await window.waitForTimeout(500);
const paint = await window.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
await until(async () => !/reading/i.test(await window.locator("main").innerText().catch(() => "reading")), 120_000);
await window.waitForTimeout(1500);
const loaded = performance.now() - start;
const memory = async () => {
  const session = await context.newCDPSession(window);
  await session.send("HeapProfiler.collectGarbage");
  const { usedJSHeapSize } = await window.evaluate(() => ({ usedJSHeapSize: performance.memory.usedJSHeapSize }));
  const workers = await Promise.all(window.workers().map((w) => w.evaluate(() => performance.memory?.usedJSHeapSize ?? 0)));
  return { page: Math.round(usedJSHeapSize / 1e6), worker: Math.round(workers.reduce((a, b) => a + b, 0) / 1e6) };
};
const sorted = (list) => [...list].sort((a, b) => b - a);
console.log({ firstPaintMs: Math.round(paint), loadedMs: Math.round(loaded), legend: await window.locator(".legend").innerText(), memoryMB: await memory() });
console.log("long tasks while loading:", sorted(await window.evaluate(() => globalThis.long)).slice(0, 10));
await window.evaluate(() => (globalThis.long.length = 0));

const name = `burst-${Date.now().toString(36)}`;
const begun = performance.now();
const rounds = 10;
await api("POST", "/apis/apps/v1/namespaces/shop/deployments", deployment(name, 0, "10m", "8Mi"));
for (let i = 1; i <= rounds; i++) {
  await api("PATCH", `/apis/apps/v1/namespaces/shop/deployments/${name}/scale`, { spec: { replicas: Math.round((Number(pods) / rounds) * i) } }, "application/merge-patch+json");
  await window.waitForTimeout(2000);
}
const seconds = (performance.now() - begun) / 1000;
console.log(`about ${Math.round(Number(pods) / seconds)} pods/s for ${Math.round(seconds)} s; long tasks:`, sorted(await window.evaluate(() => globalThis.long)).slice(0, 10), await memory());
await window.evaluate(() => (globalThis.long.length = 0));
for (const [view, ready] of [["/pending", "pending"], ["/workloads", "Services"], ["/health", "p50"], ["/disruptions", "event"], ["/cluster", "nodes"]]) {
  await window.evaluate((to) => (location.hash = to), view);
  await until(async () => (await window.locator("main").innerText()).includes(ready), 20_000);
  await window.waitForTimeout(1500);
  console.log(view, "long tasks:", sorted(await window.evaluate(() => globalThis.long.splice(0))).slice(0, 5));
}
const frames = await window.evaluate(() => new Promise((done) => {
  const map = globalThis.stowplanMap;
  const times = [];
  let last = performance.now();
  let n = 0;
  const step = (now) => {
    times.push(now - last);
    last = now;
    map.zoom(700, 400, n < 40 ? 1.06 : 1 / 1.06);
    if (++n < 80) requestAnimationFrame(step);
    else done(times.slice(2).sort((a, b) => a - b));
  };
  requestAnimationFrame(step);
}));
console.log("zooming, ms per frame: p50", Math.round(frames[frames.length >> 1]), "p95", Math.round(frames[Math.floor(frames.length * 0.95)]));
await api("DELETE", `/apis/apps/v1/namespaces/shop/deployments/${name}`);
await chromium.close();
