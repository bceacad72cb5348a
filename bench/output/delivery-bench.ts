// What delivering lines costs in process, next to what the same bytes cost on a bare socket; and what the spool writes, next to
// writing and syncing the same bytes. What it costs in the collector, `delivery-cost` measures.
import { once } from "node:events";
import { mkdtemp, open, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { adapterOf } from "../../test/output/adapter-fixture.ts";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { median } from "../support/median.ts";
import { decodeLines, startDelivery, type Lines } from "./delivery-lines.ts";

const rounds = 5;
/** How often the lines are delivered in a round. */
const repeats = 8;
const spoolRepeats = 6;

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
try {
  const { lines, nanoseconds } = decodeLines();
  const bare = await measureSocket(lines, nanoseconds);
  await measureCpu(lines, bare, "none");
  await measureCpu(lines, bare, "gzip");
  await measureSpool(lines);
} finally {
  await rm(directory, { recursive: true });
}

/** The same bytes, written to a socket whose reader throws them away: what no output by TCP can do without. */
async function measureSocket(lines: readonly Lines[], before: number): Promise<number> {
  const sink = startHelper("output/sink-process.js");
  const port = await sink.ask<number>("listen");
  const count = repeats * lines.reduce((sum, one) => sum + one.count, 0);
  const length = repeats * lines.reduce((sum, one) => sum + one.bytes.length, 0);
  const figures: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const socket = connect(port, "127.0.0.1");
    const start = process.cpuUsage();
    socket.write(`POST / HTTP/1.1\r\nhost: sink\r\nconnection: close\r\ncontent-length: ${length}\r\n\r\n`);
    for (let i = 0; i < repeats; i++) for (const one of lines) socket.write(one.bytes);
    socket.resume();
    await once(socket, "close");
    const { user, system } = process.cpuUsage(start);
    if (round > 0) figures.push(((user + system) * 1000) / count);
  }
  await sink.end();
  reportRow({
    what: "the same bytes written to a socket",
    value: median(figures),
    unit: "ns/record",
    peer: { what: "decoding it, NetFlow v9 without metadata", value: before },
  });
  return median(figures);
}

async function measureCpu(lines: readonly Lines[], bare: number, compression: "none" | "gzip"): Promise<void> {
  const sink = startHelper("output/sink-process.js");
  const port = await sink.ask<number>("listen");
  const delivery = startDelivery(
    adapterOf("GENERIC_HTTP", { ADDRESSES: [`http://127.0.0.1:${port}`], COMPRESSION: compression }),
  );
  const count = repeats * lines.reduce((sum, one) => sum + one.count, 0);
  const figures: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const target = delivery.state().deliveredRecords + count;
    const start = process.cpuUsage();
    for (let i = 0; i < repeats; i++) for (const one of lines) delivery.add(one.bytes, one.count, () => {});
    await waitUntil(() => delivery.state().deliveredRecords >= target);
    const { user, system } = process.cpuUsage(start);
    if (round > 0) figures.push(((user + system) * 1000) / count);
  }
  await delivery.stop(1000);
  await sink.end();
  reportRow({
    what: `delivery over HTTP, ${compression === "none" ? "uncompressed" : compression}`,
    value: median(figures),
    unit: "ns/record",
    peer: { what: "the bare socket", value: bare },
  });
}

/** Into a store that hangs, so that nothing but the spool works; and the same bytes written and synced by hand. */
async function measureSpool(lines: readonly Lines[]): Promise<void> {
  const bytes = spoolRepeats * lines.reduce((sum, one) => sum + one.bytes.length, 0);
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const delivery = startDelivery(
      { open: () => new Promise(() => {}), send: () => new Promise(() => {}), close: async () => {} },
      { SPOOL_MODE: "always", stateDirectory: join(directory, String(round)) },
    );
    let left = spoolRepeats * lines.length;
    const start = performance.now();
    const spooled = new Promise<void>((resolve) => {
      for (let i = 0; i < spoolRepeats; i++) {
        for (const one of lines) {
          delivery.add(one.bytes, one.count, () => {
            if (--left === 0) resolve();
          });
        }
      }
    });
    await spooled;
    const ms = performance.now() - start;
    await delivery.stop(0);
    const byHand = await writeByHand(
      join(directory, `by-hand-${round}`),
      Array.from({ length: spoolRepeats }, () => lines).flat(),
    );
    for (const name of [String(round), `by-hand-${round}`]) await rm(join(directory, name), { recursive: true });
    if (round > 0) {
      ours.push(bytes / 1e3 / ms);
      theirs.push(bytes / 1e3 / byHand);
    }
  }
  reportRow({
    what: "spool always, written and synced",
    value: median(ours),
    unit: "MB/s",
    peer: { what: "writing and syncing the same bytes", value: median(theirs) },
    goal: "≥ 0.7",
  });
}

async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** @returns milliseconds for writing the lines with a sync after as many bytes as a batch has. */
async function writeByHand(path: string, lines: readonly Lines[]): Promise<number> {
  const start = performance.now();
  const file = await open(path, "w");
  let unsynced = 0;
  for (const { bytes } of lines) {
    await file.write(bytes);
    unsynced += bytes.length;
    if (unsynced < 8 << 20) continue;
    await file.datasync();
    unsynced = 0;
  }
  await file.datasync();
  const ms = performance.now() - start;
  await file.close();
  return ms;
}
