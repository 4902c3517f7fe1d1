// Screenshots of a running page: node tests/shots.mjs LINK FOLDER LABEL.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { browser, go, visit } from "./world.mjs";

const [, , link, folder, label] = process.argv;
mkdirSync(folder, { recursive: true });
const chromium = await browser();
const first = await visit(chromium, link);
const state = await first.context.storageState();
await first.window.waitForTimeout(2500);
await go(first.window, "/tournament");
await first.window.waitForTimeout(2500);
const named = (title) => first.window.locator("section", { has: first.window.getByRole("heading", { name: title }) }).locator(".name").first().innerText();
const pods = { bound: await named("Placed last"), waiting: await named("Waiting") };
await first.context.close();
const sizes = process.env.SIZES?.split(",") ?? ["1440x900", "1024x768", "2560x1440"];
for (const colorScheme of ["dark", "light"]) {
  for (const size of sizes) {
    const [width, height] = size.split("x").map(Number);
    const context = await chromium.newContext({ viewport: { width, height }, colorScheme, storageState: state });
    const window = await context.newPage();
    await window.goto(new URL(link).origin);
    await window.getByText("Live", { exact: true }).waitFor();
    await window.waitForFunction(() => !/reading|Reading/.test(document.querySelector("main").innerText), undefined, { timeout: 60_000 });
    const places = {
      cluster: "/cluster", node: "/cluster?node=node-b-1", pending: "/pending", placed: `/tournament?pod=${pods.bound}`,
      waiting: `/tournament?pod=${pods.waiting}`, workloads: "/workloads", schedules: "/workloads?of=schedules",
      disruptions: "/disruptions", health: "/health", whatif: "/whatif",
    };
    for (const [name, place] of Object.entries(places)) {
      if (process.env.ONLY && !process.env.ONLY.split(",").includes(name)) continue;
      await go(window, place);
      await window.waitForTimeout(1800);
      await window.screenshot({ path: join(folder, `${label}-${name}-${size}-${colorScheme}.png`) });
    }
    await context.close();
  }
}
await chromium.close();
