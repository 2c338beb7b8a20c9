// An operator sees traffic, changes weights, is refused, and aborts a group.

import assert from "node:assert/strict";
import { NEW, OLD, TOKEN, giveToken, inBrowser, lane, until } from "./open.mjs";

const number = (text, word) => Number(text.replaceAll(",", "").match(new RegExp(`([0-9.]+) ${word}`))?.[1]);
const rate = async (page, group, word) => number(await lane(page, group).locator(".now").textContent(), word);

await inBrowser({}, async (page) => {
  await until("traffic on both lanes", async () => (await rate(page, OLD, "pinned")) > 0 && (await rate(page, NEW, "pinned")) > 0);
  assert.equal(await lane(page, OLD).locator(".stable").isVisible(), true, "the stable group is not marked");
  assert.equal(await lane(page, OLD).getByRole("button", { name: /Drain/ }).isVisible(), false, "it cannot be drained");
  await until("a chart is drawn", () => lane(page, OLD).locator("canvas").isVisible());

  // what an event says is text
  const log = page.locator("#log");
  await until("the event", async () => (await log.textContent()).includes("<img src=x onerror="));
  assert.equal(await log.locator("img, script").count(), 0, "an event became markup");
  assert.equal(await page.evaluate(() => window.owned), undefined, "an event has run");

  // the first change asks for the token, and a wrong one is told
  await page.locator("#weights").focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("#token-field").getAttribute("type"), "password");
  await giveToken(page, "wrong-wrong-wrong-wrong-wrong-wrong-wrong");
  await page.getByText("That token is wrong").waitFor();
  await giveToken(page);

  // weights: previewed, then set
  const dialog = page.locator("#change");
  const confirm = page.locator("#change-confirm");
  const weight = (group) => dialog.getByLabel(group, { exact: true });
  await until("a preview of what is there", () => confirm.isEnabled());
  await weight(NEW).fill("30");
  assert.equal(await confirm.isDisabled(), true, "what was not previewed can be confirmed");
  await page.locator("#change-look").click();
  await dialog.getByText("No session moves.").waitFor();
  assert.match(await dialog.locator("tbody").textContent(), /weight 10 .*weight 30 /);
  assert.match(await lane(page, NEW).locator(".share").textContent(), /weight 10,/, "a preview has changed something");
  await confirm.click();
  await until("the weight on the lane", async () => /weight 30, 25\.0 %/.test(await lane(page, NEW).locator(".share").textContent()));
  assert.match(await page.locator("#done").textContent(), /Done: Set the weights, revision \d+\./);
  await until("the event of it", async () => (await log.locator("li").first().textContent()).includes("weights by admin at"));

  // locked, and unlocked again
  const locking = page.locator("#lock");
  for (const [word, told] of [["Lock", "until it is unlocked"], ["Unlock", "possible again"]]) {
    assert.equal(await locking.textContent(), `${word}…`);
    await locking.click();
    await dialog.getByText(told).waitFor();
    await confirm.click();
    await until(`${word}ed`, async () => (await locking.textContent()) !== `${word}…`);
  }

  // a refusal is shown in the gateway's words
  await page.locator("#weights").click();
  await weight(OLD).fill("0");
  await weight(NEW).fill("0");
  await page.locator("#change-look").click();
  const problem = page.locator("#change-problem");
  await problem.getByText("Refused: a rule forbids the change").waitFor();
  assert.match(await problem.textContent(), /would be 0/, "the detail is missing");
  assert.equal(await confirm.isDisabled(), true, "what was refused can be confirmed");
  await page.locator("#change-cancel").click();

  // an abort: where sessions go, and only then done
  await lane(page, NEW).getByRole("button", { name: /Abort/ }).click();
  await dialog.getByText(new RegExp(`live sessions of ${NEW} move to ${OLD}`)).waitFor();
  assert.equal(await lane(page, NEW).locator(".state").textContent(), "active", "a preview has aborted it");
  await dialog.getByLabel("They").selectOption("end");
  await page.locator("#change-look").click();
  await dialog.getByText(new RegExp(`live sessions of ${NEW} end`)).waitFor();
  await dialog.getByLabel("They").selectOption("move");
  await page.locator("#change-look").click();
  await dialog.getByText(new RegExp(`live sessions of ${NEW} move to ${OLD}`)).waitFor();
  await confirm.click();
  await until("the lane says aborted", async () => (await lane(page, NEW).locator(".state").textContent()) === "aborted");
  assert.match(await lane(page, NEW).locator(".left").textContent(), new RegExp(`move to ${OLD} with their next request`));
  await until("the sessions have moved", async () => (await rate(page, NEW, "pinned")) === 0);
  await until("the event of it", async () => (await log.textContent()).includes("abort by admin at"));

  // the token is nowhere but in the page's memory
  const kept = await page.evaluate(() => [
    JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage }), document.cookie, location.href,
    document.documentElement.outerHTML, document.getElementById("token-field").value,
  ]);
  for (const place of kept) assert.ok(!place.includes(TOKEN), "the token is kept somewhere");
  await page.reload();
  await page.locator("#weights").click();
  await page.locator("#token[open]").waitFor();
});
