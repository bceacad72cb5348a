import assert from "node:assert/strict";
import { exec, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { axeFindings, openBrowser, openPage } from "../support/browser.ts";
import { cleanUp } from "../support/clean-up.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

/** What a person finds on the pages, from the Overview on. */
async function findAll(t: TestContext, url: string): Promise<void> {
  const largest = async (measure: string): Promise<string> => {
    const body = JSON.stringify({ dimensions: ["flow.src.ip.subnet.name"], measure, granularity: "none", limit: 1 });
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${url}api/v1/explore/query`, { method: "POST", headers, body });
    const { rows } = (await response.json()) as { rows: { key: string[] }[] };
    return rows[0]?.key[0] ?? "";
  };
  await until("the scan has begun", async () => (await largest("destinations")) === "camera-66", 60_000);
  await until("the backup has begun", async () => (await largest("bytes")) === "db-1", 60_000);
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { page, errors } = await openPage(browser);
  const ranking = page.getByRole("region", { name: "Ranking" });
  await page.goto(url);
  await page.getByRole("region", { name: "Who sends most" }).getByRole("link", { name: "db-1" }).click();
  await ranking
    .getByRole("row", { name: /10\.10\.20\.9.*bit\/s/ })
    .first()
    .waitFor();
  await page.goBack();
  await page.getByRole("link", { name: "Most peers" }).click();
  await ranking.locator("tbody tr").first().getByText("10.20.0.66").waitFor();
  await ranking.locator("tbody tr").first().getByText("camera-66").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.goBack();
  await page.getByRole("link", { name: /datagrams? of edge-2 .* never came/ }).click();
  await page.waitForURL(/exporter=127\.0\.1\.9/);
  await page.goBack();
  await page.getByRole("link", { name: "Since yesterday" }).click();
  await ranking.getByRole("columnheader", { name: "Change" }).waitFor();
  // Its tenant sends six times as much as on the day before; others have a third more or less, and what the demonstration sends now.
  const grown = ranking.getByRole("row", { name: /media/ });
  await grown.getByText(/^×[5-7]\.\d$/).waitFor();
  assert.equal(await ranking.locator("tbody tr").first().getByText("media").count(), 1, "it is the first");
  assert.equal(await page.getByText(/nothing to compare with/).count(), 0);
  assert.deepEqual(errors(), []);
}

const root = join(import.meta.dirname, "../../..");

test("the demonstration shows names, interfaces polled by SNMP, a change by its curl line in the next table, and ends cleanly on Ctrl-C", async (t) => {
  if (requireProgram(t, "curl", "apt-get install curl") === undefined) return;
  const directory = tempDirectory(t);
  const child = spawn(process.execPath, ["bin/netgloss.js", "demo", "--interval", "0.3"], {
    cwd: root,
    env: { PATH: process.env["PATH"], TMPDIR: directory },
    stdio: ["ignore", "pipe", "pipe"],
  });
  cleanUp(t, () => child.kill("SIGKILL"));
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));

  await until("the name of the sample in a table", () => / web-1:443 /.test(out));
  for (const exporter of ["edge-1", "edge-2", "dc-1"]) {
    await until(`records of ${exporter}`, () => new RegExp(`^${exporter} `, "m").test(out));
  }
  for (const row of ["edge-1 +ge-0/0/1", "edge-1 +ge-0/0/2", "edge-2 +xe-1/0/0", "edge-2 +xe-1/0/1"]) {
    const counters = (): RegExpMatchArray[] => [...out.matchAll(new RegExp(`^${row} +(\\d+) +(\\d+)$`, "gm"))];
    await until(`moving counters of ${row}`, () => {
      const [first, last] = [counters().at(0), counters().at(-1)];
      return Number(last?.[1]) > Number(first?.[1]) && Number(last?.[2]) > Number(first?.[2]);
    });
  }
  for (const flow of ["edge-1 .* ge-0/0/1 +ge-0/0/2 ", "edge-2 .* xe-1/0/0 +xe-1/0/1 "]) {
    await until(`names of interfaces on flows: ${flow}`, () => new RegExp(`^${flow}`, "m").test(out));
  }
  assert.match(out, /^http:\/\/127\.0\.0\.1:\d+\/\n/, "the first line is the URL");
  for (const each of out.split("\n")) assert.ok(each.length <= 80 || each.startsWith("  curl "), each);
  const line = /^ {2}(curl .*)$/m.exec(out)?.[1];
  assert.ok(line !== undefined, out);
  await promisify(exec)(line);
  const shown = out.length;
  await until("the name that was given", () => / web-shop:443 /.test(out.slice(shown)));
  const [url] = out.split("\n");
  const undone = await fetch(`${url}api/v1/enrich/ipaddr/udm.v1.UdmToolsService/UndoChange`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id: 1 }),
  });
  assert.equal(((await undone.json()) as { change?: number }).change, 2, "it can be undone");
  await t.test(
    "who fills the link, who scans, which exporter loses, what changed since yesterday: two clicks each",
    (inner) => findAll(inner, url ?? ""),
  );

  child.kill("SIGINT");
  const [code] = (await once(child, "close")) as [number];
  assert.equal(code, 0);
  assert.equal(err, "");
  assert.deepEqual(readdirSync(directory), [], "nothing is kept");
});
