// The pictures of the documentation: a rollout in its first minutes, and the same on a phone.

import { join } from "node:path";
import { NARROW, NEW, PAGE, TOKEN, inBrowser, lane } from "./open.mjs";

const seconds = (count) => new Promise((resolve) => setTimeout(resolve, count * 1000));
const call = (method, path, body) =>
  fetch(new URL(path, PAGE), {
    method,
    headers: { "content-type": "application/json", authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify(body),
  });

await inBrowser({ deviceScaleFactor: 1 }, async (page) => {
  await seconds(50);
  await call("POST", "/v1/groups/b7e2d10/abort", { policy: "stay", within: "5m" });
  await seconds(80);
  await page.setViewportSize({ width: 1280, height: 600 });
  await seconds(2);
  await page.screenshot({ path: join(process.env.DOCS, "dashboard-wide.png"), fullPage: true });
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize(NARROW);
  await seconds(2);
  await lane(page, NEW).scrollIntoViewIfNeeded();
  await page.screenshot({ path: join(process.env.DOCS, "dashboard-390.png"), fullPage: true });
});
