import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { runProgram } from "../../src/app/index.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { tempDirectory } from "../support/temp-directory.ts";

const records = [
  '{"flow.bytes":1,"flow.src.ip.addr":"10.0.0.1"}',
  '{"flow.bytes":2}',
  '{ "flow.bytes" : 3, "x" : null }',
];

test("netgloss filter passes on the records of the standard input that match a filter", async () => {
  const [first = "", second = "", third = ""] = records;
  // Pieces need not end where lines do, nor the last line in a line feed.
  const text = `${first}\n\n${second}\n${third}`;
  const terminal = createFakeTerminal(["filter", "bytes >= 2 or src exists and bytes > 5"], {}, [
    text.slice(0, 20),
    Buffer.from(text.slice(20)),
  ]);
  assert.equal(await runProgram(terminal), 0);
  assert.equal(terminal.written.out, `${second}\n${third}\n`);
});

test("netgloss filter names lines and files that cannot be read, and filters the others", async (t) => {
  const path = join(tempDirectory(t), "records.ndjson");
  writeFileSync(path, `${records.join("\n")}\nno JSON\n[1]\n`);
  const terminal = createFakeTerminal(["filter", "--count", "`x` not exists", path, `${path}.none`]);
  assert.equal(await runProgram(terminal), 1);
  assert.equal(terminal.written.out, "3\n");
  assert.match(terminal.written.err, /records.ndjson:4: no JSON object\n.*records.ndjson:5: no JSON object\n.*ENOENT/);
});

test("netgloss filter shows where an expression is wrong", async () => {
  const terminal = createFakeTerminal(["filter", "--check", "bytes > 1 and sorce = 10.0.0.1"]);
  assert.equal(await runProgram(terminal), 1);
  assert.match(
    terminal.written.err,
    /^error: expression:1:15: there is no field sorce: .*\n {2}bytes .*\n {16}\^{5}\n$/,
  );
});

test("netgloss filter writes all to a pipe that is read slowly, and ends when its reader goes away", async () => {
  const run = (): ReturnType<typeof spawn> =>
    spawn(
      process.execPath,
      [join(resolve(import.meta.dirname, "../../.."), "bin/netgloss.js"), "filter", "bytes > 0"],
      {
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
  const line = `{"flow.bytes":1,"x":"${"y".repeat(1000)}"}\n`;
  const input = line.repeat(2000);
  const slow = run();
  slow.stdin?.end(input);
  let length = 0;
  for await (const piece of slow.stdout ?? []) {
    length += (piece as Buffer).length;
    await setTimeout(1);
  }
  assert.equal(length, input.length);

  const left = run();
  left.stdin?.on("error", () => {});
  left.stdin?.write(input);
  left.stdout?.destroy();
  left.stdin?.end(input);
  assert.equal((await once(left, "exit"))[0], 0);
});
