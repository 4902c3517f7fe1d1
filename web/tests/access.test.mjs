// No serious fault in the eyes of axe-core, in both themes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { browser, furnish, go, until, up, visit } from "./world.mjs";

const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
let world, chromium, pods;

before(async () => {
  world = await up(["--nodes", "6", "--zones", "a,b,c"]);
  chromium = await browser();
  await furnish(world);
  pods = (await world.api("GET", "/api/v1/namespaces/shop/pods")).body.items;
});
after(async () => {
  await chromium?.close();
  await world?.stop();
});

test("no view has a serious fault", async () => {
  const named = (start) => pods.find((pod) => pod.metadata.name.startsWith(start)).metadata.name;
  const first = await visit(chromium, world.link);
  const state = await first.context.storageState();
  for (const colorScheme of ["dark", "light"]) {
    // axe is injected by the test, past the policy that keeps everything else out.
    const context = await chromium.newContext({ storageState: state, colorScheme, bypassCSP: true, viewport: { width: 1440, height: 900 } });
    const window = await context.newPage();
    await window.goto(world.base);
    await window.getByText("Live", { exact: true }).waitFor();
    await window.evaluate(axe);
    for (const place of [
      "/cluster", "/cluster?node=node-a-1", `/cluster?pod=shop/${named("web")}`, "/pending", "/tournament",
      `/tournament?pod=shop/${named("web")}`, `/tournament?pod=shop/${named("huge")}`, "/workloads?of=services",
      "/workloads?of=jobs", "/workloads?of=schedules", "/workloads?of=budgets", "/workloads?of=quotas",
      "/disruptions", "/health", "/whatif",
    ]) {
      await go(window, place);
      await until(async () => !/Reading the cluster|Playing the/.test(await window.locator("main").innerText()));
      await window.waitForTimeout(150);
      const { violations } = await window.evaluate(() => globalThis.axe.run());
      const bad = violations.filter((v) => ["serious", "critical"].includes(v.impact));
      const told = bad.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary}`).join("; ")}`);
      assert.deepEqual(told, [], `${colorScheme} ${place}`);
    }
    await context.close();
  }
});
