// Whoever should not get in gets a clear refusal, and names are text whatever they contain.

import assert from "node:assert/strict";
import http from "node:http";
import { after, before, test } from "node:test";
import { browser, furnish, go, until, up, visit } from "./world.mjs";

let world, chromium, tab, cookie, key, port;

before(async () => {
  world = await up(["--nodes", "3", "--zones", "a,b,c"]);
  chromium = await browser();
  await furnish(world);
  tab = await visit(chromium, world.link);
  const [own] = await tab.context.cookies();
  assert.ok(own.httpOnly && own.sameSite === "Strict");
  cookie = `${own.name}=${own.value}`;
  key = await tab.window.evaluate(() => localStorage.getItem("stowplan-key"));
  port = Number(new URL(world.base).port);
});
after(async () => {
  await chromium?.close();
  await world?.stop();
});

function raw(path, headers = {}, method = "GET") {
  return new Promise((done, fail) => {
    const options = { host: "127.0.0.1", port, path, method, headers: { host: `127.0.0.1:${port}`, ...headers } };
    const request = http.request(options, (answer) => {
      let text = "";
      answer.on("data", (data) => (text += data));
      answer.on("end", () => done({ code: answer.statusCode, text, headers: answer.headers }));
    });
    request.on("error", fail);
    request.end();
  });
}

test("a link opens the page once", async () => {
  const path = world.link.slice(world.base.length);
  const stolen = await raw(path);
  assert.equal(stolen.code, 403);
  assert.match(stolen.text, /This link was used before/);
  assert.equal(stolen.headers["set-cookie"], undefined);
  assert.equal((await raw("/open?token=guess")).code, 403);
  assert.equal((await raw("/open")).code, 403);
});

test("without a session there is nothing to see", async () => {
  for (const path of ["/", "/app.js", "/api/v1/nodes", "/version", "/watches"]) {
    assert.equal((await raw(path)).code, 401, path);
  }
  const own = { cookie, "x-stowplan-key": key };
  assert.equal((await raw("/api/v1/nodes", own)).code, 200);
  assert.equal((await raw("/api/v1/nodes", { ...own, cookie: `${cookie}x` })).code, 401);
});

test("the cookie, which all ports of this host get, opens nothing of the cluster without the key", async () => {
  for (const path of ["/api/v1/nodes", "/apis", "/openapi/v3", "/version", "/watches"]) {
    assert.equal((await raw(path, { cookie })).code, 401, path);
    assert.equal((await raw(path, { cookie, "x-stowplan-key": `${key}x` })).code, 401, path);
    assert.equal((await raw(path, { "x-stowplan-key": key })).code, 401, path);
  }
  assert.equal((await raw("/app.js", { cookie })).code, 200);
  const upgrade = {
    cookie, origin: world.base, connection: "upgrade", upgrade: "websocket", "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-protocol": "stowplan-watches",
  };
  assert.equal((await raw("/watches", upgrade)).code, 401);
  // Opening the used link again tells the key to nobody.
  const again = await raw(world.link.slice(world.base.length), { cookie });
  assert.equal(again.code, 200);
  assert.match(again.text, /content=""/);
});

test("another origin, a foreign host, another port are refused", async () => {
  assert.equal((await raw("/", { cookie, host: `evil.example:${port}` })).code, 421);
  assert.equal((await raw("/api/v1/nodes", { cookie, origin: "http://evil.example" })).code, 403);
  assert.equal((await raw("/api/v1/nodes", { cookie, origin: "http://127.0.0.1:1" })).code, 403);
  assert.equal((await raw("/api/v1/nodes", { cookie, "sec-fetch-site": "same-site" })).code, 403);
  assert.equal((await raw("/api/v1/namespaces/shop", { cookie }, "DELETE")).code, 403);
  const upgrade = { cookie, connection: "upgrade", upgrade: "websocket", "sec-websocket-version": "13", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };
  assert.equal((await raw("/watches", { ...upgrade, origin: "http://evil.example" })).code, 403);
  assert.equal((await raw("/watches", upgrade)).code, 403);
});

test("every answer says who may show and run it", async () => {
  for (const path of ["/", "/app.js", "/open", "/nothing", "/api/v1/nodes"]) {
    const { headers } = await raw(path, { cookie });
    const policy = headers["content-security-policy"];
    assert.match(policy, /frame-ancestors 'none'/, path);
    assert.ok(!/unsafe/.test(policy), path);
    assert.equal(headers["x-frame-options"], "DENY");
    assert.equal(headers["x-content-type-options"], "nosniff");
  }
});

test("the page cannot be put into a frame, nor be asked from another page", async () => {
  const bait = http.createServer((_, answer) => {
    answer.writeHead(200, { "content-type": "text/html" });
    answer.end(`<iframe src="${world.base}/"></iframe>`);
  });
  await new Promise((done) => bait.listen(0, "127.0.0.1", done));
  try {
    const other = await tab.context.newPage();
    await other.goto(`http://127.0.0.1:${bait.address().port}/`);
    await other.waitForTimeout(500);
    const inside = other.frames()[1];
    assert.ok(!(await inside.content().catch(() => "")).includes("app.js"));
    const told = await other.evaluate(async (base) => {
      const tries = [
        fetch(`${base}/api/v1/nodes`, { credentials: "include" }),
        fetch(`${base}/api/v1/namespaces/shop`, { method: "DELETE", credentials: "include" }),
      ];
      const settled = await Promise.allSettled(tries);
      const socket = await new Promise((done) => {
        const ws = new WebSocket(`${base.replace("http", "ws")}/watches`);
        ws.onopen = () => done("open");
        ws.onerror = () => done("refused");
      });
      return [...settled.map((one) => one.status), socket];
    }, world.base);
    assert.deepEqual(told, ["rejected", "rejected", "refused"]);
    assert.equal((await world.api("GET", "/api/v1/namespaces/shop")).code, 200);
    await other.close();
  } finally {
    bait.close();
  }
});

test("what the cluster says is never shown as a page of ours", async () => {
  for (const path of ["/api/v1/namespaces/shop/pods/p/proxy/x.js", "/api/v1/nodes/node-a-1/proxy/", "/metrics", "/api/v1/%70roxy"]) {
    assert.equal((await raw(path, { cookie, "x-stowplan-key": key })).code, 404, path);
  }
});

test("names with markup and control characters are text", async () => {
  const nasty = "<img src=x onerror=alert(1)>\u202e\u0007evil";
  await world.api("POST", "/apis/events.k8s.io/v1/namespaces/shop/events", {
    metadata: { name: "nasty" }, eventTime: new Date().toISOString().replace("Z", "000Z"), reason: "TaintManagerEviction", action: "Evicting", type: "Normal",
    reportingController: "x", reportingInstance: "y", note: nasty,
    regarding: { kind: "Pod", namespace: "shop", name: nasty, uid: "nasty" },
  });
  tab.window.on("dialog", () => assert.fail("a script ran"));
  await go(tab.window, "/disruptions");
  await until(async () => (await tab.window.locator("main").innerText()).includes("<img src=x onerror=alert(1)>"));
  const text = await tab.window.locator("main").innerText();
  assert.ok(text.includes("\\u202e\\u0007evil"), text.slice(0, 400));
  assert.equal(await tab.window.locator("main img").count(), 0);
  await go(tab.window, `/cluster?node=${encodeURIComponent(nasty)}`);
  await tab.window.getByText("This node is gone").waitFor();
  assert.equal(await tab.window.locator("main img").count(), 0);
});
