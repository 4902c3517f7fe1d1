// A cluster of its own for each test file: `stowplan up` in memory, its API, a browser with a session.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const STOWPLAN = process.env.STOWPLAN ?? new URL("../../target/debug/stowplan", import.meta.url).pathname;
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--enable-precise-memory-info",
];

export function browser() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
}

/** Starts a command of stowplan and waits for the lines that begin so. */
function start(args, wanted) {
  const child = spawn(STOWPLAN, args, { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  let errors = "";
  child.stderr.on("data", (data) => (errors = (errors + data).slice(-4000)));
  const found = new Promise((done, fail) => {
    child.stdout.on("data", (data) => {
      said += data;
      const lines = wanted.map((name) => new RegExp(`^${name}: (.+)$`, "m").exec(said)?.[1]);
      if (lines.every(Boolean)) done(lines);
    });
    child.on("exit", (code) => fail(new Error(`stowplan ${args[0]} ended with ${code}: ${errors}`)));
    setTimeout(() => fail(new Error(`stowplan ${args[0]} says only ${said} ${errors}`)), 60_000).unref();
  });
  const stop = () => new Promise((done) => {
    if (child.exitCode !== null) return done();
    child.on("exit", done);
    child.kill("SIGTERM");
  });
  return { found, stop };
}

export async function up(more = []) {
  const folder = mkdtempSync(join(tmpdir(), "stowplan-page-"));
  const flags = ["up", "--memory", "--data-dir", folder, "--listen", "127.0.0.1:0", "--page-listen", "127.0.0.1:0"];
  const { found, stop } = start([...flags, ...more], ["kubeconfig", "page"]);
  const [kubeconfig, link] = await found;
  const text = readFileSync(kubeconfig, "utf8");
  const server = new URL(/server: (\S+)/.exec(text)[1]);
  const token = /token: "?([^"\s]+)/.exec(text)[1];
  const world = {
    kubeconfig, link, folder, base: new URL(link).origin,
    api: (method, path, body, type) => call(server, token, method, path, body, type),
    stop: async () => {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return world;
}

export async function page(kubeconfig) {
  const { found, stop } = start(["page", "--kubeconfig", kubeconfig, "--page-listen", "127.0.0.1:0"], ["page"]);
  const [link] = await found;
  return { link, base: new URL(link).origin, stop };
}

const agent = new https.Agent({ rejectUnauthorized: false, keepAlive: true });

function call(server, token, method, path, body, type = "application/json") {
  return new Promise((done, fail) => {
    const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
    if (body !== undefined) headers["content-type"] = type;
    const options = { host: server.hostname, port: server.port, path, method, agent, headers };
    const request = https.request(options, (answer) => {
      let text = "";
      answer.on("data", (data) => (text += data));
      answer.on("end", () => done({ code: answer.statusCode, body: text ? JSON.parse(text) : null }));
    });
    request.on("error", fail);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** With PAGE_DIST the files of that folder take the place of those in the binary, so that nothing has to be built anew. */
async function overlay(context) {
  const folder = process.env.PAGE_DIST;
  if (!folder) return;
  await context.route(/\/(app\.js|app\.css)$/, async (route) => {
    const response = await route.fetch();
    const name = new URL(route.request().url()).pathname.slice(1);
    await route.fulfill({ response, body: readFileSync(join(folder, name)) });
  });
}

/** A window of a browser that has a session; what its console says is kept. */
export async function visit(chromium, link, options = {}) {
  const context = await chromium.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: "dark", ...options });
  await overlay(context);
  const window = await context.newPage();
  const errors = [];
  // What was refused is told with its address, which the console leaves out.
  window.on("console", (message) => message.type() === "error" && !/Failed to load resource/.test(message.text()) && errors.push(message.text()));
  window.on("response", (answer) => answer.status() >= 400 && errors.push(`${answer.status()} ${new URL(answer.url()).pathname}`));
  window.on("pageerror", (error) => errors.push(error.message));
  await window.goto(link);
  await window.waitForURL((url) => url.pathname === "/", { timeout: 15_000 });
  await window.getByText("Live", { exact: true }).waitFor();
  return { window, context, errors, base: new URL(link).origin };
}

export function go(window, hash) {
  return window.evaluate((to) => {
    location.hash = to;
  }, hash);
}

/** Until something is true; how long that took, in milliseconds. */
export async function until(check, limit = 10_000) {
  const start = performance.now();
  for (;;) {
    if (await check()) return performance.now() - start;
    if (performance.now() - start > limit) throw new Error(`still not so after ${limit} ms: ${check}`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

const container = (cpu, memory, command) => ({
  name: "c", image: "nginx", resources: { requests: { cpu, memory } }, ...(command ? { command } : {}),
});

export const deployment = (name, replicas, cpu = "500m", memory = "256Mi", spec = {}) => ({
  metadata: { name },
  spec: {
    replicas, selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [container(cpu, memory)], ...spec } },
  },
});

export const cron = (name, schedule, command = ["sleep", "5"]) => ({
  metadata: { name },
  spec: {
    schedule,
    jobTemplate: { spec: { backoffLimit: 0, template: { spec: { restartPolicy: "Never", containers: [container("100m", "64Mi", command)] } } } },
  },
});

/** A little of everything: services, a pod that fits nowhere, a budget, a quota, jobs, a schedule. */
export async function furnish(world) {
  const { api } = world;
  const made = async (path, body) => {
    const { code, body: said } = await api("POST", path, body);
    if (code !== 201) throw new Error(`${path}: ${code} ${said?.message}`);
  };
  await made("/api/v1/namespaces", { metadata: { name: "shop" } });
  await made("/apis/scheduling.k8s.io/v1/priorityclasses", { metadata: { name: "high" }, value: 100000 });
  await made("/apis/apps/v1/namespaces/shop/deployments", deployment("web", 6));
  await made("/apis/apps/v1/namespaces/shop/deployments", deployment("huge", 1, "64", "300Gi"));
  await made("/apis/policy/v1/namespaces/shop/poddisruptionbudgets", { metadata: { name: "web" }, spec: { minAvailable: 5, selector: { matchLabels: { app: "web" } } } });
  await made("/api/v1/namespaces/shop/resourcequotas", { metadata: { name: "team" }, spec: { hard: { pods: "50" } } });
  await made("/apis/batch/v1/namespaces/shop/cronjobs", cron("tick", "0 0 * * *"));
  await made("/apis/batch/v1/namespaces/shop/jobs", { metadata: { name: "once" }, ...cron("x", "").spec.jobTemplate });
  await until(async () => {
    const { body } = await api("GET", "/apis/apps/v1/namespaces/shop/deployments/web/status");
    return body.status?.readyReplicas === 6;
  }, 30_000);
}
