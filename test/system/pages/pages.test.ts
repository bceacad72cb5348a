import assert from "node:assert/strict";
import { test } from "node:test";
import { axeFindings, openBrowser, openPage, type Locator } from "../../support/browser.ts";
import { startWithFlows } from "./collector-with-flows.ts";

/** Explore is off here: its page says so, and the browser notes the 404. */
const withoutExplore = 404;

/** The names of tables that have to be scrolled sideways to be read. */
const cutTables = `[...document.querySelectorAll(".table-scroll")]
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
  .map((table) => table.getAttribute("aria-label"))`;

test("every page, light and dark, wide and narrow: axe finds nothing, no other host is asked, the console stays quiet", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { url, collector } = await startWithFlows(t);
  await collector().call("CreateUdm", { udm: { key: "10.10.20.5", name: "web-1", tags: ["web"] } });
  for (const [theme, width] of [
    ["light", 1440],
    ["dark", 1440],
    ["light", 360],
    ["dark", 360],
  ] as const) {
    const { page, errors, foreign } = await openPage(browser, { theme, width });
    await page.goto(url);
    const links = page.getByRole("navigation", { name: "Pages" }).getByRole("listitem").getByRole("link");
    await links.first().waitFor();
    const names = await links.allTextContents();
    assert.ok(names.length >= 3, names.join());
    for (const name of names) {
      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }).click();
      await page.getByRole("heading", { level: 1, name }).waitFor();
      await page.getByRole("status").filter({ hasText: "…" }).first().waitFor({ state: "hidden" });
      // What comes after the first answer belongs to the page as well.
      await page.waitForTimeout(500);
      const where = `${name}, ${theme}, ${width} px`;
      assert.deepEqual(await axeFindings(page), [], where);
      const overflow = await page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth",
      );
      assert.equal(overflow, 0, `${where}: wider than the screen`);
      assert.deepEqual(await page.evaluate(cutTables), [], `${where}: tables that are wider than their place`);
      assert.equal(await page.title(), `${name} – netgloss`);
    }
    // On a narrow screen the list of pages is wider than it.
    await page.goto(`${url}/settings`);
    const current = page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Settings" });
    await current.waitFor();
    const { x = -1, width: linkWidth = 0 } = (await current.boundingBox()) ?? {};
    assert.ok(x >= 0 && x + linkWidth <= width, `${theme}, ${width} px: the link of the page is out of sight`);
    assert.deepEqual(foreign(), []);
    assert.deepEqual(errors(withoutExplore), []);
    await page.context().close();
  }
});

test("Overview: what is not measured yet says when it will be, and what cannot be asked says so", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { url } = await startWithFlows(t);
  const { page } = await openPage(browser, { width: 360 });
  const first = { at: 0, recentSeconds: 0, recordsTotal: 7, recordsPerSecond: null, datagramsPerSecond: null };
  await page.route("**/api/v1/overview", (route) => route.fulfill({ json: { ...first, losses: [] } }));
  await page.route("**/api/v1/flow/diagnosis", (route) =>
    route.fulfill({ status: 500, json: { code: "internal", message: "something broke" } }),
  );
  await page.goto(url);
  const tile = (name: string): Locator => page.getByRole("link", { name });
  await tile("Records per second measuring … 7 since the start").waitFor();
  await tile("Datagrams per second measuring … first reading in 3 s").waitFor();
  await tile("Lost measuring … first reading in 3 s").waitFor();
  await tile("Exporters not known by the doctor").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.unrouteAll();
  await page.getByRole("link", { name: /^Records per second (?!measuring)/ }).waitFor();
  await page.getByRole("link", { name: /^fine Lost nothing in the last \d+ s$/ }).waitFor();
  await page.context().close();
});

test("the theme: a visible label, a tooltip, and a choice that stays", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { url } = await startWithFlows(t);
  const { page } = await openPage(browser, { theme: "light" });
  await page.goto(`${url}/settings`);
  const theme = page.getByRole("combobox", { name: "Theme" });
  await page.getByText("Theme", { exact: true }).waitFor();
  await page.getByTitle("Colours of the pages: as the system has them, light, or dark").waitFor();
  const shown = (): Promise<unknown> => page.evaluate("document.documentElement.dataset.theme");
  assert.equal(await shown(), "light");
  await theme.selectOption({ label: "Dark" });
  assert.equal(await shown(), "dark");
  await page.reload();
  assert.equal(await theme.inputValue(), "dark");
  assert.equal(await shown(), "dark");
  await theme.selectOption({ label: "System" });
  assert.equal(await shown(), "light");
});

