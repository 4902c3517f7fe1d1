// Actions do what they say, show the command, and are refused without rights.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { browser, furnish, go, page, until, up, visit } from "./world.mjs";

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

const node = async (name) => (await world.api("GET", `/api/v1/nodes/${name}`)).body;

async function act(scope, action, fill = async () => {}) {
  await scope.locator(`[data-action="${action}"][aria-disabled="false"]`).first().click();
  const dialog = tab.window.getByRole("dialog");
  await dialog.waitFor();
  await fill(dialog);
  const command = await dialog.locator(".command code").innerText();
  await dialog.locator("button[type=submit]:not([disabled])").click();
  await dialog.locator(".told-done").waitFor({ timeout: 20_000 });
  // A dialog about something that is gone by now has gone with it.
  await dialog.getByRole("button", { name: "Close" }).click({ timeout: 5_000 }).catch(async (failed) => {
    if (await dialog.count()) throw failed;
  });
  return command;
}

test("cordon and uncordon", async () => {
  await go(tab.window, "/cluster?node=node-b-1");
  const panel = tab.window.locator(".panel");
  assert.equal(await act(panel, "cordon"), "kubectl cordon node-b-1");
  assert.equal((await node("node-b-1")).spec.unschedulable, true);
  await panel.getByRole("button", { name: "Uncordon" }).waitFor();
  assert.equal(await act(panel, "cordon"), "kubectl uncordon node-b-1");
  assert.equal((await node("node-b-1")).spec.unschedulable, undefined);
});

test("drain shows a dry run first, which changes nothing", async () => {
  const { body } = await world.api("GET", "/api/v1/namespaces/shop/pods?labelSelector=app=web");
  const name = body.items[0].spec.nodeName;
  await go(tab.window, `/cluster?node=${name}`);
  const panel = tab.window.locator(".panel");
  await panel.locator('[data-action="drain"][aria-disabled="false"]').click();
  const dialog = tab.window.getByRole("dialog");
  await dialog.getByText("Dry run: nothing was changed").waitFor();
  assert.match(await dialog.locator(".steps").innerText(), /shop\/web-\S+ (goes|has to wait)/);
  assert.equal((await node(name)).spec.unschedulable, undefined);
  assert.equal(await dialog.locator(".command code").innerText(), `kubectl drain ${name} --ignore-daemonsets`);
  await dialog.locator("button[type=submit]").click();
  await dialog.locator(".told-done").waitFor({ timeout: 60_000 });
  await dialog.getByRole("button", { name: "Close" }).click();
  assert.equal((await node(name)).spec.unschedulable, true);
  await until(async () => {
    const { body } = await world.api("GET", `/api/v1/namespaces/shop/pods?fieldSelector=spec.nodeName=${name}`);
    return body.items.every((pod) => pod.metadata.deletionTimestamp || pod.metadata.ownerReferences?.[0].kind === "Job");
  });
});

test("fail and recover a simulated node", async () => {
  await go(tab.window, "/cluster?node=node-c-2");
  const panel = tab.window.locator(".panel");
  assert.equal(await act(panel, "fail"), "stowplan node fail node-c-2");
  assert.equal((await node("node-c-2")).metadata.annotations["stowplan.dev/fault"], "fail");
  await panel.getByRole("button", { name: "Recover" }).waitFor();
  assert.equal(await act(panel, "recover"), "stowplan node recover node-c-2");
  assert.equal((await node("node-c-2")).metadata.annotations["stowplan.dev/fault"], undefined);
});

