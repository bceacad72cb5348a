import assert from "node:assert/strict";
import { exec, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { cleanUp } from "../support/clean-up.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

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

  child.kill("SIGINT");
  const [code] = (await once(child, "close")) as [number];
  assert.equal(code, 0);
  assert.equal(err, "");
  assert.deepEqual(readdirSync(directory), [], "nothing is kept");
});
