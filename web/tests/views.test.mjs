// Each view loads without an error, shows what the API says, and follows within a second.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, deployment, furnish, go, until, up, visit } from "./world.mjs";

const FAST = 1000;
let world, chromium, tab;

before(async () => {
  world = await up(["--nodes", "6", "--zones", "a,b,c"]);
  chromium = await browser();
  await furnish(world);
  tab = await visit(chromium, world.link);
});
after(async () => {
  await chromium?.close();
  await world?.stop();
});

const says = (text) => tab.window.locator("main").innerText().then((all) => all.includes(text));

test("the map shows all nodes and pods", async () => {
  await go(tab.window, "/cluster");
  const nodes = (await world.api("GET", "/api/v1/nodes")).body.items.length;
  const pods = (await world.api("GET", "/api/v1/pods")).body.items.length;
  await until(() => says(`${nodes} nodes`));
  await until(() => says(`${pods} pods`));
  assert.deepEqual(tab.errors, []);
});

test("a node's panel counts as the API does, and says when it is cordoned", async () => {
  const { body: pods } = await world.api("GET", "/api/v1/pods?fieldSelector=status.phase=Running");
  const name = pods.items[0].spec.nodeName;
  const there = pods.items.filter((pod) => pod.spec.nodeName === name).length;
  await go(tab.window, `/cluster?node=${name}`);
  await until(() => says(there === 1 ? "1 pod\n" : `${there} pods\n`));
  await world.api("PATCH", `/api/v1/nodes/${name}`, { spec: { unschedulable: true } }, "application/merge-patch+json");
  const took = await until(() => says("Cordoned: takes no new pods"));
  assert.ok(took < FAST, `${took} ms`);
  await world.api("PATCH", `/api/v1/nodes/${name}`, { spec: { unschedulable: null } }, "application/merge-patch+json");
  await until(() => says("Ready"));
});

test("pending pods are told with the scheduler's reasons and what would help", async () => {
  await go(tab.window, "/pending");
  await until(() => says("Insufficient cpu"));
  await until(() => says("free on node-"));
  const pods = (await world.api("GET", "/api/v1/pods?fieldSelector=spec.nodeName=,status.phase=Pending")).body.items;
  assert.ok(await says(`${pods.length} pod pending`));
  await world.api("POST", "/apis/apps/v1/namespaces/shop/deployments", deployment("nvme", 2, "1m", "1Mi", { nodeSelector: { disk: "nvme" } }));
  const took = await until(() => says("3 pods pending"));
  assert.ok(took < FAST, `${took} ms`);
  await world.api("DELETE", "/apis/apps/v1/namespaces/shop/deployments/nvme");
  await until(() => says("1 pod pending"));
});

test("a bound pod's tournament has every score of the scheduler, and its winner", async () => {
  const { body: pods } = await world.api("GET", "/api/v1/namespaces/shop/pods?labelSelector=app=web");
  const pod = pods.items[0];
  const at = `/apis/stowplan.dev/v1/namespaces/shop/decisions/${pod.metadata.name}/tournament`;
  let told;
  await until(async () => (told = await world.api("GET", at)).code === 200);
  await go(tab.window, `/tournament?pod=shop/${pod.metadata.name}`);
  await until(() => says("Winner of"));
  assert.equal(await tab.window.locator(".stage-winner").innerText(), pod.spec.nodeName);
  const best = told.body.nodes.find((node) => node.name === pod.spec.nodeName);
  const row = await tab.window.locator("tr.won .num").allInnerTexts();
  const expected = [...best.scores.map((s) => s.normalized * s.weight), best.total].map(String);
  assert.deepEqual(row, expected);
});

test("a pod that fits nowhere loses all nodes at a filter", async () => {
  const { body: pods } = await world.api("GET", "/api/v1/namespaces/shop/pods?labelSelector=app=huge");
  await go(tab.window, `/tournament?pod=shop/${pods.items[0].metadata.name}`);
  await until(() => says("fits nowhere"));
  assert.ok(await says("−6 too little cpu, memory"));
  assert.ok(await says("What would make it fit"));
});

test("preemption names its victims, the rule, and is on the timeline with who did it", async () => {
  const post = (name, prio, cpu) => world.api("POST", "/api/v1/namespaces/shop/pods", {
    metadata: { name }, spec: {
      ...(prio ? { priorityClassName: "high" } : {}), nodeSelector: { "kubernetes.io/hostname": "node-a-1" },
      terminationGracePeriodSeconds: 0,
      containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }],
    },
  });
  const free = (await world.api("GET", "/api/v1/nodes/node-a-1")).body.status.allocatable.cpu;
  await post("low", false, String(Math.floor(Number(free) / 2) + 1));
  await until(async () => (await world.api("GET", "/api/v1/namespaces/shop/pods/low")).body.spec?.nodeName);
  await post("top", true, String(Math.floor(Number(free) / 2) + 1));
  await go(tab.window, "/disruptions");
  await until(() => says("shop/low"));
  await until(() => says("shop/top"));
  assert.ok(await says("preempted"));
});

test("workloads show what is ready, their zones and their headroom", async () => {
  await go(tab.window, "/workloads?of=services");
  await until(() => says("6 of 6"));
  assert.ok(await says("1 of 6 may go"));
  await world.api("PATCH", "/apis/apps/v1/namespaces/shop/deployments/web/scale", { spec: { replicas: 7 } }, "application/merge-patch+json");
  const took = await until(() => says("7 of 7"), 15_000);
  assert.ok(took < 5000, `${took} ms`);
  for (const [of, text] of [["jobs", "shop/once"], ["schedules", "shop/tick"], ["budgets", "at least 5 available"], ["quotas", "50"]]) {
    await go(tab.window, `/workloads?of=${of}`);
    await until(() => says(text));
  }
});

test("health answers its questions", async () => {
  await go(tab.window, "/health");
  for (const text of ["How long do pods wait?", "Why do they fail?", "How full are nodes?", "How fast do we decide?"]) {
    await until(() => says(text));
  }
  await until(() => says("p50"));
});

test("a pod that does not exist has rounds, which change with it", async () => {
  await go(tab.window, "/whatif");
  await until(() => says("Winner of"));
  const yaml = tab.window.locator("textarea");
  const text = await yaml.inputValue();
  await yaml.fill(text.replace('cpu: "1"', 'cpu: "99"'));
  await until(() => says("fits nowhere"));
  await yaml.fill("nonsense: [");
  await until(() => tab.window.locator(".whatif-state.red").count());
  assert.equal((await world.api("GET", "/api/v1/namespaces/default/pods/maybe")).code, 404);
});

test("the address holds the view, and keys lead to others", async () => {
  await go(tab.window, "/cluster");
  await tab.window.keyboard.press("g");
  await tab.window.keyboard.press("p");
  await until(() => tab.window.url().endsWith("#/pending"));
  await tab.window.keyboard.press("/");
  await tab.window.keyboard.type("node-b-1");
  await tab.window.keyboard.press("Enter");
  await until(() => tab.window.url().includes("node=node-b-1"));
  await tab.window.keyboard.press("Escape");
  await until(() => !tab.window.url().includes("node="));
  await tab.window.keyboard.press("?");
  await tab.window.getByRole("dialog").waitFor();
  await tab.window.keyboard.press("Escape");
  await until(async () => (await tab.window.getByRole("dialog").count()) === 0);
});

test("nothing went wrong in the console", () => {
  // What is no YAML is refused by the API, and the browser notes that.
  assert.deepEqual(tab.errors.filter((text) => !/^4(00|22|29) .*\/decisions/.test(text)), []);
});
