import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Delivery } from "../../../src/output/index.ts";
import { tempDirectory } from "../../support/temp-directory.ts";
import { until } from "../../support/until.ts";
import { deliveryOptions, type GivenDelivery } from "./delivery-fixture.ts";
import { createFakeStore, type FakeStore } from "./fake-store.ts";

interface Rig {
  readonly store: FakeStore;
  readonly delivery: Delivery;
  readonly path: string;
  readonly send: (from: number, to: number) => void;
}

function startRig(t: TestContext, given: GivenDelivery = {}): Rig {
  const store = createFakeStore();
  const stateDirectory = given.stateDirectory ?? tempDirectory(t);
  const delivery = new Delivery({
    ...deliveryOptions({ QUEUE_SIZE: 1 << 20, TIMEOUT: 5, ...given, stateDirectory }),
    adapter: store.adapter,
    instance: "deadletterst",
  });
  delivery.start();
  return {
    store,
    delivery,
    path: join(stateDirectory, "dead-letters.ndjson"),
    send(from, to) {
      for (let n = from; n < to; n++) delivery.add(Buffer.from(`{"n":${n}}\n`), 1, () => {});
    },
  };
}

test("dead letters are listed by reason, over restarts, and sent again when asked to", async (t) => {
  const stateDirectory = tempDirectory(t);
  const before = startRig(t, { stateDirectory });
  before.store.mood = "fussy";
  before.send(0, 100);
  await until("ten are refused", () => before.delivery.state().refusedRecords === 10);
  await until("the others are delivered", () => before.delivery.state().deliveredRecords === 90);
  assert.equal(before.delivery.state().fault, "the store refuses records: ends in 7");
  await before.delivery.stop(1000);

  const { delivery, store, path } = startRig(t, { stateDirectory });
  await until("they are found again", () => delivery.state().deadLetters?.records === 10);
  const letters = delivery.state().deadLetters;
  assert.deepEqual(
    letters?.reasons.map(({ reason, records }) => ({ reason, records })),
    [{ reason: "ends in …", records: 10 }],
  );
  assert.equal(letters?.bytes, readFileSync(path).length);
  const [only] = letters?.reasons ?? [];
  assert.ok(only !== undefined && only.firstAt > 0 && only.at >= only.firstAt);

  assert.equal(delivery.resend(), 10);
  await until("they are delivered", () => delivery.state().deliveredRecords === 10);
  await until("none is left", () => delivery.state().deadLetters?.records === 0);
  assert.equal(existsSync(path), false);
  assert.deepEqual(
    [...store.kept.keys()].toSorted(),
    Array.from({ length: 10 }, (_, i) => `{"n":${10 * i + 7}}`).toSorted(),
  );
  assert.equal(delivery.resend(), 0);
  await delivery.stop(1000);
});

test("what is refused again is a dead letter again", async (t) => {
  const { delivery, store, send } = startRig(t);
  store.mood = "fussy";
  send(0, 20);
  await until("two are refused and kept", () => delivery.state().deadLetters?.records === 2);
  assert.equal(delivery.resend(), 2);
  await until("they are refused again", () => {
    send(1, 2);
    return delivery.state().refusedRecords === 4;
  });
  await until("they are kept", () => {
    const { records, isResending } = delivery.state().deadLetters ?? {};
    return records === 2 && isResending === false;
  });
  await delivery.stop(1000);
});

test("a resending that was cut off by the end is begun again by the next", async (t) => {
  const stateDirectory = tempDirectory(t);
  const letter = (n: number): string =>
    `{"@timestamp":"2026-01-01T00:00:00.000Z","output":"fake","reason":"[1:${n}] no field [x] in document with id 'a-${n}'. Preview of field's value: '${n}', line ${n}: 422 (port ${n})","record":{"n":${n}}}\n`;
  writeFileSync(join(stateDirectory, "dead-letters.ndjson.resending"), `${letter(1)}${letter(2)}{"cut`);
  writeFileSync(join(stateDirectory, "dead-letters.ndjson"), letter(3));
  const { delivery, store } = startRig(t, { stateDirectory });
  await until("all are found", () => delivery.state().deadLetters?.records === 3);
  assert.deepEqual(
    delivery.state().deadLetters?.reasons.map(({ reason, records }) => [reason, records]),
    [["[…] no field [x] in document with id '…'. Preview of field's value: '…', line …: 422 (port …)", 3]],
  );
  store.mood = "away";
  assert.equal(delivery.resend(), 3);
  await until("it is under way", () => delivery.state().waitingRecords > 0);
  await delivery.stop(0);
  assert.ok(existsSync(join(stateDirectory, "dead-letters.ndjson.resending")));

  const next = startRig(t, { stateDirectory });
  await until("all are found again", () => next.delivery.state().deadLetters?.records === 3);
  next.delivery.resend();
  await until("all are delivered", () => next.store.kept.size === 3);
  await until("none is left", () => next.delivery.state().deadLetters?.records === 0);
  await next.delivery.stop(1000);
});

test("a letter that a crash has cut off costs neither the next one nor those before it", async (t) => {
  const stateDirectory = tempDirectory(t);
  const path = join(stateDirectory, "dead-letters.ndjson");
  const letter = '{"@timestamp":"2026-01-01T00:00:00.000Z","output":"fake","reason":"no","record":{"n":1}}';
  writeFileSync(path, `${letter}\n${letter.slice(0, -3)}`);
  const { delivery, store, send } = startRig(t, { stateDirectory });
  store.mood = "fussy";
  send(6, 9);
  await until("one is refused", () => readFileSync(path, "utf8").includes('"record":{"n":7}'));
  store.mood = "works";
  delivery.resend();
  await until("none is left", () => delivery.state().deadLetters?.records === 0);
  assert.deepEqual(
    [...store.kept.keys()].toSorted(),
    [1, 6, 7, 8].map((n) => `{"n":${n}}`),
  );
  await delivery.stop(1000);
});
