import assert from "node:assert/strict";
import { test } from "node:test";
import { Delivery, type SpoolMode } from "../../../src/output/index.ts";
import { createMetrics } from "../../../src/base/report/index.ts";
import { until } from "../../support/until.ts";
import { deliveryOptions, type GivenDelivery } from "./delivery-fixture.ts";
import { createFakeStore, type FakeStore } from "./fake-store.ts";
import { createMemoryDisk, type MemoryDisk } from "../../support/memory-disk.ts";

interface Rig {
  readonly disk: MemoryDisk;
  readonly store: FakeStore;
  readonly delivery: Delivery;
  /** What was reported to readiness, in order. */
  readonly faults: (string | undefined)[];
  readonly metric: (line: string) => Promise<number | undefined>;
  /** Adds records, each by itself. */
  readonly send: (count: number) => void;
  readonly isDone: () => boolean;
}

function startRig(mode: SpoolMode, disk = createMemoryDisk(), given: GivenDelivery = {}): Rig {
  const store = createFakeStore();
  const metrics = createMetrics();
  const faults: (string | undefined)[] = [];
  const delivery = new Delivery({
    ...deliveryOptions({ SPOOL_MODE: mode, stateDirectory: "/state", QUEUE_SIZE: 400, ...given }, { metrics }),
    adapter: store.adapter,
    instance: "faultsfaults",
    onFault: (fault) => faults.push(fault),
    io: disk.open().io,
  });
  delivery.start();
  let sent = 0;
  let held = 0;
  return {
    disk,
    store,
    delivery,
    faults,
    async metric(line) {
      const found = (await metrics.render()).split("\n").find((one) => one.startsWith(`${line} `));
      return found === undefined ? undefined : Number(found.slice(line.length + 1));
    },
    send(count) {
      for (let i = 0; i < count; i++) {
        held++;
        delivery.add(Buffer.from(`{"n":${sent++},"pad":"${"x".repeat(40)}"}\n`), 1, () => void held--);
      }
    },
    isDone: () => held === 0 && delivery.state().waitingRecords === 0 && delivery.state().inFlight === 0,
  };
}

const failing = 'netgloss_output_failing{output="fake",part="spool"}';

