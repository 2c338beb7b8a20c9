// The admin side listens on more than loopback: nothing is shown without the token.

import assert from "node:assert/strict";
import { NEW, TOKEN, giveToken, inBrowser, lane } from "./open.mjs";

await inBrowser({ link: "token" }, async (page) => {
  assert.equal(await lane(page, NEW).count(), 0, "a group is shown without the token");
  assert.equal(await page.locator("#link").textContent(), "needs the token");
  await page.locator("#token-open").click();
  await giveToken(page);
  await page.locator("#link[data-state=live]").waitFor();
  await lane(page, NEW).waitFor();
  await page.locator("#token-open").click();
  await page.locator("#token-forget").click();
  assert.ok(!(await page.content()).includes(TOKEN), "the token is kept");
});