/** Whether the upper edge of what has the focus is behind the bar that stays. */
const isUnderBar = `(() => {
  const { bottom } = document.querySelector("header.top").getBoundingClientRect();
  const focused = document.activeElement;
  return focused.getBoundingClientRect().top < bottom;
})()`;

test("by the keyboard alone: / jumps into the Explain box, the skip link to the content, Enter opens what is chosen", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { url } = await startWithFlows(t);
  const { page } = await openPage(browser);
  await page.goto(`${url}/live`);
  await page.getByRole("heading", { level: 1, name: "Live" }).waitFor();
  const box = page.getByRole("searchbox", { name: "Explain an address, prefix, name or tag" });
  await page.keyboard.press("/");
  assert.equal(await box.evaluate((element) => element === element.ownerDocument.activeElement), true);
  await page.keyboard.type("10.10.20.5/x");
  assert.equal(await box.inputValue(), "10.10.20.5/x", "within a box / is a letter");
  await page.keyboard.press("Escape");
  await page.reload();
  await page.getByRole("heading", { level: 1, name: "Live" }).waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate("document.activeElement.textContent"), "Skip to the content");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate("document.activeElement.id"), "content");
  await page.keyboard.press("/");
  await page.keyboard.type("10.10.20.5");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/address/10.10.20.5");
  await page.goto(`${url}/settings`);
  await page.getByRole("table", { name: "Settings: Flows" }).waitFor();
  // The heading before is behind the bar: going back to it brings it out.
  await page.evaluate(`(() => {
    const [setting, from] = document.querySelectorAll("[aria-label='Settings: Flows'] button.sort");
    scrollBy(0, setting.getBoundingClientRect().top - 10);
    from.focus({ preventScroll: true });
  })()`);
  await page.keyboard.press("Shift+Tab");
  assert.equal(await page.evaluate("document.activeElement.textContent"), "Setting");
  assert.equal(await page.evaluate(isUnderBar), false);
});

test("a collector that restarts under an open page: it says so, and goes on by itself", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const running = await startWithFlows(t);
  const { page } = await openPage(browser);
  await page.goto(running.url);
  await page.getByText("Records per second").waitFor();
  await running.end();
  await page.getByText("The collector does not answer").waitFor();
  assert.equal(await page.getByText("Records per second").isVisible(), true, "what is known stays");
  await running.start();
  await page.getByText("The collector is back").waitFor({ timeout: 60_000 });
  await page.getByText("The collector does not answer").waitFor({ state: "hidden" });
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Live" }).click();
  await page.getByRole("table", { name: "Flows, the newest first" }).waitFor();
  const other = await page.context().newPage();
  await other.goto(`${running.url}/metadata`);
  await other.getByRole("button", { name: "New entry …" }).click();
  await running.end();
  await page.getByText("The collector does not answer").waitFor();
  const dialog = other.getByRole("dialog", { name: "Name an address" });
  await dialog.getByRole("textbox", { name: "Address, prefix or range" }).fill("10.99.0.1");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByRole("alert").filter({ hasText: "Nothing is sent again by itself." }).waitFor();
  await other.keyboard.press("Escape");
  await other.getByRole("link", { name: "Settings" }).click();
  await other.getByRole("status").filter({ hasText: "This page has not been loaded yet" }).waitFor();
  await running.start();
  await page.getByText("The collector is back").waitFor({ timeout: 60_000 });
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByRole("table", { name: "Flows, the newest first" }).waitFor();
  await other.getByRole("table", { name: "Settings: Flows" }).waitFor();
});

test("a slow network: the page says that it waits, and what came too late", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { url } = await startWithFlows(t);
  const { page, errors } = await openPage(browser);
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  let fails = false;
  // One handler stays: one that is taken away while it answers makes the answer fail.
  await page.route("**/api/v1/overview", async (route) => {
    await released;
    const failure = { status: 503, json: { code: "unavailable", message: "too much to do" } };
    await (fails ? route.fulfill(failure) : route.fallback());
  });
  await page.goto(url);
  await page.getByText("Asking the collector …").waitFor();
  release();
  await page.getByText("Records per second").waitFor();
  fails = true;
  await page.reload();
  await page.getByRole("alert").filter({ hasText: "Too much to do." }).first().waitFor();
  fails = false;
  await page.getByRole("button", { name: "Try again" }).first().click();
  await page.getByText("Records per second").waitFor();
  assert.deepEqual(errors(withoutExplore, 503), []);
});