test("scale, run now, delete", async () => {
  await go(tab.window, "/workloads?of=services");
  const row = tab.window.locator("tr", { hasText: "shop/web" });
  const command = await act(row, "scale", (dialog) => dialog.getByLabel("Replicas").fill("8"));
  assert.equal(command, "kubectl scale deployment/web -n shop --replicas=8");
  assert.equal((await world.api("GET", "/apis/apps/v1/namespaces/shop/deployments/web")).body.spec.replicas, 8);

  await go(tab.window, "/workloads?of=schedules");
  const cron = tab.window.locator(".cron", { hasText: "shop/tick" });
  await act(cron, "run", (dialog) => dialog.getByLabel("Name of the job").fill("tick-now"));
  const job = (await world.api("GET", "/apis/batch/v1/namespaces/shop/jobs/tick-now")).body;
  assert.equal(job.metadata.ownerReferences[0].name, "tick");

  const { body } = await world.api("GET", "/api/v1/namespaces/shop/pods?labelSelector=app=web");
  const pod = body.items.find((one) => one.status.phase === "Running" && !one.metadata.deletionTimestamp).metadata.name;
  await go(tab.window, `/cluster?pod=shop/${pod}`);
  await act(tab.window.locator(".panel"), "delete", (dialog) => dialog.getByLabel(/Why/).fill("too old"));
  await until(async () => {
    const { code, body } = await world.api("GET", `/api/v1/namespaces/shop/pods/${pod}`);
    return code === 404 || body.metadata.deletionTimestamp;
  });
});

test("a token that may only read sees everything and changes nothing", async () => {
  const rules = [
    { apiGroups: ["", "apps", "batch", "policy", "metrics.k8s.io"], resources: ["*"], verbs: ["get", "list", "watch"] },
  ];
  const group = "rbac.authorization.k8s.io";
  await world.api("POST", `/apis/${group}/v1/clusterroles`, { metadata: { name: "sees" }, rules });
  await world.api("POST", "/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "viewer" } });
  await world.api("POST", `/apis/${group}/v1/clusterrolebindings`, {
    metadata: { name: "sees" }, roleRef: { apiGroup: group, kind: "ClusterRole", name: "sees" },
    subjects: [{ kind: "ServiceAccount", name: "viewer", namespace: "default" }],
  });
  const { body } = await world.api("POST", "/api/v1/namespaces/default/serviceaccounts/viewer/token", { spec: {} });
  const file = join(world.folder, "viewer.conf");
  const admin = readFileSync(world.kubeconfig, "utf8");
  writeFileSync(file, admin.replace(/token: .*/, `token: ${body.status.token}`));
  const served = await page(file);
  try {
    const viewer = await visit(chromium, served.link);
    await go(viewer.window, "/cluster?node=node-b-1");
    const before = (await node("node-b-1")).spec;
    await viewer.window.getByText("6 nodes").waitFor();
    await viewer.window.locator('[data-action="cordon"][title^="You may not"]').waitFor();
    for (const button of await viewer.window.locator(".panel [data-action]").all()) {
      assert.equal(await button.getAttribute("aria-disabled"), "true");
      await button.click({ force: true });
    }
    assert.equal(await viewer.window.getByRole("dialog").count(), 0);
    // Nor by other means than the buttons.
    const code = await viewer.window.evaluate(() => fetch("/api/v1/nodes/node-b-1", {
      method: "PATCH", body: '{"spec":{"unschedulable":true}}', headers: { "content-type": "application/merge-patch+json", "x-stowplan-key": localStorage.getItem("stowplan-key") },
    }).then((answer) => answer.status));
    assert.equal(code, 403);
    assert.deepEqual((await node("node-b-1")).spec, before);
    const pods = (await world.api("GET", "/api/v1/namespaces/shop/pods?labelSelector=app=web")).body.items;
    await go(viewer.window, `/tournament?pod=shop/${pods[0].metadata.name}`);
    await viewer.window.getByText(/Winner of|Scores/).first().waitFor();
  } finally {
    await served.stop();
  }
});

test("a lost connection is told, and comes back by itself", async () => {
  const served = await page(world.kubeconfig);
  const other = await visit(chromium, served.link);
  await served.stop();
  await other.window.getByText("No connection for").waitFor({ timeout: 20_000 });
  await other.window.getByText("Disconnected").waitFor();
  await other.context.close();
});
