import assert from "node:assert/strict";
import { test } from "node:test";
import type { RecordBatch } from "../../../src/output/index.ts";
import { Spool } from "../../../src/output/delivery/spool.ts";
import type { SpoolOptions } from "../../../src/output/delivery/spool-format.ts";
import { silentLog } from "../../../src/base/report/index.ts";
import { createMemoryDisk, type MemoryDisk } from "../../support/memory-disk.ts";

interface Counts {
  dropped: Record<string, number>;
  setAside: number;
  failed: string[];
}

function spoolOn(
  disk: MemoryDisk,
  given: Partial<SpoolOptions> = {},
): { spool: Spool; counts: Counts; kill: () => void } {
  const counts: Counts = { dropped: {}, setAside: 0, failed: [] };
  const process = disk.open();
  const spool = new Spool({
    directory: "/spool",
    io: process.io,
    maxBytes: 10_000,
    segmentBytes: 1000,
    whenFull: "drop_oldest",
    log: silentLog,
    report: {
      dropped: (reason, records) => void (counts.dropped[reason] = (counts.dropped[reason] ?? 0) + records),
      setAside: () => void counts.setAside++,
      failed: (operation, code) => void counts.failed.push(`${operation} ${code}`),
    },
    ...given,
  });
  return { spool, counts, kill: () => process.kill() };
}

function batch(number: number, count = 1, pad = ""): RecordBatch {
  const chunks = Array.from({ length: count }, (_, i) => Buffer.from(`{"n":${number},"i":${i},"pad":"${pad}"}\n`));
  const byteLength = chunks.reduce((sum, { length }) => sum + length, 0);
  return { id: { instance: "abcdefghijkl", number }, chunks, count, byteLength, oldestAt: 1000 + number };
}

async function takeAll(spool: Spool): Promise<number[]> {
  const numbers: number[] = [];
  for (let taken = await spool.take(); taken !== undefined; taken = await spool.take()) {
    numbers.push(taken.batch.id.number);
    assert.equal(Buffer.concat(taken.batch.chunks).toString().split("\n").length - 1, taken.batch.count);
    taken.done();
  }
  return numbers;
}

test("batches come back in their order and as they were, also in the next run", async () => {
  const disk = createMemoryDisk();
  const { spool } = spoolOn(disk, { maxBytes: 100_000 });
  await spool.open();
  for (let i = 0; i < 20; i++) await spool.append(batch(i, 1 + (i % 3), "x".repeat(40 * i)));
  const first = await spool.take();
  assert.deepEqual(first?.batch.id, { instance: "abcdefghijkl", number: 0 });
  assert.equal(first?.batch.oldestAt, 1000);
  first?.done();
  await spool.close();

  const next = spoolOn(disk);
  await next.spool.open();
  assert.equal(next.spool.oldestAt, 1001);
  assert.deepEqual(
    await takeAll(next.spool),
    Array.from({ length: 19 }, (_, i) => i + 1),
  );
  assert.ok(next.spool.isEmpty);
  await next.spool.close();
  assert.deepEqual(
    [...disk.files.keys()].filter((path) => !path.endsWith("/position")),
    [],
    "what is delivered leaves no file",
  );
  assert.equal(next.counts.setAside, 0);
});

test("a batch that was taken and not delivered is read again by the next run, those delivered out of order are not", async () => {
  const disk = createMemoryDisk();
  const { spool, kill } = spoolOn(disk);
  await spool.open();
  for (let i = 0; i < 8; i++) await spool.append(batch(i, 1, "x".repeat(300)));
  const taken = [];
  for (let i = 0; i < 6; i++) taken.push(await spool.take());
  for (const i of [5, 0, 2, 4]) taken[i]?.done();
  taken[1]?.giveBack(taken[1].batch);
  await new Promise((resolve) => setTimeout(resolve, 5));
  kill();
  const next = spoolOn(disk);
  await next.spool.open();
  assert.deepEqual(await takeAll(next.spool), [1, 3, 6, 7]);
});

test("when it is full the oldest segment goes, or the newest batch", async () => {
  for (const whenFull of ["drop_oldest", "drop_newest"] as const) {
    const disk = createMemoryDisk();
    const { spool, counts } = spoolOn(disk, { whenFull, maxBytes: 3000, segmentBytes: 500 });
    await spool.open();
    for (let i = 0; i < 30; i++) await spool.append(batch(i, 2, "x".repeat(50)));
    assert.ok(spool.byteLength <= 3000);
    const left = await takeAll(spool);
    assert.equal(counts.dropped["spool_full"], 2 * (30 - left.length));
    const firstLeft = whenFull === "drop_oldest" ? 30 - left.length : 0;
    assert.deepEqual(
      left,
      left.map((_, i) => firstLeft + i),
    );
  }
});

test("a tail that was torn is set aside when what is before it is delivered", async () => {
  const whole = createMemoryDisk();
  const { spool } = spoolOn(whole);
  await spool.open();
  for (let i = 0; i < 3; i++) await spool.append(batch(i));
  const path = "/spool/000000000001.spool";
  const bytes = whole.files.get(path)?.bytes ?? Buffer.alloc(0);
  for (let length = 0; length < bytes.length; length++) {
    const disk = createMemoryDisk();
    disk.files.set(path, { bytes: bytes.subarray(0, length), synced: undefined });
    const { spool: next, counts } = spoolOn(disk);
    await next.open();
    const frames = Math.floor(length / (bytes.length / 3));
    assert.deepEqual(await takeAll(next), [0, 1, 2].slice(0, frames));
    await next.append(batch(9));
    assert.deepEqual(await takeAll(next), [9]);
    await next.close();
    assert.equal(counts.setAside, length % (bytes.length / 3) === 0 ? 0 : 1);
    assert.equal(disk.files.has(`${path}.damaged`), counts.setAside === 1);
  }
});

