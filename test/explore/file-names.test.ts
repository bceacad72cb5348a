// A name is that of one file for ever: what is noted of files by their names, and their order, rely on that.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readQuery, type EmbeddedExplore } from "../../src/explore/index.ts";
import { until } from "../support/until.ts";
import { exploreDirectory, openExplore, takeLines } from "./explore-fixture.ts";

const never = new AbortController().signal;
const start = Date.UTC(2026, 10, 22, 4);
const perSecond = 3000;
const rollups = { maxDays: 90, maxBytes: 2 ** 30, fields: [] };

/** Records of one second, with texts that do not compress. */
function linesOf(second: number, count: number): Buffer {
  const lines = Array.from({ length: count }, (_, i) =>
    JSON.stringify({
      "@timestamp": new Date(start + 1000 * second + (i % 1000)).toISOString(),
      "flow.export.type": "ipfix",
      "flow.src.ip.addr": `10.${second % 256}.${i >> 8}.${i % 256}`,
      "flow.src.host.name": randomBytes(400).toString("base64"),
      "flow.bytes": 1,
    }),
  );
  return Buffer.from(`${lines.join("\n")}\n`);
}

/** Without what tells sorted files from others. */
const fileNames = (directory: string): readonly string[] => [
  ...new Set(
    readdirSync(directory)
      .filter((name) => name.startsWith("flows-"))
      .map((name) => name.slice("flows-".length, "flows-20261122T04-0000".length)),
  ),
];

/** A bound removes files also before they are rolled up, so that is waited for. */
const rolledUp = (explore: EmbeddedExplore, from: number): Promise<boolean> =>
  until("records are rolled up", async () => {
    await explore.flush();
    return Date.parse(explore.status().rollups?.to ?? "") >= from;
  });

async function flowsOf(explore: EmbeddedExplore, at: number): Promise<number> {
  const range = { from: new Date(start).toISOString(), to: new Date(start + 3_600_000).toISOString() };
  return (await explore.query(readQuery({ ...range, measure: "flows", granularity: "none" }, at), never)).total.value;
}

test("where the bound on bytes removes files within their hour, rollups keep the sums of each, also after a restart", async (t) => {
  const directory = exploreDirectory(t);
  let at = start;
  const config = { maxBytes: 16 * 2 ** 20, maxHours: 24, rollups };
  const options = { directory, clockNow: () => at, config };
  const first = await openExplore(t, options);
  let sent = 0;
  const send = async (explore: EmbeddedExplore): Promise<void> => {
    at = start + 1000 * sent;
    takeLines(explore, linesOf(sent++, perSecond));
    await rolledUp(explore, at);
    assert.equal(await flowsOf(explore, at), perSecond * sent);
  };
  await send(first);
  const [oldest = ""] = fileNames(directory);
  while (fileNames(directory).includes(oldest)) {
    assert.ok(sent < 300, "the bound was never reached");
    await send(first);
  }
  for (let i = 0; i < 8; i++) await send(first);
  assert.ok(fileNames(directory).every((name) => name > oldest));
  await first.stop();
  const second = await openExplore(t, options);
  for (let i = 0; i < 8; i++) await send(second);
});

test("the file after one that was set aside has another name, so that rollups of the damaged one answer", async (t) => {
  const directory = exploreDirectory(t);
  let at = start;
  const options = { directory, clockNow: () => at, config: { maxHours: 24, rollups } };
  const first = await openExplore(t, options);
  takeLines(first, linesOf(0, 1000));
  await first.flush();
  at = start + 3_600_000;
  takeLines(first, linesOf(3600, 500));
  await first.flush();
  await rolledUp(first, start);
  await first.stop();

  at = start + 60_000;
  for (const name of readdirSync(directory)) {
    if (!/^flows-20261122T04.*\.duckdb$/.test(name)) continue;
    const bytes = readFileSync(join(directory, name));
    writeFileSync(join(directory, name), bytes.fill(1, 4096));
  }
  const second = await openExplore(t, options);
  takeLines(second, linesOf(60, 200));
  await second.flush();
  assert.equal(await flowsOf(second, at), 1200);
});
