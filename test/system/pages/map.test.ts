import assert from "node:assert/strict";
import { test } from "node:test";
import { axeFindings, openBrowser, openPage } from "../../support/browser.ts";
import { startWithFlows } from "./collector-with-flows.ts";
import { host, startSwitches, switches } from "./switch-agents.ts";

const patiently = { timeout: 60_000 };
const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";

test("Map: two switches tell of each other, are drawn by site, chosen by the keyboard; their pages and Explain know it, too", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { url, collector } = await startWithFlows(t, await startSwitches(t));
  for (const [at, key] of switches.entries()) {
    await collector().call("CreateUdm", { udm: { key, metadata: { site: ["Bern", "Thun"][at] } } });
  }
  const { page, errors } = await openPage(browser);
  await page.goto(`${url}/map`);
  await page.getByRole("status").filter({ hasText: "No links are known yet" }).waitFor();
  const table = page.getByRole("table", { name: "All links" });
  await table.getByRole("row", { name: /sw-1 eth1 sw-2 eth1 2 confirmed/ }).waitFor(patiently);
  await table.getByRole("row", { name: /sw-1 eth3 phone-9 not polled lan 2 likely/ }).waitFor(patiently);
  const drawing = page.getByRole("region", { name: "Drawing of the links" });
  assert.deepEqual(await drawing.getByText(/^(?:Bern|Thun)$/).allTextContents(), ["Bern", "Thun"]);
  assert.deepEqual(await axeFindings(page), []);

  const details = page.getByRole("complementary", { name: "What is chosen" });
  await drawing.getByRole("button", { name: "phone-9, not polled" }).focus();
  await details.getByRole("heading", { name: "phone-9" }).waitFor();
  await details.getByText(/^lan → sw-1 eth3$/).waitFor();
  await page.keyboard.press("Tab");
  await details.getByRole("heading", { name: "sw-2" }).waitFor();
  await drawing.getByRole("button", { name: "sw-1 to sw-2, confirmed" }).focus();
  await details.getByText(/said by lldp of both ends/).waitFor();
  await page.waitForURL(/\/map\?link=/);
  await page.getByRole("button", { name: "Layer 3" }).click();
  await page.getByRole("heading", { name: "Links of layer 3" }).waitFor();
  await drawing.getByRole("button", { name: /^sw-1 to sw-2, / }).focus();
  await details.getByText(/said by subnet/).waitFor();
  await page.getByRole("combobox", { name: "Group by" }).selectOption({ label: "nothing" });
  await page.waitForURL(/layer=3.*group=none/);
  await page.reload();
  await details.getByText(/said by subnet/).waitFor();
  assert.equal(await drawing.getByText("Bern").count(), 0);
  await page.getByRole("searchbox", { name: "Find", exact: true }).fill("phone");
  await table.getByRole("row", { name: /sw-2/ }).first().waitFor({ state: "detached" });
  assert.equal(await table.getByRole("row").count(), 2);

  const narrow = await openPage(browser, { theme: "dark", width: 360 });
  await narrow.page.goto(`${url}/map`);
  await narrow.page.getByRole("button", { name: "sw-2", exact: true }).click();
  await narrow.page.getByRole("link", { name: /^yes, as 127\.0\.0\.82:/ }).waitFor();
  assert.deepEqual(await axeFindings(narrow.page), []);
  assert.equal(await narrow.page.evaluate(overflow), 0);
  await narrow.page.getByRole("link", { name: /^yes, as 127\.0\.0\.82:/ }).click();
  const neighbors = narrow.page.getByRole("table", { name: "Neighbors of sw-2" });
  // That of layer 3 is confirmed by the announcements at the same ports; a narrow page has no column of layers.
  const confirmed = neighbors.getByRole("row", { name: /^eth1 sw-1 eth1 confirmed$/ });
  await confirmed.first().waitFor();
  assert.equal(await confirmed.count(), 2);
  assert.deepEqual(await axeFindings(narrow.page), []);
  assert.equal(await narrow.page.evaluate(overflow), 0);

  await page.goto(`${url}/address/${host}`);
  const ports = page.getByRole("table", { name: "Switch ports" });
  await ports.getByRole("row", { name: /^sw-2 eth2 at this port 1 / }).waitFor(patiently);
  assert.deepEqual(await axeFindings(page), []);
  assert.deepEqual([...errors(404), ...narrow.errors()], []);
});

test("Map: more devices than can be drawn are groups that open; links that are off, slow and failing say so", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const off = { SVC_INPUT_SNMP_ENABLE: "true", SVC_INPUT_SNMP_TOPOLOGY_ENABLE: "false" };
  const { url } = await startWithFlows(t, off);
  const { page, errors } = await openPage(browser);
  await page.goto(`${url}/map`);
  await page.getByRole("status").filter({ hasText: "Links are not inferred" }).waitFor();
  assert.deepEqual(await axeFindings(page), []);

  const idOf = (n: number): string => `10.0.${n >> 8}.${n & 255}:161`;
  const devices = Array.from({ length: 1200 }, (_, n) => ({
    id: idOf(n),
    ip: idOf(n).replace(":161", ""),
    name: `switch-${n}.example.net`,
    metadata: { "site.name": `site ${n % 12}` },
  }));
  const links = devices.slice(1).map(({ id }, i) => ({
    id: `link ${i}`,
    layer: 2,
    a: { device: idOf(Math.floor(i / 20)), name: `switch-${Math.floor(i / 20)}`, port: { name: `eth${i}` } },
    b: { device: id, name: `switch-${i + 1}` },
    state: i % 50 === 0 ? "gone" : "up",
    confidence: i % 3 === 0 ? "unsure" : "confirmed",
    evidence: [],
    doubts: i % 3 === 0 ? ["several devices are at this port"] : [],
    since: Date.now() - 3_600_000,
    seen: Date.now(),
  }));
  const polled = [{ device: idOf(0), name: "switch-0", ip: "10.0.0.0", state: "up" }];
  await page.route("**/api/v1/snmp/devices", (route) => route.fulfill({ json: { enabled: true, devices: polled } }));
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  let answer: { status?: number; json: object } | undefined = { json: { enabled: true, devices, links } };
  // One handler stays: one that is taken away while it answers makes the answer fail.
  await page.route("**/api/v1/topology", async (route) => {
    await released;
    await (answer === undefined ? route.fallback() : route.fulfill(answer));
  });
  await page.reload();
  await page.getByText("Asking for the devices and their links …").waitFor();
  release();
  const drawing = page.getByRole("region", { name: "Drawing of the links" });
  await drawing.getByRole("button", { name: "site 3, 100 in it, opens" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/open=site\+3$/);
  await drawing.getByRole("button", { name: "switch-3.example.net", exact: true }).click();
  const details = page.getByRole("complementary", { name: "What is chosen" });
  await details.getByText("several devices are at this port").first().waitFor();
  await page.getByText("The first 500 are shown").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.getByRole("button", { name: "Close site 3" }).click();
  await drawing.getByRole("button", { name: "site 3, 100 in it, opens" }).waitFor();

  answer = { status: 503, json: { code: "unavailable", message: "too much to do" } };
  await page.reload();
  await page.getByRole("alert").filter({ hasText: "Too much to do." }).waitFor();
  answer = undefined;
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("status").filter({ hasText: "Links are not inferred" }).waitFor();
  assert.deepEqual(errors(503), []);
});
