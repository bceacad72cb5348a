import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Delivery, allAccepted, DeliveryError, type OutputAdapter } from "../../../src/output/index.ts";
import { systemClock, type Clock } from "../../../src/base/report/index.ts";
import { until } from "../../support/until.ts";
import { deliveryOptions } from "./delivery-fixture.ts";

const maxInFlight = 4;

function deliveryTo(
  send: OutputAdapter["send"],
  onFault: (fault?: string) => void = () => {},
  clock: Clock = systemClock,
): Delivery {
  const delivery = new Delivery({
    ...deliveryOptions(
      { REQUESTS_IN_FLIGHT: maxInFlight, maxBatchRecords: 1, TIMEOUT: 5, QUEUE_SIZE: 1 << 20, RETRY_BACKOFF: 2 },
      { clock },
    ),
    adapter: { open: async () => [], send, close: async () => {} },
    instance: "awaystoretes",
    onFault,
  });
  delivery.start();
  return delivery;
}

test("while a store is away one batch at a time is tried; when it is back all go on", async () => {
  const tried: number[] = [];
  let isThere = false;
  let under = 0;
  let most = 0;
  const delivery = deliveryTo(async ({ id }) => {
    under++;
    most = Math.max(most, under);
    tried.push(id.number);
    await sleep(1);
    under--;
    if (!isThere) throw new DeliveryError("store", "refused", "nothing listens there");
    return allAccepted;
  });
  for (let i = 0; i < 40; i++) delivery.add(Buffer.from(`{"n":${i}}\n`), 1, () => {});
  await until("all that may be were tried", () => tried.length >= maxInFlight);
  assert.equal(most, maxInFlight, "the store was thought to be there");
  await until("these have failed", () => under === 0);
  most = 0;
  const before = tried.length;
  await until("some more were tried", () => tried.length > before + 2 * maxInFlight);
  assert.equal(most, 1);
  assert.equal(new Set(tried.slice(before, before + maxInFlight)).size, maxInFlight, "they take turns");
  isThere = true;
  await until("all are delivered", () => delivery.state().deliveredRecords === 40);
  assert.ok(most > 1, "several at a time again");
  await delivery.stop(1000);
});

test("a batch that always fails does not keep the others back", async () => {
  const delivery = deliveryTo(async ({ id }) => {
    await sleep(1);
    if (id.number === 0) throw new DeliveryError("unclear", "http_500", "it stumbles over this batch");
    return allAccepted;
  });
  for (let i = 0; i < 60; i++) delivery.add(Buffer.from(`{"n":${i}}\n`), 1, () => {});
  await until("the others are delivered", () => delivery.state().deliveredRecords === 59);
  await delivery.stop(10);
});

for (const [words, refuse] of [
  ["of an item", async () => ({ refused: [{ index: 0, reason: "no such field" }], retry: [] })],
  ["of a request", async () => Promise.reject(new DeliveryError("record", "http_400", "no such field"))],
] as const) {
  test(`the only record is refused for good after minutes, and not while others wait: refusal ${words}`, async () => {
    let later = 0;
    let tries = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + later };
    const delivery = deliveryTo(
      async () => {
        tries++;
        return refuse();
      },
      undefined,
      clock,
    );
    const triedAgain = async (): Promise<void> => {
      const before = tries;
      await until("it was tried often", () => tries > before + 12);
    };
    delivery.add(Buffer.from('{"n":0}\n'), 1, () => {});
    await triedAgain();
    assert.deepEqual([delivery.state().refusedRecords, delivery.state().blame], [0, "operator"]);
    later += 301_000;
    await until("it is refused", () => delivery.state().refusedRecords === 1);
    assert.equal(delivery.state().waitingRecords, 0);

    for (let n = 1; n < 4; n++) delivery.add(Buffer.from(`{"n":${n}}\n`), 1, () => {});
    await triedAgain();
    later += 301_000;
    await triedAgain();
    assert.deepEqual([delivery.state().refusedRecords, delivery.state().waitingRecords], [1, 3]);
    await delivery.stop(10);
  });
}

test("batches that cut the connection, or have a proxy say 502, keep no others back and are set aside", async () => {
  const poison = new Set([0, 1, 2, 3, 4, 5]);
  const delivery = deliveryTo(async ({ id }) => {
    await sleep(1);
    if (!poison.has(id.number)) return allAccepted;
    throw id.number % 2 === 0
      ? new DeliveryError("store", "connection_lost", "the server hangs up")
      : new DeliveryError("store", "http_502", "a bad gateway");
  });
  let n = 0;
  await until("they are set aside", () => {
    delivery.add(Buffer.from(`{"n":${n++}}\n`), 1, () => {});
    return delivery.state().refusedRecords === poison.size;
  });
  await until("the others are delivered", () => delivery.state().deliveredRecords === n - poison.size);
  await delivery.stop(10);
});

test("a store that is there at once is said to be there", async () => {
  const faults: (string | undefined)[] = [];
  const delivery = deliveryTo(
    async () => allAccepted,
    (fault) => faults.push(fault),
  );
  await until("it is said", () => faults.length > 0);
  assert.deepEqual(faults, [undefined]);
  await delivery.stop(1000);
});

test("an adapter is told when the oldest record arrived that is held besides a batch", async () => {
  let now = 1000;
  const told = new Map<number, number | undefined>();
  let release = (): void => {};
  const isReleased = new Promise<void>((resolve) => (release = resolve));
  const clock: Clock = { ...systemClock, now: () => now++, monotonic: () => systemClock.monotonic() };
  const delivery = deliveryTo(
    async ({ id, oldestAt }, _signal, oldestOther) => {
      told.set(id.number, oldestOther === undefined ? undefined : oldestAt - oldestOther);
      if (id.number === 0) await isReleased;
      return allAccepted;
    },
    () => {},
    clock,
  );
  const add = (n: number): void => delivery.add(Buffer.from(`{"n":${n}}\n`), 1, () => {});
  add(0);
  await until("the first is under way", () => told.has(0));
  add(1);
  await until("the second, too", () => told.has(1));
  release();
  await until("both are there", () => delivery.state().waitingRecords === 0 && delivery.state().inFlight === 0);
  add(2);
  await until("the third is there", () => told.has(2) && delivery.state().inFlight === 0);
  assert.deepEqual([told.get(0), told.get(2)], [undefined, undefined]);
  assert.ok((told.get(1) ?? 0) > 0, "the first is older");
  await delivery.stop(1000);
});
