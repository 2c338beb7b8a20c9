// A browser on the page, and what holds for every visit.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

export const { PAGE, TOKEN } = process.env;
export const [OLD, NEW] = ["9f1c2ab", "c3d4e5f"];
export const WIDE = { width: 1280, height: 900 };
export const NARROW = { width: 390, height: 844 };

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Runs `visit` in a fresh browser, in which some paths have the `answers` given, and checks that nothing left the origin and nothing failed. */
export async function inBrowser({ url = PAGE, link = "live", answers = {}, ...options }, visit) {
  // a container has no other sandbox, and the only page is our own
  const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args });
  try {
    const context = await browser.newContext({ viewport: WIDE, ...options });
    for (const [path, body] of Object.entries(answers)) {
      await context.route((at) => at.pathname === path, (route) => route.fulfill({ json: body }));
    }
    const page = await context.newPage();
    const [foreign, faults] = [[], []];
    const { origin } = new URL(url);
    context.on("request", (request) => {
      if (new URL(request.url()).origin !== origin) foreign.push(request.url());
      if (request.url().includes(TOKEN)) faults.push("the token is in an address");
    });
    page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
    page.on("console", (message) => {
      if (/Content Security Policy/i.test(message.text())) faults.push(message.text());
    });
    await page.goto(url);
    await page.locator(`#link[data-state=${link}]`).waitFor();
    if (link === "live") await lane(page, NEW).waitFor();
    await visit(page, context);
    assert.deepEqual(foreign, [], "requests left the origin");
    assert.deepEqual(faults, [], "the page has faults");
  } finally {
    await browser.close();
  }
}

export const lane = (page, group) => page.locator(`article[data-group="${group}"]`);

/** Waits until what `look` answers is true. */
export async function until(what, look) {
  const end = Date.now() + 30_000;
  for (;;) {
    const seen = await look();
    if (seen === true) return;
    assert.ok(Date.now() < end, `never came: ${what}; at last ${JSON.stringify(seen)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Gives the page its token, in the dialog that is open. */
export async function giveToken(page, token = TOKEN) {
  await page.locator("#token-field").fill(token);
  await page.locator("#token-form").getByRole("button", { name: "Use" }).click();
}

/** What axe-core finds serious or worse in what is shown now. */
export async function grave(page) {
  // the policy of the page lets no foreign script in, the debugger does
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const found = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

/** How far the page is wider than the screen. */
export const overhang = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
