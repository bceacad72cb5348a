import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as immediate } from "node:timers/promises";
import { Delivery, allAccepted } from "../../../src/output/index.ts";
import { until } from "../../support/until.ts";
import { deliveryOptions } from "./delivery-fixture.ts";
import { createMemoryDisk } from "../../support/memory-disk.ts";

test("a stop with much to send cuts no batch off: those begun are acknowledged, the others are in the spool", async (t) => {
  const disk = createMemoryDisk();
  let begun = 0;
  let acknowledged = 0;
  let answer = (): void => {};
  const slow = new Promise<void>((resolve) => (answer = resolve));
  const delivery = new Delivery({
    ...deliveryOptions({ SPOOL_MODE: "always", stateDirectory: "/state", TIMEOUT: 60, SPOOL_MAX_SIZE: 1 << 20 }),
    adapter: {
      open: async () => [],
      async send(batch, signal) {
        begun += batch.count;
        if (begun > 200) await slow;
        signal.throwIfAborted();
        acknowledged += batch.count;
        return allAccepted;
      },
      close: async () => {},
    },
    instance: "shutdowntest",
    io: disk.open().io,
  });
  delivery.start();
  const records = 600;
  for (let i = 0; i < records; i++) delivery.add(Buffer.from(`{"n":${i}}\n`), 1, () => {});
  await until("all is on disk", () => delivery.state().queueBytes === 0);
  await until("the store is slow", () => delivery.state().inFlight === 2 && begun > 200);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const stopped = delivery.stop(3000);
  // The queue is asked before the time begins.
  for (let i = 0; i < 100; i++) await immediate();
  t.mock.timers.tick(2000);
  // The calls under way have timers of the time before.
  t.mock.timers.reset();
  const begunInTime = begun;
  answer();
  await stopped;
  assert.ok(acknowledged > 200);
  assert.equal(acknowledged, begun, "no batch was cut off");
  assert.equal(begun, begunInTime, "no batch was begun that may have to be cut off");
  assert.equal(delivery.state().waitingRecords, records - acknowledged);
});

test("what an earlier run left on disk is counted while the store is away, and the output is not said to work before", async () => {
  const disk = createMemoryDisk();
  let isThere = false;
  let delivered = 0;
  const open = async (): Promise<string[]> => {
    if (!isThere) throw new Error("away");
    return [];
  };
  const run = () =>
    new Delivery({
      ...deliveryOptions({ SPOOL_MODE: "always", stateDirectory: "/state", SPOOL_MAX_SIZE: 1 << 20, RETRY_BACKOFF: 5 }),
      adapter: {
        open,
        async send(batch) {
          delivered += batch.count;
          return allAccepted;
        },
        close: async () => {},
      },
      instance: "leftovertest",
      io: disk.open().io,
    });
  const first = run();
  first.start();
  for (let i = 0; i < 100; i++) first.add(Buffer.from(`{"n":${i}}\n`), 1, () => {});
  await until("all is on disk", () => first.state().queueBytes === 0 && first.state().waitingRecords === 100);
  await first.stop(10);

  const second = run();
  second.start();
  await until("the disk is read", () => second.state().waitingRecords === 100);
  assert.notEqual(second.state().state, "working");
  isThere = true;
  await until("all is delivered", () => second.state().state === "working" && second.state().waitingRecords === 0);
  assert.equal(delivered, 100);
  await second.stop(100);
});
