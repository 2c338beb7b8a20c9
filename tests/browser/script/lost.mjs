// The way to the gateway breaks and comes back.

import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { NEW, OLD, PAGE, TOKEN, inBrowser, lane, until } from "./open.mjs";

/** A way to the gateway that can be cut. */
class Way {
  #sockets = new Set();
  #open = true;

  async begin() {
    const { hostname: host, port } = new URL(PAGE);
    const server = net.createServer((near) => {
      if (!this.#open) return void near.destroy();
      const far = net.connect({ host, port });
      for (const [one, other] of [[near, far], [far, near]]) {
        this.#sockets.add(one);
        one.on("close", () => this.#sockets.delete(one) && other.destroy());
        one.on("error", () => other.destroy());
        one.pipe(other);
      }
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    server.unref();
    return `http://127.0.0.1:${server.address().port}/`;
  }

  cut() {
    this.#open = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend() {
    this.#open = true;
  }
}

const way = new Way();
const url = await way.begin();
await inBrowser({ url }, async (page) => {
  const changes = () => page.locator("#log li", { hasText: "weights by admin" }).count();
  const weights = async (weight) => {
    const response = await fetch(new URL("/v1/rollout/weights", PAGE), {
      method: "PUT",
      headers: { "content-type": "application/json", authorization: `Bearer ${TOKEN}` },
      body: JSON.stringify({ [OLD]: 100 - weight, [NEW]: weight }),
    });
    assert.equal(response.status, 200, await response.text());
  };
  await weights(20);
  await until("the first event", async () => (await changes()) === 1);
  way.cut();
  await page.locator("#link[data-state=lost]").waitFor();
  assert.equal(await page.locator("body.stale").count(), 1, "what is old looks fresh");
  await weights(30);
  way.mend();
  await page.locator("#link[data-state=live]").waitFor();
  await until("what happened meanwhile", async () => (await changes()) === 2);
  await until("the present state", async () => /weight 30,/.test(await lane(page, NEW).locator(".share").textContent()));
  assert.equal(await changes(), 2, "an event is shown twice");
});