test("a full disk is seen: readiness, state and metrics; records go on from memory until there is room", async () => {
  const { disk, delivery, faults, metric, send, isDone, store } = startRig("always");
  assert.equal(await metric(failing), 0);
  disk.capacity = 0;
  send(5);
  const seen = (): string | undefined => faults.find((fault) => fault !== undefined);
  await until("the fault is seen", () => seen() !== undefined);
  assert.match(seen() ?? "", /^the spool cannot be used \(ENOSPC/);
  assert.equal(delivery.state().state, "failing");
  assert.match(delivery.state().fault ?? "", /ENOSPC/);
  assert.ok((delivery.state().faultSince ?? 0) > 0);
  assert.equal(await metric(failing), 1);
  assert.equal(await metric('netgloss_output_failing{output="fake",part="store"}'), 0);
  assert.ok(((await metric('netgloss_output_errors_total{output="fake",operation="spool",code="ENOSPC"}')) ?? 0) > 0);
  await until("the store has them all the same", isDone);
  assert.equal(store.kept.size, 5);

  disk.capacity = Infinity;
  await until("all is well again", () => {
    send(1);
    return delivery.state().state === "working";
  });
  assert.equal(faults.at(-1), undefined);
  assert.equal(await metric(failing), 0);
  await until("all is delivered", isDone);
  await delivery.stop(1000);
});

test("a disk that was full is forgotten when nothing is to be written to it any more", async () => {
  const { disk, delivery, faults, send, isDone, store } = startRig("overflow");
  disk.capacity = 0;
  store.mood = "away";
  send(12);
  await until("the fault is seen", () => faults.some((fault) => /the spool cannot be used/.test(fault ?? "")));
  store.mood = "works";
  await until("all is well again", () => isDone() && delivery.state().state === "working");
  assert.equal(store.kept.size, 12);
  await delivery.stop(1000);
});

test("a disk that does not sync is seen, and the store's faults with it", async () => {
  const { disk, delivery, faults, metric, send, isDone, store } = startRig("always");
  disk.failsSync = true;
  store.mood = "away";
  send(3);
  await until("both are seen", () => faults.some((fault) => /refuses connections.*; the spool/.test(fault ?? "")));
  assert.match(delivery.state().fault ?? "", /; the spool cannot be synced \(EIO/);
  assert.equal(await metric('netgloss_output_failing{output="fake",part="store"}'), 1);
  assert.ok(((await metric('netgloss_output_errors_total{output="fake",operation="sync",code="EIO"}')) ?? 0) > 0);
  store.mood = "works";
  await until("what was not synced is delivered", () => delivery.state().state === "working" && isDone());
  assert.equal(store.kept.size, 3);
  assert.equal(faults.at(-1), undefined);
  await delivery.stop(1000);
});

test("a segment that cannot be read is seen while it is tried, then given up and counted", async () => {
  const disk = createMemoryDisk();
  const first = startRig("always", disk);
  first.store.mood = "away";
  first.send(6);
  await until(
    "all is on disk",
    () => first.delivery.state().spoolBytes > 300 && first.delivery.state().queueBytes === 0,
  );
  await first.delivery.stop(0);
  const path = [...disk.files.keys()].find((name) => name.endsWith(".spool")) ?? "";
  disk.unreadable.add(path);

  const { delivery, faults, metric, send, isDone, store } = startRig("always", disk);
  await until("the fault is seen", () => faults.some((fault) => /the spool cannot be used \(EIO/.test(fault ?? "")));
  await until("it is given up", () => delivery.state().state === "working");
  send(1);
  await until("others are delivered", isDone);
  assert.equal(store.kept.size, 1);
  assert.equal(await metric('netgloss_output_spool_set_aside_total{output="fake"}'), 1);
  assert.ok(disk.files.has(`${path}.damaged`));
  await delivery.stop(1000);
});

test("a fault at any call of the disk loses nothing, and is seen or harmless", async () => {
  for (const mode of ["overflow", "always"] as const) {
    for (let nth = 1; nth <= 24; nth++) {
      const { disk, delivery, send, isDone, store, metric } = startRig(mode);
      store.mood = "away";
      disk.failAt = nth;
      for (let i = 0; i < 4; i++) {
        send(3);
        await new Promise((resolve) => setTimeout(resolve, 3));
      }
      store.mood = "works";
      await until(`${mode}: a fault of call ${nth}`, isDone);
      assert.equal(store.kept.size, 12, `${mode}: call ${nth}`);
      for (const ids of store.kept.values())
        assert.equal(ids.size, 1, `${mode}: call ${nth} gave a record a new identity`);
      await until(`${mode}: it works after a fault of call ${nth}`, () => {
        send(1);
        return delivery.state().state === "working";
      });
      await until("all is delivered", isDone);
      assert.equal(await metric(failing), 0);
      assert.equal(delivery.state().droppedRecords, 0);
      await delivery.stop(1000);
    }
  }
});

test("a disk with less room than a segment works again when what it has is delivered", async () => {
  const { disk, store, delivery, faults, send, isDone } = startRig("always", createMemoryDisk(), {
    QUEUE_SIZE: 1 << 20,
  });
  store.mood = "away";
  send(1);
  await until("it is on disk", () => delivery.state().spoolBytes > 0 && delivery.state().queueBytes === 0);
  // Some more batches fit, far fewer than a segment has.
  disk.capacity = [...disk.files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0) + 1000;
  send(40);
  await until("the disk is full", () => faults.some((fault) => fault?.includes("ENOSPC")));
  store.mood = "works";
  await until("all is delivered", isDone);
  await until("it works again", () => {
    send(1);
    return delivery.state().state === "working";
  });
  await until("all of that is delivered", isDone);
  await delivery.stop(1000);
  assert.equal(delivery.state().droppedRecords, 0);
});