test("any byte that was changed costs no more than its own batch and those behind it, and is counted", async () => {
  const whole = createMemoryDisk();
  const { spool } = spoolOn(whole);
  await spool.open();
  for (let i = 0; i < 3; i++) await spool.append(batch(i));
  const path = "/spool/000000000001.spool";
  const bytes = whole.files.get(path)?.bytes ?? Buffer.alloc(0);
  const frameBytes = bytes.length / 3;
  for (let at = 0; at < bytes.length; at++) {
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] as number) ^ 0x20;
    const disk = createMemoryDisk();
    disk.files.set(path, { bytes: damaged, synced: undefined });
    const { spool: next, counts } = spoolOn(disk);
    await next.open();
    const left = await takeAll(next);
    await next.close();
    const frame = Math.floor(at / frameBytes);
    const isHeader = at % frameBytes < 48;
    assert.deepEqual(left, isHeader ? [0, 1, 2].slice(0, frame) : [0, 1, 2].filter((i) => i !== frame), `byte ${at}`);
    assert.equal(counts.setAside, 1, `byte ${at}`);
    assert.equal(counts.dropped["spool_damaged"] ?? 0, isHeader ? 0 : 1);
  }
});

test("a file that is no segment of ours is set aside, other names are left alone, four are kept", async () => {
  const disk = createMemoryDisk();
  for (let i = 1; i <= 6; i++) {
    disk.files.set(`/spool/00000000000${i}.spool`, {
      bytes: Buffer.from(`hello, this is a letter ${i}`),
      synced: undefined,
    });
  }
  disk.files.set("/spool/notes.txt", { bytes: Buffer.from("mine"), synced: undefined });
  const { spool, counts } = spoolOn(disk);
  await spool.open();
  assert.equal(counts.setAside, 6);
  assert.ok(spool.isEmpty);
  const names = [...disk.files.keys()].toSorted();
  assert.deepEqual(names, [
    ...[3, 4, 5, 6].map((i) => `/spool/00000000000${i}.spool.damaged`),
    "/spool/notes.txt",
    "/spool/position",
  ]);
});

test("a fault at any I/O call loses nothing that was appended, and repeats nothing that a caller knows as delivered", async () => {
  for (let nth = 1; nth < 80; nth++) {
    const disk = createMemoryDisk();
    const { spool } = spoolOn(disk, { segmentBytes: 300 });
    disk.failAt = nth;
    const appended: number[] = [];
    const delivered: number[] = [];
    const attempt = async (action: () => Promise<unknown>): Promise<boolean> =>
      action().then(
        () => true,
        () => false,
      );
    const isOpen = await attempt(() => spool.open());
    for (let i = 0; i < (isOpen ? 9 : 0); i++) {
      if (await attempt(() => spool.append(batch(i, 1, "x".repeat(60))))) appended.push(i);
      await attempt(() => spool.sync());
      if (i % 3 !== 2) continue;
      await attempt(async () => {
        const taken = await spool.take();
        taken?.done();
        if (taken !== undefined) delivered.push(taken.batch.id.number);
      });
    }
    await attempt(() => spool.close());
    disk.failAt = 0;
    const next = spoolOn(disk);
    await next.spool.open();
    const left = await takeAll(next.spool);
    for (const i of appended) assert.ok(delivered.includes(i) || left.includes(i), `call ${nth}: batch ${i} is lost`);
    for (const i of left) assert.ok(appended.includes(i), `call ${nth}: batch ${i} was not taken, and is there`);
    // A position that could not be kept is the one reason for a batch to come again.
    if (isOpen && left.some((i) => delivered.includes(i)))
      assert.equal(left.filter((i) => delivered.includes(i)).length, 1);
  }
});

test("a segment that the disk cannot read is given up after some tries, counted and set aside; the others go on", async () => {
  for (const isOpenedBefore of [true, false]) {
    const disk = createMemoryDisk();
    const writer = spoolOn(disk, { segmentBytes: 100 });
    await writer.spool.open();
    for (let i = 0; i < 4; i++) await writer.spool.append(batch(i, 2, "x".repeat(60)));
    let { spool, counts } = writer;
    if (!isOpenedBefore) {
      await spool.close();
      ({ spool, counts } = spoolOn(disk));
    }
    const path = "/spool/000000000002.spool";
    disk.unreadable.add(path);
    const delivered: number[] = [];
    for (let tries = 0; tries < 9; tries++) {
      try {
        if (!isOpenedBefore && tries < 3) await spool.open();
        if (!isOpenedBefore && tries < 2) continue;
        for (let taken = await spool.take(); taken !== undefined; taken = await spool.take()) {
          delivered.push(taken.batch.id.number);
          taken.done();
        }
      } catch (error) {
        assert.match(String(error), /EIO/);
        assert.equal(counts.setAside, 0, "the disk may recover");
      }
    }
    assert.deepEqual(delivered, [0, 2, 3]);
    assert.equal(counts.setAside, 1);
    // What a segment holds that was never read is not known.
    assert.equal(counts.dropped["spool_damaged"] ?? 0, isOpenedBefore ? 2 : 0);
    assert.ok(disk.files.has(`${path}.damaged`));
    await spool.close();
  }
});
