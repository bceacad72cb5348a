import assert from "node:assert/strict";
import { test } from "node:test";
import { axeFindings, openBrowser, openPage } from "../../support/browser.ts";
import { startWithFlows } from "./collector-with-flows.ts";

const sheet = `Prefix;Site name;Responsible;VLAN
10.1.0.0/24;office;alice;10
10.1.1.0/24;lab;bob;x
nonsense;none;carol;3
10.1.2.0/24;servers;dave;30
`;

test("Metadata: a sheet is mapped, its faults and its difference shown, imported, tagged, undone, edited in place", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { url, collector } = await startWithFlows(t);
  const { page, errors } = await openPage(browser);
  await page.goto(`${url}/metadata`);
  await page.getByText("There are no entries yet").waitFor();
  await page.getByRole("button", { name: "Import", exact: true }).click();
  await page.waitForURL("**/metadata?view=import");

  // Map.
  await page
    .getByLabel(/Drop a CSV/)
    .setInputFiles({ name: "plan.csv", mimeType: "text/csv", buffer: Buffer.from(sheet) });
  const columns = page.getByRole("table", { name: "Columns of the sheet" });
  assert.equal(await columns.getByRole("combobox", { name: "What Prefix becomes" }).inputValue(), "key");
  await columns.getByRole("combobox", { name: "What Site name becomes" }).selectOption("name");
  await columns.getByRole("textbox", { name: "Name of the metadata of Responsible" }).fill("owner");
  await page.getByRole("textbox", { name: "Tags for all of them" }).fill("plan");
  assert.deepEqual(await axeFindings(page), []);

  // Look.
  await page.getByRole("button", { name: "See what would change" }).click();
  const faults = page.getByRole("table", { name: "Rows with faults" });
  await faults.getByRole("row", { name: /^3 VLAN/ }).waitFor();
  await faults.getByRole("row", { name: /^4 Prefix/ }).waitFor();
  const apply = page.getByRole("button", { name: /^Import 2 changes/ });
  assert.equal(await apply.getAttribute("aria-disabled"), "true");
  await page.getByRole("checkbox", { name: "Leave out rows with faults" }).check();
  await page.getByRole("button", { name: "See what would change" }).click();
  await page.getByRole("region", { name: "Changes of entries" }).getByText("+ metadata owner: alice").waitFor();
  assert.deepEqual(await axeFindings(page), []);

  // Apply.
  await apply.click();
  await page.getByText("Imported as change 1, which can be undone in the history.").waitFor();
  await page.getByRole("button", { name: "Table", exact: true }).click();
  const grid = page.getByRole("grid", { name: "Entries" });
  await grid.getByRole("row", { name: /10\.1\.2\.0\/24 servers plan 30 owner=dave/ }).waitFor();

  // By the keyboard: the second row, selected, then tagged.
  await grid.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Space");
  await page.getByText("1 selected").waitFor();
  await page.getByRole("button", { name: "Tag …" }).click();
  const tags = page.getByRole("dialog", { name: "Tag 1 entries" });
  await tags.getByRole("textbox", { name: /^Add these tags/ }).fill("pci");
  await page.keyboard.press("Enter");
  await grid.getByRole("row", { name: /10\.1\.2\.0\/24 servers plan pci/ }).waitFor();
  assert.equal(await grid.getByRole("row", { name: /10\.1\.0\.0\/24 office plan 10/ }).count(), 1);

  // In place.
  await grid.focus();
  await page.keyboard.press("F2");
  await page.getByRole("textbox", { name: "Name of 10.1.0.0/24" }).fill("head office");
  await page.keyboard.press("Enter");
  await grid.getByRole("row", { name: /10\.1\.0\.0\/24 head office/ }).waitFor();
  assert.deepEqual(await axeFindings(page), []);

  // A filter with a fault says where; a good one is in the address bar.
  const filter = page.getByRole("combobox", { name: "Filter" });
  await filter.fill("tag >");
  await page
    .getByRole("alert")
    .filter({ hasText: /filter:1:.*tag >.*\^/s })
    .waitFor();
  await filter.fill("tag = pci");
  await page.waitForURL("**/metadata?filter=tag+%3D+pci");
  await page.getByText("1 entry.").waitFor();

  // Undo: what would be put back first.
  await page.getByRole("button", { name: "History", exact: true }).click();
  await page.getByRole("button", { name: "Undo change 2" }).click();
  const undo = page.getByRole("dialog", { name: "Undo change 2" });
  await undo.getByText("− tags: plan, pci").waitFor();
  await undo.getByRole("button", { name: "Undo it" }).click();
  await page.getByText("Change 2 is undone by change 4.").waitFor();
  await page.getByRole("button", { name: "Show change 1" }).click();
  await page.getByText("+ name: office").waitFor();
  assert.deepEqual(await axeFindings(page), []);

  // A change that others have built upon cannot be undone, and says so.
  await page.getByRole("button", { name: "Undo change 1" }).click();
  await page
    .getByRole("alert")
    .filter({ hasText: /was changed since/ })
    .waitFor();
  await page.keyboard.press("Escape");

  await collector().call("CreateUdm", { udm: { key: "10.0.0.0/8", name: "campus" } });
  await page.getByRole("button", { name: "Tree", exact: true }).click();
  await page.getByRole("button", { name: "What lies in 10.0.0.0/8" }).click();
  await page.getByRole("button", { name: "10.1.2.0/24", exact: true }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  assert.deepEqual(errors(400), []);
});

