import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { axeFindings, openBrowser, openPage } from "../../support/browser.ts";
import { tempDirectory } from "../../support/temp-directory.ts";
import { startWithFlows } from "./collector-with-flows.ts";

/** The page asks for the switch port of the address, and the browser notes the 404. */
const withoutSnmp = 404;

test("Explain: a flow comes, the page says what its address is, a name is typed, the next flow carries it", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const explore = { SVC_EXPLORE_ENABLE: "true", SVC_EXPLORE_PATH: join(tempDirectory(t), "explore") };
  const { url, collector } = await startWithFlows(t, explore);
  await collector().call("CreateUdm", { udm: { key: "192.0.2.0/24", name: "outside", tags: ["foreign"] } });
  const { page, errors } = await openPage(browser);
  await page.goto(`${url}/metadata`);
  await page.getByRole("heading", { level: 1, name: "Metadata" }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("192.0.2.77");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/address/192.0.2.77");

  const fields = page.getByRole("table", { name: /^What records get/ });
  await fields.getByRole("row", { name: /\.ip\.subnet\.name outside 192\.0\.2\.0\/24 change 1/ }).waitFor();
  const flows = page.getByRole("table", { name: "Last flows" });
  await flows.getByText("192.0.2.77").first().waitFor();
  assert.deepEqual(await axeFindings(page), []);

  await page.getByRole("button", { name: "Name it" }).click();
  const dialog = page.getByRole("dialog", { name: "Name 192.0.2.77" });
  await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("scanner");
  await dialog.getByRole("textbox", { name: "VLAN" }).fill("nine");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByRole("alert").waitFor();
  assert.equal(await dialog.getByRole("textbox", { name: "VLAN" }).getAttribute("aria-invalid"), "true");
  await dialog.getByRole("textbox", { name: "VLAN" }).fill("9");
  assert.deepEqual(await axeFindings(page), []);
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("status").filter({ hasText: "192.0.2.77 is saved. The next flow carries it." }).waitFor();

  // What lost is struck out, with the reason.
  await fields.getByRole("row", { name: /scanner 192\.0\.2\.77 change 2/ }).waitFor();
  const loser = fields.getByRole("row", { name: /not used outside 192\.0\.2\.0\/24/ });
  await loser.getByText("192.0.2.77 is more specific").waitFor();
  assert.equal(await loser.getByRole("deletion").count(), 1);
  await flows.getByText("scanner").first().waitFor({ timeout: 60_000 });
  assert.deepEqual(errors(400, withoutSnmp), []);
});

test("Explain: what others change meanwhile is shown, and written over only by who wants that", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { url, collector } = await startWithFlows(t);
  await collector().call("CreateUdm", { udm: { key: "10.10.20.5", name: "web-1" } });
  const { page } = await openPage(browser);
  await page.goto(`${url}/address/10.10.20.5`);
  await page.getByRole("button", { name: "Edit its entry" }).click();
  const dialog = page.getByRole("dialog", { name: "Edit 10.10.20.5" });
  await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("mine");
  await collector().call("UpdateUdm", { udm: { key: "10.10.20.5", name: "theirs" }, updateMask: "name" });
  await dialog.getByRole("button", { name: "Save" }).click();
  const alert = dialog.getByRole("alert");
  await alert.getByText("Somebody else has changed this entry meanwhile.").waitFor();
  await alert.getByText("+ name: theirs").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  const nameOf = async (): Promise<unknown> =>
    ((await collector().call("ListUdms", { key: "10.10.20.5", exact: true })).body["udms"] as { name: string }[])[0]
      ?.name;
  assert.equal(await nameOf(), "theirs");
  await alert.getByRole("button", { name: "Save mine all the same" }).click();
  await dialog.waitFor({ state: "hidden" });
  assert.equal(await nameOf(), "mine");

  // Words find names and tags; a prefix what lies in it.
  await page.goto(`${url}/explain?q=mine`);
  await page.getByRole("table", { name: "Entries" }).getByRole("link", { name: "10.10.20.5" }).waitFor();
  await page.goto(`${url}/value/prefix/10.10.0.0/16`);
  await page.getByRole("table", { name: "Entries" }).getByRole("link", { name: "10.10.20.5" }).waitFor();
  await page.getByText("1 entry within").waitFor();

  // A prefix without an entry has the name of what covers it.
  await collector().call("CreateUdm", { udm: { key: "10.10.0.0/16", name: "campus" } });
  await page.goto(`${url}/explain?q=10.10.64.0/18`);
  await page.getByText(/Its addresses are called campus by 10\.10\.0\.0\/16/).waitFor();
  const wider = page.locator("section").filter({ has: page.getByRole("heading", { name: "Entries that cover it" }) });
  await wider.getByRole("link", { name: "10.10.0.0/16" }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
});

test("an address page: traffic both ways, peers, who sees it, since when; each name leads on, and the address is a link everywhere", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const explore = { SVC_EXPLORE_ENABLE: "true", SVC_EXPLORE_PATH: join(tempDirectory(t), "explore") };
  const { url, collector } = await startWithFlows(t, explore);
  await collector().call("CreateUdm", {
    udm: { key: "10.10.20.5", name: "web-1", tags: ["web"], metadata: { ".site.name": "HQ / west" } },
  });
  const { page, errors, foreign } = await openPage(browser, { theme: "dark", width: 390, height: 800 });
  await page.goto(`${url}/address/10.10.20.5`);
  await page.getByRole("heading", { level: 1, name: "10.10.20.5" }).waitFor();
  const peers = page.getByRole("table", { name: "Peers, out" });
  await peers.getByRole("row", { name: /10\.10\.10\.16.*100 %/ }).waitFor({ timeout: 60_000 });
  await page.getByRole("table", { name: "Seen by, in" }).getByText("127.0.0.1").waitFor();
  await page.getByText("First seen").waitFor({ timeout: 60_000 });
  await page.getByRole("img", { name: /^Bits per second over time/ }).waitFor();
  await page.getByRole("list", { name: "Lines of the chart" }).getByText("In", { exact: true }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);

  // By keyboard alone from an address to another, and back.
  await peers.getByRole("link", { name: "10.10.10.16" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "10.10.10.16" }).waitFor();
  assert.equal(new URL(page.url()).pathname, "/address/10.10.10.16");
  await page.goBack();
  await page.getByRole("link", { name: "web", exact: true }).first().click();
  await page.getByRole("heading", { level: 1, name: "Tag web" }).waitFor();
  await page.getByRole("table", { name: "Entries" }).getByRole("link", { name: "10.10.20.5" }).waitFor();
  // Deeper in the path, and again from the server.
  await page.goto(`${url}/value/site.name/HQ%20/%20west`);
  await page.getByRole("heading", { level: 1, name: "site.name HQ / west" }).waitFor();
  await page.getByRole("table", { name: "Entries" }).getByRole("link", { name: "10.10.20.5" }).waitFor();
  await page.getByRole("table", { name: "Peers, in" }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.goto(`${url}/value/exporter/127.0.0.1`);
  await page.getByRole("table", { name: "Sources, all" }).getByRole("link", { name: "10.10.20.5" }).click();
  await page.getByRole("heading", { level: 1, name: "10.10.20.5" }).waitFor();
  await page.goto(`${url}/address/10.10.20.500`);
  await page.getByRole("alert").filter({ hasText: "10.10.20.500" }).first().waitFor();
  assert.deepEqual(errors(400, withoutSnmp), []);
  assert.deepEqual(foreign(), []);
});
