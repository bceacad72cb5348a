import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { SMTPServer } from "smtp-server";
import {
  axeFindings,
  openBrowser,
  openPage,
  type Locator,
  type Page,
  type WatchedPage,
} from "../../support/browser.ts";
import { cleanUp } from "../../support/clean-up.ts";
import { tempDirectory } from "../../support/temp-directory.ts";
import { until } from "../../support/until.ts";
import { startReceiver, type TestReceiver } from "../../watch/watch-rig.ts";
import { formatNumber } from "../../../web/src/format/numbers.ts";
import { startWithFlows, type CollectorWithFlows } from "./collector-with-flows.ts";

/** Who gets reports: a webhook and a mail server, with what that took. */
interface Receivers {
  readonly hook: TestReceiver;
  readonly mails: readonly string[];
  readonly rules: string;
}

async function startReceivers(t: TestContext): Promise<Receivers> {
  const hook = await startReceiver(t);
  const mails: string[] = [];
  const server = new SMTPServer({
    disabledCommands: ["AUTH", "STARTTLS"],
    onData(stream, _session, callback) {
      const parts: Buffer[] = [];
      stream.on("data", (part: Buffer) => parts.push(part));
      stream.on("end", () => {
        mails.push(Buffer.concat(parts).toString());
        callback();
      });
    },
  });
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  cleanUp(t, () => server.close());
  const { port } = server.server.address() as AddressInfo;
  const rules = join(tempDirectory(t), "watch.yml");
  const mail = `{server: 'smtp://127.0.0.1:${port}', from: netgloss@example.com, to: [noc@example.com]}`;
  writeFileSync(rules, `rules: []\nactions:\n  noc: {email: ${mail}}\n  chat: {webhook: {url: '${hook.url}'}}\n`);
  return { hook, mails, rules };
}

/** Explore has records of half a minute when the stories begin. */
async function startExplore(t: TestContext, rules: string): Promise<CollectorWithFlows> {
  const running = await startWithFlows(t, { SVC_EXPLORE_ENABLE: "true", SVC_WATCH_RULES_PATH: rules });
  await running.collector().call("CreateUdm", { udm: { key: "10.10.20.5", name: "web-1" } });
  await running.collector().call("CreateUdm", { udm: { key: "10.10.10.0/24", name: "office" } });
  const hasRecords = async (): Promise<boolean> => {
    const response = await fetch(`${running.url}/api/v1/explore/status`);
    const { from = "", to = "" } = (await response.json()) as { from?: string; to?: string };
    return Date.parse(to) - Date.parse(from) > 35_000;
  };
  await until("records of half a minute", hasRecords, 90_000);
  return running;
}

const ranking = (page: Page): Locator => page.getByRole("region", { name: "Ranking" });
const keys = (page: Page): Promise<readonly string[]> =>
  ranking(page).locator("tbody td:nth-child(2) button:first-child").allInnerTexts();

