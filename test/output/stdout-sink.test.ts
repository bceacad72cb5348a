import assert from "node:assert/strict";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync } from "node:fs";
import { open, readFile, type FileHandle } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { StdoutSink } from "../../src/output/index.ts";
import type { Check } from "../../src/base/report/index.ts";
import { lines, numbers, outputFixture, range, until } from "./output-fixture.ts";
import { cleanUp } from "../support/clean-up.ts";

interface Outcome {
  readonly sent: number;
  readonly written: number;
  readonly full: number;
  readonly stopped: number;
  readonly closed: number;
  readonly isClosed: boolean;
  readonly checks: readonly Check[];
  readonly warnings: readonly string[];
  /** Longest time between two turns of a loop that yields each millisecond. */
  readonly longestTurn: number;
}

const script = join(import.meta.dirname, "stdout-child.js");

function start(
  stdout: "pipe" | number | Socket,
  ...args: number[]
): { child: ChildProcess; isFull: Promise<void>; outcome: Promise<Outcome> } {
  const child = spawn(process.execPath, [script, ...args.map(String)], { stdio: ["ignore", stdout, "pipe"] });
  let said = "";
  const isFull = new Promise<void>((resolve) => {
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (said.includes("full\n")) resolve();
    });
  });
  const outcome = once(child, "close").then(([code]) => {
    assert.equal(code, 0, said);
    return JSON.parse(said.trimEnd().split("\n").at(-1) ?? "") as Outcome;
  });
  return { child, isFull, outcome };
}

test("a pipe that is read gets every line", async () => {
  const { child, outcome } = start("pipe", 10_000_000, 60_000, 300);
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (part: string) => (text += part));
  const { sent, written, full, stopped } = await outcome;
  assert.deepEqual([sent, written, full, stopped], [30_000, 30_000, 0, 0]);
  assert.deepEqual(numbers(text), range(0, 30_000));
});

/** Both ends of a pipe; what Node calls a pipe of a child is a pair of sockets. */
async function makePipe(t: TestContext): Promise<{ reader: FileHandle; writer: FileHandle }> {
  const { folder } = await outputFixture(t);
  const path = join(folder, "pipe");
  execFileSync("mkfifo", [path]);
  const reader = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = await open(path, constants.O_WRONLY);
  cleanUp(t, () => reader.close().catch(() => {}));
  cleanUp(t, () => writer.close().catch(() => {}));
  return { reader, writer };
}

test("a pipe whose reader stalls: bounded, counted, decoding goes on, and the process ends in time", async (t) => {
  const { reader, writer } = await makePipe(t);
  const { child, isFull, outcome } = start(writer.fd, 65_536, 50);
  await isFull;
  child.kill("SIGTERM");
  const began = performance.now();
  const { sent, written, full, stopped, longestTurn } = await outcome;
  assert.ok(performance.now() - began < 60_000);
  assert.ok(longestTurn < 30_000);
  assert.ok(full > 0 && stopped > 0);
  assert.equal(written + full + stopped, sent);
  const text = Buffer.alloc(1_000_000);
  const { bytesRead } = await reader.read(text);
  const whole = numbers(text.toString("utf8", 0, text.lastIndexOf("\n", bytesRead - 1) + 1));
  assert.deepEqual(whole, range(0, whole.length));
  assert.ok(whole.length >= written);
});

test("a socket whose peer stalls: the process ends in time", async () => {
  const { child, isFull, outcome } = start("pipe", 65_536, 50);
  await isFull;
  child.kill("SIGTERM");
  const { sent, written, full, stopped } = await outcome;
  assert.ok(full > 0 && stopped > 0);
  assert.equal(written + full + stopped, sent);
});

test("a reader of a pipe that leaves ends the output, not the process", async (t) => {
  const { reader, writer } = await makePipe(t);
  const { outcome } = start(writer.fd, 1_000_000, 50);
  await writer.close();
  await until(async () => (await reader.read(Buffer.alloc(100)).catch(() => ({ bytesRead: 0 }))).bytesRead > 0);
  await reader.close();
  const { isClosed, closed, sent, written, checks, warnings } = await outcome;
  assert.equal(isClosed, true);
  const detail = "the reader is gone; records for it are dropped and counted";
  assert.deepEqual(checks, [{ name: "output stdout", ready: true, degraded: true, detail }]);
  assert.deepEqual(warnings, ["the reader of the output is gone; records for it are dropped"]);
  assert.ok(closed > 0);
  assert.equal(written + closed, sent);
});

test("a peer of a socket that leaves ends the output, not the process", async () => {
  const { child, outcome } = start("pipe", 1_000_000, 50);
  child.stdout?.once("data", () => child.stdout?.destroy());
  const { isClosed, closed, sent, written } = await outcome;
  assert.equal(isClosed, true);
  assert.ok(closed > 0);
  assert.equal(written + closed, sent);
});

test("a regular file gets every line and keeps what was there", async (t) => {
  const { folder } = await outputFixture(t);
  const path = join(folder, "out");
  const fd = openSync(path, "a");
  cleanUp(t, () => closeSync(fd));
  for (let i = 0; i < 2; i++) {
    const { written } = await start(fd, 10_000_000, 5000, 50).outcome;
    assert.equal(written, 5000);
  }
  assert.deepEqual(numbers(await readFile(path, "utf8")), [...range(0, 5000), ...range(0, 5000)]);
});

test("a socket, as a service manager gives, is written to", async (t) => {
  const { folder } = await outputFixture(t);
  const path = join(folder, "journal.sock");
  let text = "";
  const server = createServer((socket) => {
    socket.setEncoding("utf8").on("data", (part: string) => (text += part));
  });
  server.listen(path);
  await once(server, "listening");
  const client = connect(path);
  await once(client, "connect");
  const { written } = await start(client, 10_000_000, 5000, 50).outcome;
  client.destroy();
  assert.equal(written, 5000);
  await until(() => text.length === lines(0, 5000).length);
  assert.deepEqual(numbers(text), range(0, 5000));
  server.close();
});

test("a few a second: the others are left out, which is no loss", async (t) => {
  const { folder, options, metrics } = await outputFixture(t);
  let now = 5000;
  const path = join(folder, "out");
  const fd = openSync(path, "a");
  cleanUp(t, () => closeSync(fd));
  const clock = { now: () => now, monotonic: () => now };
  const sink = new StdoutSink({ ...options, clock, fd, maxRate: 3 });
  await sink.start();
  for (let i = 0; i < 30; i++) {
    sink.write(lines(i * 2, 2), 2);
    now += 100;
  }
  await sink.stop();
  assert.deepEqual(numbers(await readFile(path, "utf8")), [0, 1, 2, 20, 21, 22, 40, 41, 42]);
  const value = (name: string): Promise<number | undefined> =>
    metrics.value(`netgloss_output_${name}`, { output: "stdout" });
  assert.equal(await value("left_out_records_total"), 51);
  assert.equal(await value("records_total"), 9);
  assert.equal(
    await metrics.value("netgloss_output_dropped_records_total", { output: "stdout", reason: "queue_full" }),
    0,
  );
});
