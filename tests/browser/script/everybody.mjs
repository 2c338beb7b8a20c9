// By keyboard, by screen reader, in the dark and on a phone.

import assert from "node:assert/strict";
import { ANALYSIS } from "./analysis.mjs";
import { NARROW, NEW, OLD, WIDE, giveToken, grave, inBrowser, lane, overhang, until } from "./open.mjs";

for (const colorScheme of ["light", "dark"]) {
  await inBrowser({ colorScheme, reducedMotion: "reduce", answers: { "/v1/analysis": ANALYSIS } }, async (page) => {
    await until("a chart is drawn", () => lane(page, NEW).locator("canvas").isVisible());
    await verdict(page);
    for (const [screen, viewport] of [["wide", WIDE], ["narrow", NARROW]]) {
      await page.setViewportSize(viewport);
      const where = `${colorScheme}, ${screen}`;
      await until(`nothing sticks out: ${where}`, async () => (await overhang(page)) <= 0 || overhang(page));
      assert.deepEqual(await grave(page), [], where);
      await page.locator("#token-open").click();
      assert.deepEqual(await grave(page), [], `${where}, the token`);
      await giveToken(page);
      await lane(page, NEW).getByRole("button", { name: /Abort/ }).click();
      await page.locator("#change-confirm:enabled").waitFor();
      assert.deepEqual(await grave(page), [], `${where}, an abort`);
      assert.ok((await overhang(page)) <= 0, `${where}: the dialog sticks out`);
      await page.keyboard.press("Escape");
      await page.locator("#change[open]").waitFor({ state: "hidden" });
    }
    if (colorScheme === "light") await keyboard(page);
  });
}

/** What the comparison says is shown in words, with its interval. */
async function verdict(page) {
  const shown = page.locator(`[data-verdict="${NEW}"]`);
  await shown.waitFor();
  const text = await shown.textContent();
  for (const part of [`${NEW} beside ${OLD}: worse`, `1,204 sessions of ${NEW} and 10,981 sessions of ${OLD}`, "+1.0 pp to +4.3 pp", "slow (not judged)",
    "the difference would be -0.4 pp"]) {
    assert.ok(text.includes(part), `${part} is not in ${text}`);
  }
}

/** Every button and field that is shown is reached by the tabulator, and has a name. */
async function keyboard(page) {
  await page.setViewportSize(WIDE);
  // from the top of the page
  await page.reload();
  await lane(page, NEW).waitFor();
  const reached = new Set();
  for (let steps = 0; steps < 60; steps += 1) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const node = document.activeElement;
      return node === document.body ? null : node.getAttribute("aria-label") || node.id || node.textContent;
    });
    if (at === null) break;
    reached.add(at);
  }
  const names = await page.locator("button:visible").evaluateAll((all) =>
    all.filter((node) => !node.closest("dialog")).map((node) => node.getAttribute("aria-label") ?? node.id));
  assert.ok(names.length >= 6, `few buttons: ${names}`);
  for (const name of names) assert.ok(reached.has(name), `${name} is not reached; reached: ${[...reached]}`);
  assert.ok(reached.has("log"), "the events cannot be scrolled by keyboard");
}
