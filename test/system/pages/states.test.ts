import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { cleanUp } from "../../support/clean-up.ts";
import { axeFindings, openBrowser, openPage, type Browser, type Page } from "../../support/browser.ts";
import { metadataSettings, startCollectorProcess } from "../../support/collector-process.ts";
import { tempDirectory } from "../../support/temp-directory.ts";
import { startWithFlows } from "./collector-with-flows.ts";

const pages = {
  Overview: "",
  Explore: "explore",
  "10.10.20.5": "address/10.10.20.5",
  Metadata: "metadata",
  Live: "live",
  Exporters: "exporters",
  Devices: "devices",
  Map: "map",
  Outputs: "outputs",
  Settings: "settings",
} as const;

async function show(page: Page, url: string, name: keyof typeof pages): Promise<void> {
  await page.goto(`${url}/${pages[name]}`);
  await page.getByRole("heading", { level: 1, name }).waitFor();
}

test("a collector that has nothing yet: each page says what is missing and what to do", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const collector = await startCollectorProcess({
    settings: { ...metadataSettings(join(tempDirectory(t), "ipaddrs.yml")), SVC_FLOW_SERVER_UDP_ENABLE: "true" },
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  const url = collector.api;
  const { page, errors } = await openPage(browser, { theme: "dark", width: 360 });
  const says = async (name: keyof typeof pages, title: string, advice: RegExp): Promise<void> => {
    await show(page, url, name);
    await page.getByRole("status").filter({ hasText: title }).filter({ hasText: advice }).first().waitFor();
    assert.deepEqual(await axeFindings(page), [], name);
  };
  const explore = "This collector keeps no records to look back at";
  await says("Overview", "No exporter has sent flows yet", /Exporters has the commands/);
  await says("Overview", explore, /set SVC_EXPLORE_ENABLE to true\. Live shows/);
  const tile = page.getByRole("link", { name: /^Exporters\s*0\s*none has sent yet$/ });
  await tile.waitFor();
  await says("Explore", explore, /set SVC_EXPLORE_ENABLE to true\. Live shows/);
  for (const name of ["CSV", "Copy the address"]) assert.equal(await page.getByRole("button", { name }).count(), 0);
  await says("10.10.20.5", explore, /set SVC_EXPLORE_ENABLE to true\. Live shows/);
  await page.getByText("Nobody has named it.").waitFor();
  await says("Metadata", "There are no entries yet", /New entry.*Import/);
  await says("Live", "No flows come in", /Exporters says what is wrong/);
  await says("Exporters", "No exporter has sent flows yet", /Give a router the commands below/);
  await says("Devices", "SNMP is not enabled", /Set SVC_INPUT_SNMP_ENABLE to true/);
  await says("Map", "SNMP is not enabled", /Set SVC_INPUT_SNMP_ENABLE to true/);
  await says("Outputs", "No output is on", /seen on these pages and go nowhere else/);
  assert.deepEqual(errors(404), []);
});

test("quick start without flows: nothing is claimed of addresses, and Explore leads to the exporters", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const directory = tempDirectory(t);
  const collector = await startCollectorProcess({
    settings: {
      ...metadataSettings(join(directory, "ipaddrs.yml")),
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_EXPLORE_ENABLE: "true",
      SVC_EXPLORE_PATH: join(directory, "explore"),
    },
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  const { page, errors } = await openPage(browser, { width: 360 });
  await show(page, collector.api, "Overview");
  await page.getByText("No address without a name was seen").waitFor();
  await show(page, collector.api, "Explore");
  const empty = page.getByRole("status").filter({ hasText: "No flows in this time" });
  await empty.getByRole("link", { name: "Exporters" }).click();
  await page.getByRole("heading", { level: 1, name: "Exporters" }).waitFor();
  assert.deepEqual(errors(), []);
});

async function fails(browser: Browser, url: string, name: keyof typeof pages): Promise<void> {
  const { page } = await openPage(browser, { width: 360 });
  await page.route(/\/(?:api|udm|readyz)\b/, (route) =>
    route.fulfill({ status: 500, json: { code: "internal", message: "something broke" } }),
  );
  await show(page, url, name);
  const alert = page.getByRole("alert").filter({ hasText: "Something broke." });
  const again = alert.getByRole("button", { name: "Try again" });
  await again.first().waitFor();
  assert.deepEqual(await axeFindings(page), [], name);
  for (const box of await page.getByRole("searchbox").all()) {
    assert.notEqual(await box.getAttribute("aria-invalid"), "true", `${name}: the search is not at fault`);
  }
  await page.unrouteAll();
  // What loads may show a failure of the time before beneath it.
  const unsettled = again.or(page.locator(".state.loading"));
  for (let left = await unsettled.count(); left > 0; left = await unsettled.count()) {
    // Another call may have taken it away meanwhile.
    await again
      .first()
      .click({ timeout: 1000 })
      .catch(() => {});
  }
  assert.equal(await alert.count(), 0, name);
  await page.context().close();
}

async function staysWithoutAnswer(browser: Browser, url: string, name: keyof typeof pages): Promise<void> {
  const { page } = await openPage(browser);
  await show(page, url, name);
  await page.getByRole("status").filter({ hasText: "…" }).first().waitFor({ state: "hidden" });
  await page.context().setOffline(true);
  await page
    .getByText(/^The collector does not answer, for \d+\ss now\. This page goes on by itself when it is back\.$/)
    .waitFor();
  assert.equal(await page.getByRole("alert").count(), 0, `${name}: one line says it`);
  assert.ok((await page.getByRole("main").innerText()).length > 100, `${name}: what was shown stays`);
  await page.context().setOffline(false);
  await page.getByText("The collector is back").waitFor();
  await page.context().close();
}

test("answers that fail, and none at all: each page says so, keeps what it has, and goes on", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { url } = await startWithFlows(t, { SVC_EXPLORE_ENABLE: "true" });
  const names = Object.keys(pages) as (keyof typeof pages)[];
  await t.test("failing answers", async () => {
    for (const name of names) await fails(browser, url, name);
  });
  await t.test("no answer", async () => {
    await Promise.all(names.map((name) => staysWithoutAnswer(browser, url, name)));
  });
});