test("Metadata: two clicks save once; a collector without a history says so where a change could not be undone", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { url } = await startWithFlows(t, { SVC_STATE_DIRECTORY_PATH: "" });
  const { page, errors } = await openPage(browser);
  await page.goto(`${url}/metadata`);
  await page.getByRole("button", { name: "New entry …" }).click();
  const dialog = page.getByRole("dialog", { name: "Name an address" });
  await dialog.getByRole("textbox", { name: "Address, prefix or range" }).fill("10.0.0.0/8");
  await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("campus");
  const saves: string[] = [];
  page.on("request", (request) => request.url().endsWith("/BatchUpsertUdms") && saves.push(request.url()));
  await dialog.getByRole("button", { name: "Save" }).evaluate((element: unknown) => {
    const button = element as { click(): void };
    button.click();
    button.click();
  });
  await page.getByText("10.0.0.0/8 is saved.").waitFor();
  await dialog.waitFor({ state: "hidden" });
  assert.equal(saves.length, 1);

  await page.getByRole("grid", { name: "Entries" }).getByRole("checkbox").first().check();
  await page.getByRole("button", { name: "Delete …" }).click();
  await page.getByText("It cannot be undone: this collector keeps no changes.").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "History", exact: true }).click();
  await page
    .getByRole("status")
    .filter({ hasText: "This collector keeps no changes" })
    .filter({ hasText: /Set SVC_STATE_DIRECTORY_PATH/ })
    .waitFor();
  assert.deepEqual(await axeFindings(page), []);
  assert.deepEqual(errors(), []);
});

test("Metadata: a long difference scrolls in its own box, and makes the page no longer", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { url } = await startWithFlows(t);
  const { page } = await openPage(browser);
  await page.goto(`${url}/metadata?view=import`);
  const rows = Array.from({ length: 400 }, (_, i) => `10.0.${i >> 8}.${i % 256},host-${i}`);
  const buffer = Buffer.from(`ip,name\n${rows.join("\n")}\n`);
  await page.getByLabel(/Drop a CSV/).setInputFiles({ name: "hosts.csv", mimeType: "text/csv", buffer });
  await page.getByRole("button", { name: "See what would change" }).click();
  await page.getByRole("region", { name: "Changes of entries" }).getByText("+ name: host-0").waitFor();
  const rest = await page.locator(".page").evaluate((main) => {
    const { documentElement, defaultView } = main.ownerDocument;
    return documentElement.scrollHeight - (defaultView?.scrollY ?? 0) - main.getBoundingClientRect().bottom;
  });
  assert.ok(rest < 100, `${rest} px below the page`);
});