async function filterAndShare({ page, errors, foreign }: WatchedPage, running: CollectorWithFlows): Promise<void> {
  await page.getByRole("img", { name: /over time/ }).waitFor();
  await page
    .getByRole("region", { name: "Flow diagram" })
    .getByRole("button", { name: /^web-1: .*bit\/s/ })
    .first()
    .waitFor();
  assert.deepEqual(await axeFindings(page), []);

  await ranking(page).locator("tbody td:nth-child(2)").getByRole("button", { name: "Without office" }).first().click();
  await page.waitForURL(/filter=.*office/);
  await until("rows without the office as a source", async () => !(await keys(page)).includes("office"));
  await page.goBack();
  await until("all rows again", async () => (await keys(page)).includes("office"));

  await page
    .getByRole("region", { name: "Flow diagram" })
    .getByRole("button", { name: /^office: / })
    .first()
    .press("Enter");
  await page.getByRole("button", { name: /^Remove flow\.(?:src|dst)\.ip\.subnet\.name = "office"$/ }).waitFor();
  await page.getByRole("combobox", { name: "Measure" }).selectOption({ label: "Bytes" });
  await page.getByRole("checkbox", { name: "Compare with the time before" }).check();
  await page.getByRole("combobox", { name: "Chart" }).selectOption({ label: "Lines" });
  await page.getByRole("checkbox", { name: "p95 and maximum" }).check();
  await ranking(page).getByRole("columnheader", { name: "Change" }).waitFor();
  const address = page.url();
  assert.match(address, /measure=bytes/);
  assert.match(address, /compare=true.*shape=lines.*peaks=true/);

  // Another browser sees the same by the address alone.
  const other = await page.context().browser()?.newContext();
  const copy = await other?.newPage();
  await copy?.goto(address);
  await copy?.getByRole("region", { name: "Ranking" }).getByRole("columnheader", { name: "Change" }).waitFor();
  assert.equal(await copy?.getByRole("combobox", { name: "Measure" }).inputValue(), "bytes");

  // Saved under a name, and found again.
  await page.getByText("Saved views").click();
  await page.getByRole("textbox", { name: "Save this view as" }).fill("the office");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("link", { name: "the office" }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.goto(`${running.url}/explore`);
  await page.getByText("Saved views").click();
  await page.getByRole("link", { name: "the office" }).click();
  assert.equal(page.url(), address);
  await shareBrowserViews(page, running.url);
  await page.goto(address);

  const download = async (name: string): Promise<Buffer> => {
    const begun = page.waitForEvent("download");
    await page.getByRole("button", { name }).click();
    const file = join(running.directory, name);
    await (await begun).saveAs(file);
    return readFileSync(file);
  };
  await page.getByText("Download", { exact: true }).click();
  assert.deepEqual(await axeFindings(page), []);
  const table = (await download("Ranking as CSV")).toString();
  assert.match(table, /flow\.src\.ip\.subnet\.name/);
  assert.match(table, /web-1|office/);
  assert.match((await download("Values over time as CSV")).toString(), /^time,.*flow\.src\.ip\.subnet\.name/m);
  assert.match((await download("Chart as SVG")).toString(), /^<svg .*Bytes, .*<path .*<\/svg>$/s);
  assert.equal((await download("Chart as PNG")).subarray(1, 4).toString(), "PNG");
  await page.keyboard.press("Escape");
  assert.deepEqual(foreign(), []);
  assert.deepEqual(errors(), []);
}

/** What an earlier version kept in the browser is shown, and shared. */
async function shareBrowserViews(page: Page, url: string): Promise<void> {
  const key = "netgloss.explore.saved";
  const kept = JSON.stringify([{ name: "of old", query: "?measure=bytes&by=nothing&from=-6h" }]);
  await page.evaluate(`localStorage.setItem("${key}", ${JSON.stringify(kept)})`);
  await page.goto(`${url}/explore`);
  await page.getByText("Saved views").click();
  const own = page.getByRole("region", { name: "In this browser alone" });
  assert.match((await own.getByRole("link", { name: "of old" }).getAttribute("href")) ?? "", /\?measure=bytes/);
  assert.deepEqual(await axeFindings(page), []);
  await own.getByRole("button", { name: "Share them" }).click();
  await own.waitFor({ state: "detached" });
  const href = await page.getByRole("link", { name: "of old" }).getAttribute("href");
  const query = new URL(href ?? "", url).searchParams;
  assert.deepEqual(
    ["measure", "by", "from"].map((name) => query.get(name)),
    ["bytes", "nothing", "-6h"],
  );
  assert.equal(await page.evaluate(`localStorage.getItem("${key}")`), null);
}

/** The same answer drawn in other ways; the name of an address beside it; the way back along the filter. */
async function looks({ page, errors }: WatchedPage, { url }: CollectorWithFlows): Promise<void> {
  await page.goto(`${url}/explore?by=flow.src.ip.addr,flow.dst.ip.addr&limit=1&compare=true`);
  await ranking(page).locator(".own-name", { hasText: "web-1" }).first().waitFor();
  await page
    .getByRole("region", { name: "Flow diagram" })
    .getByRole("img", { name: /^\d+ others: / })
    .first()
    .waitFor();
  for (const shape of ["Lines", "100 %", "Grid", "Stacked"]) {
    await page.getByRole("combobox", { name: "Chart" }).selectOption({ label: shape });
    await page
      .getByRole("img", { name: /over time/ })
      .first()
      .waitFor();
    assert.deepEqual(await axeFindings(page), [], shape);
  }
  await page.getByRole("combobox", { name: "Measure" }).selectOption({ label: "Different destination addresses" });
  await ranking(page).getByRole("columnheader", { name: "Different addresses" }).waitFor();
  await ranking(page).locator("tfoot").getByText(/^\d+$/).waitFor();
  assert.equal(await page.getByRole("region", { name: "Flow diagram" }).count(), 0);
  await page.getByRole("combobox", { name: "Measure" }).selectOption({ label: "Bits per second" });
  await page.getByRole("checkbox", { name: "Both ways" }).check();
  await page.getByText("Below zero: the other way").waitFor();
  await page.getByRole("checkbox", { name: "p95 and maximum" }).check();
  await ranking(page).getByRole("columnheader", { name: "Maximum" }).waitFor();
  assert.match(page.url(), /ways=both&peaks=true/);
  await ranking(page).getByRole("button", { name: "10.10.20.5", exact: true }).first().click();
  const way = page.getByRole("navigation", { name: "Narrowed to" });
  await way.getByText(/^flow\.(?:src|dst)\.ip\.addr = 10\.10\.20\.5$/).waitFor();
  await way.getByRole("button", { name: "All traffic" }).click();
  await way.waitFor({ state: "detached" });
  assert.deepEqual(errors(), []);
}

/** Fields of a line of the file of records. */
type FileRecord = Readonly<Record<string, string | number>>;

/** Terms with what they say of a record, found by other means than the filters of the collector. */
const knownTerms: readonly (readonly [string, (record: FileRecord) => boolean])[] = [
  ["src = 10.10.20.5", (record) => record["flow.src.ip.addr"] === "10.10.20.5"],
  ["dst in 10.10.20.0/24", (record) => String(record["flow.dst.ip.addr"]).startsWith("10.10.20.")],
  ["not src = 192.0.2.77", (record) => record["flow.src.ip.addr"] !== "192.0.2.77"],
  ["bytes > 2000", (record) => Number(record["flow.bytes"]) > 2000],
  ["packets in (3, 40)", (record) => [3, 40].includes(Number(record["flow.packets"]))],
];

/** For ten random filters the page, CSV, the answer of the API and the sum over the records of the file are equal. */
async function numbersAgree({ page }: WatchedPage, { url, directory }: CollectorWithFlows): Promise<void> {
  const status = (await (await fetch(`${url}/api/v1/explore/status`)).json()) as { to: string };
  // Where values over time begin, so that the page asks for no more.
  const to = new Date(Math.floor((Date.parse(status.to) - 5000) / 10_000) * 10_000);
  const from = new Date(to.getTime() - 20_000);
  const records = readFileSync(join(directory, "flows.ndjson"), "utf8")
    .split("\n")
    .flatMap((line) => (line === "" ? [] : [JSON.parse(line) as FileRecord]))
    .filter((record) => {
      const time = new Date(record["@timestamp"] ?? 0);
      return time >= from && time < to;
    });
  assert.ok(records.length > 100, String(records.length));
  const ask = async (filter: string, format: string): Promise<string> => {
    const body = { from: from.toISOString(), to: to.toISOString(), filter, measure: "bytes", when: "received" };
    const response = await fetch(`${url}/api/v1/explore/query?format=${format}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...body, dimensions: ["flow.src.ip.addr"], granularity: "none", limit: 1000 }),
    });
    return response.text();
  };
  for (let turn = 0; turn < 10; turn++) {
    const terms = knownTerms.filter(() => Math.random() < 0.5);
    const isAll = Math.random() < 0.5;
    const filter = terms.map(([term]) => term).join(isAll ? " and " : " or ");
    const holds = (record: FileRecord): boolean =>
      terms.length === 0 || (isAll ? terms.every(([, of]) => of(record)) : terms.some(([, of]) => of(record)));
    const sum = records.filter(holds).reduce((total, record) => total + Number(record["flow.bytes"]), 0);
    const answer = JSON.parse(await ask(filter, "json")) as { total: { value: number } };
    assert.equal(answer.total.value, sum, filter);
    const [head = "", ...lines] = (await ask(filter, "csv")).trim().split(/\r?\n/);
    const column = head.split(",").findIndex((name) => /^(?:bytes|value)/.test(name));
    const ofKeys = lines.filter((line) => /^\d/.test(line));
    assert.equal(
      ofKeys.reduce((total, line) => total + Number(line.split(",")[column]), 0),
      sum,
      `${head}: ${filter}`,
    );
    if (sum === 0) continue;
    const shown = { from: from.toISOString(), to: to.toISOString(), filter, measure: "bytes", when: "received" };
    await page.goto(`${url}/explore?${new URLSearchParams({ ...shown, by: "flow.src.ip.addr" }).toString()}`);
    await ranking(page)
      .locator("tfoot")
      .getByText(formatNumber(sum, "B").replaceAll("\u00a0", " "), { exact: true })
      .waitFor();
  }
}

/** A time as people say it, what is none, a zone, and one of those that are offered. */
async function typeTimes(page: Page): Promise<void> {
  const time = page.getByRole("textbox", { name: "Time", exact: true });
  await time.fill("soon");
  await page.getByText('"soon" is no time here').waitFor();
  await time.press("Escape");
  assert.match(await time.inputValue(), /^\d{4}-\d\d-\d\d .* to /);
  await time.fill("2026-01-20 8–9");
  await page.getByText("2026-01-20 08:00:00 to 09:00:00").waitFor();
  await page.getByText("Choose", { exact: true }).click();
  const zone = page.getByRole("combobox", { name: "Zone of all times on these pages" });
  await zone.fill("Mars/Base");
  await zone.press("Enter");
  await page.getByText('"Mars/Base" is no zone').waitFor();
  await zone.fill("asia/tokyo");
  await zone.press("Enter");
  await page.getByText("to 09:00:00, Asia/Tokyo").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.keyboard.press("Escape");
  await time.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("from") === "2026-01-19T23:00:00Z");
  assert.equal(await time.inputValue(), "2026-01-20 08:00 to 09:00");
  await page.getByText("Choose", { exact: true }).click();
  await page.getByRole("button", { name: "last 15 minutes" }).click();
  await page.waitForURL((url) => url.searchParams.get("from") === "-15m");
}

async function zoom({ page }: WatchedPage): Promise<void> {
  assert.deepEqual(await axeFindings(page), []);
  const chart = page.getByRole("img", { name: /over time/ });
  const box = await chart.locator(".u-over").boundingBox();
  assert.ok(box !== null);
  await page.mouse.move(box.x + box.width * 0.3, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 5 });
  await page.mouse.up();
  await page.waitForURL(/from=\d{4}-.*to=\d{4}-/);
  const span = (): number => {
    const { searchParams } = new URL(page.url());
    return Date.parse(searchParams.get("to") ?? "") - Date.parse(searchParams.get("from") ?? "");
  };
  const zoomed = span();
  const { origin } = new URL(page.url());
  const status = (await (await fetch(`${origin}/api/v1/explore/status`)).json()) as { from: string };
  const kept = Date.now() - Date.parse(status.from);
  assert.ok(zoomed > 0 && zoomed < kept / 2, `${zoomed} of ${kept} ms`);
  await until("the answer of the part", async () => (await page.locator(".results.asking").count()) === 0);
  await page.getByRole("button", { name: "A longer time" }).click();
  await until("a longer time", () => span() > zoomed);
  await page.getByRole("button", { name: "Earlier" }).click();
  await typeTimes(page);
  await ranking(page).getByRole("button", { name: "web-1", exact: true }).first().waitFor();
}

async function faultsAndNothing({ page, errors }: WatchedPage): Promise<void> {
  const filter = page.getByRole("combobox", { name: "Filter" });
  await filter.fill("src > 7");
  await filter.press("Enter");
  await page
    .getByRole("alert")
    .filter({ hasText: /filter:1:5: src is an address.*src > 7.*\^/s })
    .waitFor();
  assert.equal(await ranking(page).getByRole("button", { name: "web-1", exact: true }).first().isVisible(), true);
  assert.deepEqual(await axeFindings(page), []);
  await filter.fill("src = 203.0.113.250");
  await filter.press("Enter");
  await page.getByText("No flow of this time matches the filter").waitFor();
  assert.deepEqual(await axeFindings(page), []);

  // By nothing: all flows together, also after a reload.
  await filter.fill("");
  await filter.press("Enter");
  const dimensions = page.getByRole("group", { name: "Dimensions" });
  await dimensions.getByRole("combobox").nth(1).selectOption({ label: "remove" });
  await dimensions.getByRole("combobox").first().selectOption({ label: "remove" });
  await page.waitForURL(/by=nothing/);
  await page.reload();
  await page.getByRole("img", { name: /over time/ }).waitFor();
  await ranking(page)
    .getByRole("row", { name: /^All .*bit\/s$/ })
    .waitFor();
  assert.deepEqual(await axeFindings(page), []);
  assert.deepEqual(errors(400), []);
}

/** A board of the view that another story saved: made, shown for another time, changed, and told of. */
async function boards({ page, errors }: WatchedPage, running: CollectorWithFlows, receivers: Receivers): Promise<void> {
  await page.goto(`${running.url}/boards`);
  await page.getByRole("region", { name: "Views" }).getByRole("link", { name: "the office" }).waitFor();
  await page.getByRole("button", { name: "New board …" }).click();
  const dialog = page.getByRole("dialog", { name: "New board" });
  await dialog.getByRole("textbox", { name: "Name" }).fill("All of it");
  await dialog.getByRole("combobox", { name: "Add a view" }).selectOption({ label: "the office" });
  assert.deepEqual(await axeFindings(page), []);
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.waitForURL("**/boards?board=all-of-it");
  await page.getByRole("img", { name: "the office over time" }).waitFor();
  const ofBoard = page.getByRole("region", { name: "Ranking of the office" });
  await ofBoard.getByRole("row", { name: /^All / }).waitFor();
  await ofBoard.getByRole("columnheader", { name: "p95" }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await marks(page);
  const time = page.getByRole("textbox", { name: "Time", exact: true });
  await time.fill("2026-01-20 8–9");
  await time.press("Enter");
  await page.getByText("No flows in this time").waitFor();

  await page.goto(`${running.url}/boards`);
  await reports(page, receivers);

  // What a board shows is not deleted below it.
  await page.getByRole("button", { name: "Delete the office" }).click();
  await page.getByRole("button", { name: "Yes, delete the office" }).click();
  await page.getByRole("alert").filter({ hasText: 'is on the board "All of it"' }).waitFor();
  await page.getByRole("button", { name: "Delete All of it" }).click();
  await page.getByRole("button", { name: "Yes, delete All of it" }).click();
  await page.getByRole("cell", { name: "deleted the board all-of-it" }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  assert.deepEqual(errors(400), []);
}

/** A board is sent by mail and to a webhook that fails at first: looked at before, sent once to each, told of, deleted. */
async function reports(page: Page, { hook, mails }: Receivers): Promise<void> {
  await page.getByRole("button", { name: "New report …" }).click();
  const dialog = page.getByRole("dialog", { name: "New report" });
  await dialog.getByRole("textbox", { name: "Name" }).fill("Morning");
  await dialog.getByRole("textbox", { name: /^When/ }).fill("at dawn");
  await dialog.getByRole("textbox", { name: /^Of the time before/ }).fill("1h");
  for (const name of ["noc", "chat"]) await dialog.getByRole("checkbox", { name }).check();
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByRole("alert").filter({ hasText: "daily" }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await dialog.getByRole("textbox", { name: /^When/ }).fill("daily 07:00");
  await dialog.getByRole("button", { name: "Save" }).click();
  const row = page.getByRole("row", { name: /^Morning / });
  await row.getByRole("button", { name: "Preview Morning" }).click();
  const preview = page.getByRole("dialog", { name: /^Morning: / });
  await preview
    .frameLocator("iframe")
    .getByText(/web-1|office/)
    .first()
    .waitFor();
  await page.keyboard.press("Escape");
  hook.status = 503;
  await row.getByRole("button", { name: /^Send now/ }).click();
  await until("the webhook was tried", () => hook.received.length > 0);
  hook.status = 200;
  await until("it is told of", async () => {
    await page.reload();
    await row.waitFor();
    return /sent/.test(await row.innerText());
  });
  assert.deepEqual([mails.length, hook.received.filter(({ answered }) => answered === 200).length], [1, 1]);
  assert.match(mails[0] ?? "", /^Subject: Morning: .*filename=the-office\.csv/ms);
  assert.deepEqual(await axeFindings(page), []);
  await row.getByRole("button", { name: "Delete the report Morning" }).click();
  await row.waitFor({ state: "detached" });
}

/** A person sets a mark; it is on the chart, by keyboard too, until marks are hidden. */
async function marks(page: WatchedPage["page"]): Promise<void> {
  await page.getByRole("button", { name: "Set a mark …" }).click();
  const dialog = page.getByRole("dialog", { name: "Set a mark" });
  await dialog.getByRole("textbox", { name: "Text" }).fill("new uplink");
  assert.deepEqual(await axeFindings(page), []);
  await dialog.getByRole("button", { name: "Save" }).click();
  const signs = page.getByRole("list", { name: "What happened in this time" });
  const sign = signs.getByRole("button", { name: /marks? from |^Mark, / }).last();
  await sign.waitFor();
  await sign.focus();
  await page
    .getByRole("tooltip")
    .getByText(/: new uplink$/)
    .waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.keyboard.press("Escape");
  assert.equal(await page.getByRole("tooltip").count(), 0);
  await page.getByRole("checkbox", { name: "Marks" }).uncheck();
  assert.equal(await signs.count(), 0);
  await page.getByText(/^List \(\d+\)$/).click();
  const list = page.getByRole("region", { name: "List of marks" });
  await list.getByRole("button", { name: "Delete new uplink" }).click();
  await list.getByText(/: new uplink$/).waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  await page.getByRole("checkbox", { name: "Marks" }).check();
}

async function overview({ page, errors }: WatchedPage, running: CollectorWithFlows): Promise<void> {
  await page.goto(running.url);
  await page.getByRole("region", { name: "Who sends most" }).getByRole("link", { name: "web-1" }).waitFor();
  const networks = page.getByRole("region", { name: "Networks without a name" });
  await networks.getByRole("link", { name: "192.0.2.0/24" }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await networks.getByRole("button", { name: "name it: 192.0.2.0/24" }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Name", exact: true }).fill("lab");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("region", { name: "Who sends most" }).getByRole("link", { name: "web-1" }).click();
  await page.waitForURL(/\/explore\?.*web-1/);
  assert.deepEqual(errors(), []);
}

test("Explore and what the Overview has of it", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const receivers = await startReceivers(t);
  const running = await startExplore(t, receivers.rules);
  const open = async (theme: "light" | "dark" = "light"): Promise<WatchedPage> => {
    const watched = await openPage(browser, { theme });
    await watched.page.goto(`${running.url}/explore`);
    await ranking(watched.page).getByRole("button", { name: "web-1", exact: true }).first().waitFor();
    return watched;
  };
  await t.test(
    "ranking, chart and flow picture by names: a click filters, back takes it away, the address is the view",
    async () => filterAndShare(await open(), running),
  );
  await t.test("a board shows views that people share", async () => boards(await open("dark"), running, receivers));
  await t.test("a part of the chart drawn over is zoomed in on, and buttons move in time", async () =>
    zoom(await open("dark")),
  );
  await t.test("a filter with a fault keeps what was shown and says where; nothing found says what to do", async () =>
    faultsAndNothing(await open()),
  );
  await t.test("drawn in other ways, both ways, with peaks, names and the way back", async () =>
    looks(await open(), running),
  );
  await t.test("page, CSV, API and the records of the file have the same sums", async () =>
    numbersAgree(await open(), running),
  );
  await t.test("the Overview has the traffic by name, and what has none", async () => overview(await open(), running));
});

test("Explore: the filter offers fields, operators and the operator's own values, by keyboard alone", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { url, collector } = await startWithFlows(t, { SVC_EXPLORE_ENABLE: "true" });
  await collector().call("CreateUdm", { udm: { key: "10.10.20.5", name: "web one", tags: ["web"] } });
  await collector().call("CreateUdm", { udm: { key: "10.99.0.1", name: "web two, unused" } });
  const { page, errors } = await openPage(browser, { theme: "dark", width: 390 });
  await page.goto(`${url}/explore`);
  const filter = page.getByRole("combobox", { name: "Filter" });
  await filter.waitFor();
  await filter.focus();
  const offers = page.getByRole("listbox", { name: "What may stand here" });
  await page.keyboard.type("src.na");
  await offers.getByRole("option", { name: /^src\.name/ }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await filter.inputValue(), "src.name ");
  await offers.getByRole("option", { name: "=", exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await offers.waitFor({ state: "hidden" });
  await page.keyboard.press("Control+Space");
  await offers.getByRole("option", { name: "=", exact: true }).waitFor();
  await page.keyboard.type("= we");
  await offers.getByRole("option", { name: '"web two, unused"' }).waitFor();
  await offers.getByRole("option", { name: '"web one"' }).click();
  assert.equal(await filter.inputValue(), 'src.name = "web one" ');
  await offers.getByRole("option", { name: "and", exact: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/filter=src\.name/);
  assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
  assert.deepEqual(errors(404), []);
});
