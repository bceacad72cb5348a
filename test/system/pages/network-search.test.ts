import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { hashPassword } from "../../../src/server/index.ts";
import { cleanUp } from "../../support/clean-up.ts";
import { axeFindings, openBrowser, openPage } from "../../support/browser.ts";
import { createSnmpAgent, listen } from "../../support/snmp-agent/index.ts";
import { rigTable } from "../../support/snmp-rig.ts";
import { tempDirectory } from "../../support/temp-directory.ts";
import { startWithFlows } from "./collector-with-flows.ts";

/** Settings of a collector that searches three addresses, of which one has an agent. */
async function searching(t: TestContext): Promise<{ settings: Record<string, string>; agent: string; file: string }> {
  const agent = await listen(createSnmpAgent({ table: rigTable }), "127.0.0.78");
  cleanUp(t, () => agent.close());
  const directory = tempDirectory(t);
  const file = join(directory, "networks.yml");
  writeFileSync(
    file,
    `lab:\n  ranges: [127.0.0.77-127.0.0.79]\n  port: ${agent.port}\n  communities: [hush, public]\n  timeout: 900\n  retries: 0\n`,
  );
  const settings = {
    SVC_INPUT_SNMP_ENABLE: "true",
    SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH: join(directory, "snmp"),
    SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH: file,
    SVC_INPUT_SNMP_DISCOVERY_INTERVAL: "0",
  };
  return { settings, agent: `${agent.address}:${agent.port}`, file };
}

test("Devices: a dry run, then a search that is watched, what it found and why, candidates", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { settings, agent, file } = await searching(t);
  const { url } = await startWithFlows(t, settings);
  const { page, errors } = await openPage(browser);
  await page.goto(`${url}/devices`);
  await page.getByRole("heading", { level: 2, name: "Search for devices" }).waitFor();
  await page.getByText("Nothing was searched since the start").waitFor();
  const candidate = page
    .getByRole("table", { name: "Candidates" })
    .getByRole("row", { name: /^127\.0\.0\.1 .* outside no network allows it none$/ });
  await candidate.waitFor();

  await page.getByRole("button", { name: "Dry run" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("Dry run of lab is under way …").waitFor();
  await page.getByRole("progressbar", { name: "How far the search is" }).waitFor();
  const now = page.getByRole("button", { name: "Search now" });
  assert.equal(await now.getAttribute("title"), "A search is under way.");
  await page.getByText("1 new, 0 changed, 0 gone, 0 duplicates, 0 refused, 0 known. Nothing was written.").waitFor();
  const found = page.getByRole("table", { name: "What the last search found" });
  await found.getByRole("row", { name: /^new .*127\.0\.0\.78:\d+ .*credential 2 \(version 2c\)/ }).waitFor();
  await page.getByText("No device is defined").waitFor();

  await now.click();
  await page.getByText("Search of lab is under way …").waitFor();
  await page.getByText("Last search:").waitFor();
  await page
    .getByRole("table", { name: "Devices" })
    .getByRole("row", { name: new RegExp(agent) })
    .waitFor();
  assert.deepEqual(await axeFindings(page), []);
  const narrow = await openPage(browser, { theme: "dark", width: 360 });
  await narrow.page.goto(`${url}/devices`);
  await narrow.page.getByText("Last search:").waitFor();
  await narrow.page.getByRole("table", { name: "Candidates" }).waitFor();
  assert.deepEqual(await axeFindings(narrow.page), []);
  const wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
  assert.equal(await narrow.page.evaluate(wider), 0);

  writeFileSync(file, "lab: {ranges: [nowhere]}\n");
  await now.click();
  await page
    .getByRole("alert")
    .filter({ hasText: /nowhere/ })
    .waitFor();
  await page.route("**/api/v1/snmp/discovery", (route) =>
    route.fulfill({ status: 503, json: { code: "unavailable", message: "too much to do" } }),
  );
  await page.reload();
  await page.getByRole("alert").filter({ hasText: "Too much to do." }).first().waitFor();
  await page.unroute("**/api/v1/snmp/discovery");
  await page.getByRole("button", { name: "Try again" }).first().click();
  await page.getByText("Last search:").waitFor();
  assert.deepEqual(errors(400, 503), []);
});

test("Devices: who is no admin sees searches and cannot begin one; without networks the setting is named", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const users = join(tempDirectory(t), "users.yml");
  writeFileSync(users, `users:\n  ed:\n    role: editor\n    password: ${await hashPassword("e")}\n`);
  const { settings } = await searching(t);
  const { url } = await startWithFlows(t, { ...settings, SVC_API_USERS_PATH: users });
  const { page } = await openPage(browser);
  await page.goto(`${url}/devices`);
  const form = page.getByRole("form", { name: "Sign in with a password" });
  await form.getByRole("textbox", { name: "Name" }).fill("ed");
  await form.getByRole("textbox", { name: "Password" }).fill("e");
  await form.getByRole("button", { name: "Sign in" }).click();
  for (const name of ["Dry run", "Search now"]) {
    const button = page.getByRole("button", { name });
    await button.waitFor();
    assert.equal(await button.getAttribute("title"), "This needs the role admin; ed has the role editor.");
    await button.click({ force: true });
  }
  await page.getByText("Nothing was searched since the start").waitFor();

  const off = await startWithFlows(t, { SVC_INPUT_SNMP_ENABLE: "true" });
  await page.goto(`${off.url}/devices`);
  await page.getByText("No networks are searched").waitFor();
  await page.getByText("SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH").waitFor();
  assert.equal(await page.getByRole("button", { name: "Search now" }).count(), 0);
  assert.deepEqual(await axeFindings(page), []);
});
