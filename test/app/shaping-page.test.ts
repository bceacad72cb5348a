import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { anonymizeTexts, cutAddresses, RollupSink } from "../../src/output/index.ts";
import { runProgram } from "../../src/app/index.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { tempDirectory } from "../support/temp-directory.ts";

const page = readFileSync(resolve(import.meta.dirname, "../../../docs/shaping.md"), "utf8");
const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "gm"))].map(([, text = ""]) => text);

test("settings of the page are accepted", async (t) => {
  const directory = tempDirectory(t);
  const [key, file] = [join(directory, "key"), join(directory, "netgloss.yml")];
  writeFileSync(key, "0123456789abcdef0123456789abcdef");
  assert.equal(blocks("yaml").length, 3);
  for (const text of blocks("yaml")) {
    writeFileSync(file, text.replace("/run/secrets/cryptopan", key));
    const terminal = createFakeTerminal(["config", "check", "--config", file, "--running"], {});
    assert.equal(await runProgram(terminal), 0, terminal.written.err);
  }
});

test("addresses of the page become what it says", () => {
  const cut = anonymizeTexts(cutAddresses(24, 48), false);
  const row = page.split("\n").find((line) => line.startsWith("| `prefix`")) ?? "";
  const [, four, six] = /`([0-9.]+)` \| `([0-9a-f:]+)` \|$/.exec(row) ?? [];
  assert.deepEqual([cut("192.0.2.77"), cut("2001:db8:1:2::3")], [four, six]);
});

test("a rollup writes the record of the page", async () => {
  const written: string[] = [];
  const sink = new RollupSink(
    {
      name: "page",
      write: (lines: Uint8Array, _count: number) => void written.push(Buffer.from(lines).toString()),
      start: async () => {},
      stop: async () => {},
    },
    {
      fields: ["flow.dst.ip.addr", "l4.proto.id"],
      maxGroups: 10,
      intervalMs: 60_000,
      clock: { now: () => Date.UTC(2026, 10, 22, 12, 0, 30) },
      report: { added() {}, overflowed() {}, written() {}, groups() {} },
    },
  );
  const record = (bytes: number, start: string, end: string): string =>
    `{"flow.dst.ip.addr":"198.51.100.7","l4.proto.id":6,"flow.start.timestamp":"2026-11-22T${start}Z","flow.end.timestamp":"2026-11-22T${end}Z","flow.bytes":${1000 * bytes},"flow.packets":400,"flow.raw.bytes":${bytes},"flow.raw.packets":1}\n`;
  const lines = [
    record(500, "12:00:01", "12:00:58.5"),
    record(400, "11:59:55", "12:00:10"),
    record(600, "11:59:55.5", "12:00:58"),
  ];
  sink.write(Buffer.from(lines.join("")), lines.length);
  await sink.stop();
  assert.deepEqual(written, blocks("json"));
});
