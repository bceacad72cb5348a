import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanUp } from "../../support/clean-up.ts";
import { Delivery, KafkaOutput, fieldNames, type OutputAdapter, type RecordBatch } from "../../../src/output/index.ts";
import { until } from "../../support/until.ts";
import { deliveryOptions } from "../delivery/delivery-fixture.ts";
import { keepLedger, numberedFlow } from "../delivery/output-contract.ts";
import { createFakeKafka, type FakeKafka } from "./fake-kafka.ts";
import { flowSchema, messageReader } from "./decode-message.ts";
import { flowsTo, kafkaSettings, type KafkaSettings } from "./kafka-fixture.ts";

const signal = new AbortController().signal;
const accepted = { refused: [], retry: [] };
const nameOf = fieldNames(false);

async function openTo(fake: FakeKafka, given: Partial<KafkaSettings> = {}): Promise<OutputAdapter> {
  const adapter = new KafkaOutput(kafkaSettings("fake:9092", given), { nameOf }, () => fake.client);
  assert.deepEqual(await adapter.open(), []);
  return adapter;
}

function batchOf(lines: readonly string[], number = 0, positions?: readonly number[]): RecordBatch {
  const chunk = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  const id = { instance: "abc", number };
  const batch = { id, chunks: [chunk], count: lines.length, byteLength: chunk.length, oldestAt: 0 };
  return positions === undefined ? batch : { ...batch, positions };
}

const flow = (exporter: string, n: number): string => `{"flow.export.ip.addr":"${exporter}","n":${n}}`;
const numbersIn = (fake: FakeKafka, place: string): number[] =>
  (fake.logs.get(place) ?? []).map(({ value }) => (JSON.parse(value) as { n: number }).n);
const allNumbers = (fake: FakeKafka): number[] =>
  [...fake.logs.keys()].flatMap((place) => numbersIn(fake, place)).toSorted((a, b) => a - b);

test("each type has its topic, each key its partition, in order", async () => {
  const fake = createFakeKafka({ flows: 3, options: 1, counters: 2 });
  const adapter = await openTo(fake, { PARTITION_KEY: ["site", "flow.export.ip.addr"] });
  const lines = [
    flow("192.0.2.1", 0),
    flow("192.0.2.2", 1),
    `{"flow.export.ip.addr":"192.0.2.1","flow.record.type":"options","n":2}`,
    `{"system.ip.addr":"192.0.2.9","site":17,"n":3}`,
    flow("192.0.2.1", 4),
  ];
  assert.deepEqual(await adapter.send(batchOf(lines), signal), accepted);
  const places = [...fake.logs].flatMap(([place, log]) => log.map(({ key, value }) => [key, place, value] as const));
  const of = (key: string, topic: string): number[] =>
    places
      .filter(([one, place]) => one === key && place.startsWith(`${topic}:`))
      .map(([, , value]) => (JSON.parse(value) as { n: number }).n);
  assert.deepEqual(of("192.0.2.1", "flows"), [0, 4]);
  assert.deepEqual(of("192.0.2.2", "flows"), [1]);
  assert.deepEqual(of("192.0.2.1", "options"), [2]);
  assert.deepEqual(of("17", "counters"), [3]);
  assert.deepEqual(places.find(([key]) => key === "192.0.2.2")?.[2], lines[1], "a line goes as it is");
});

test("without a key records go round the partitions, and batches to others", async () => {
  const fake = createFakeKafka({ flows: 3 });
  const adapter = await openTo(fake, { ...flowsTo("flows"), PARTITION_KEY: [] });
  for (let number = 0; number < 3; number++) {
    await adapter.send(batchOf([flow("192.0.2.1", number)], number), signal);
  }
  await adapter.send(
    batchOf(
      Array.from({ length: 3000 }, (_, n) => flow("192.0.2.1", n)),
      3,
    ),
    signal,
  );
  assert.deepEqual(
    [...fake.logs.values()].map((log) => log.length),
    [1001, 1001, 1001],
  );
  assert.equal(fake.logs.get("flows:0")?.[0]?.key, undefined);
});

test("records that are written together are no more than the broker takes", async () => {
  const fake = createFakeKafka({ flows: 1 });
  const sizes: number[] = [];
  fake.judge = ({ records }) => {
    sizes.push(records.reduce((sum, { value }) => sum + value.length, 0));
    return 0;
  };
  const adapter = await openTo(fake, { ...flowsTo("flows"), PRODUCER_MAX_MESSAGE_BYTES: 1024 });
  const lines = Array.from({ length: 100 }, (_, n) => flow("192.0.2.1", n));
  assert.deepEqual(await adapter.send(batchOf(lines), signal), accepted);
  assert.ok(sizes.length > 5 && Math.max(...sizes) <= 1024, sizes.join());
  assert.deepEqual(
    numbersIn(fake, "flows:0"),
    Array.from({ length: 100 }, (_, n) => n),
    "in order",
  );
});

test("an answer that was lost: the batch is recognised, though another batch goes out meanwhile", async () => {
  const fake = createFakeKafka({ flows: 2 });
  const adapter = await openTo(fake, { ...flowsTo("flows") });
  const first = batchOf([flow("192.0.2.1", 1), flow("192.0.2.2", 2)], 0);
  const second = batchOf([flow("192.0.2.1", 3), flow("192.0.2.2", 4)], 1);
  fake.proxy.fault = "cutAnswer";
  await assert.rejects(adapter.send(first, signal), /closed the connection/);
  fake.proxy.fault = "pass";
  assert.deepEqual(await adapter.send(second, signal), accepted);
  assert.deepEqual(await adapter.send(first, signal), accepted);
  assert.deepEqual(await adapter.send(batchOf([flow("192.0.2.1", 5), flow("192.0.2.2", 6)], 2), signal), accepted);
  assert.deepEqual(allNumbers(fake), [1, 2, 3, 4, 5, 6]);
});

test("a partition that fails does not keep the others; what was written is not sent again", async () => {
  const fake = createFakeKafka({ flows: 4 });
  const adapter = await openTo(fake, { ...flowsTo("flows") });
  const lines = Array.from({ length: 16 }, (_, n) => flow(`192.0.2.${n}`, n));
  fake.judge = ({ partition }) => (partition === 1 ? 6 : 0);
  const { retry, refused } = await adapter.send(batchOf(lines), signal);
  const left = [...retry];
  assert.ok(left.length > 0 && left.length < 16);
  assert.deepEqual(refused, []);
  const again = batchOf(
    left.map((index) => lines[index] ?? ""),
    0,
    left,
  );
  await assert.rejects(adapter.send(again, signal), /the leader of the topic flows has changed/);
  fake.judge = () => 0;
  assert.deepEqual(await adapter.send(again, signal), accepted);
  assert.deepEqual(
    allNumbers(fake),
    Array.from({ length: 16 }, (_, n) => n),
  );
});

test("records that a broker refuses become dead letters by themselves", async () => {
  const fake = createFakeKafka({ flows: 1 });
  const adapter = await openTo(fake, { ...flowsTo("flows") });
  const lines = Array.from({ length: 20 }, (_, n) => flow("192.0.2.1", n));
  fake.judge = ({ records }) => (records.some(({ value }) => /"n":(7|13)}/.test(value)) ? 10 : 0);
  const outcome = await adapter.send(batchOf(lines), signal);
  const reason = "the record is too large for the topic flows";
  assert.deepEqual(outcome, { refused: [7, 13].map((index) => ({ index, reason })), retry: [] });
  assert.deepEqual(
    allNumbers(fake),
    Array.from({ length: 20 }, (_, n) => n).filter((n) => n !== 7 && n !== 13),
  );
  fake.judge = ({ records }) => (records.some(({ value }) => value.includes("bad")) ? 87 : 0);
  const bad = await adapter.send(batchOf([flow("192.0.2.1", 21), flow("bad", 22)], 1), signal);
  assert.deepEqual(bad, { refused: [{ index: 1, reason: "said" }], retry: [] });
});

test("a record that is refused after a doubtful try takes no number of others", async () => {
  const fake = createFakeKafka({ flows: 1 });
  const adapter = await openTo(fake, { ...flowsTo("flows") });
  const batch = batchOf([flow("192.0.2.1", 1)], 0);
  fake.proxy.fault = "cutAnswer";
  await assert.rejects(adapter.send(batch, signal));
  fake.proxy.fault = "pass";
  fake.judge = () => 10;
  assert.equal((await adapter.send(batch, signal)).refused.length, 1);
  fake.judge = () => 0;
  assert.deepEqual(await adapter.send(batchOf([flow("192.0.2.1", 2)], 1), signal), accepted);
  assert.deepEqual(allNumbers(fake), [1, 2], "the second is not taken for the first");
});

test("an aborted call whose outcome nobody saw is not sent twice", async () => {
  const fake = createFakeKafka({ flows: 2 });
  const adapter = await openTo(fake, { ...flowsTo("flows") });
  const batch = batchOf([flow("192.0.2.1", 1), flow("192.0.2.2", 2)]);
  const late = new AbortController();
  fake.proxy.fault = "slow";
  const first = adapter.send(batch, late.signal);
  setTimeout(() => late.abort(new Error("late")), 5);
  const second = adapter.send(batch, signal);
  await assert.rejects(first);
  assert.deepEqual(await second, accepted);
  assert.deepEqual(allNumbers(fake), [1, 2]);
});

test("a producer whose numbers the brokers do not know begins again; nothing is lost", async () => {
  const fake = createFakeKafka({ flows: 3 });
  const adapter = await openTo(fake, { ...flowsTo("flows") });
  let isForeign = true;
  fake.judge = () => (isForeign ? 45 : 0);
  const batch = batchOf([flow("192.0.2.1", 1), flow("192.0.2.2", 2)]);
  await assert.rejects(adapter.send(batch, signal), /does not take records of the topic flows/);
  isForeign = false;
  const before = fake.producers;
  assert.deepEqual(await adapter.send(batch, signal), accepted);
  assert.equal(fake.producers, before + 1);
  assert.deepEqual(allNumbers(fake), [1, 2]);
});

test("a topic that was made again with fewer partitions takes what waits", async () => {
  const fake = createFakeKafka({ flows: 8 });
  const adapter = await openTo(fake, { ...flowsTo("flows") });
  const lines = Array.from({ length: 16 }, (_, n) => flow(`192.0.2.${n}`, n));
  fake.judge = () => 3;
  await assert.rejects(adapter.send(batchOf(lines), signal), /there is no topic flows/);
  fake.topics.set("flows", 1);
  fake.judge = () => 0;
  assert.deepEqual(await adapter.send(batchOf(lines), signal), accepted);
  assert.deepEqual(
    allNumbers(fake),
    Array.from({ length: 16 }, (_, n) => n),
  );
});

test("first contact: no topic, and a user who may not write idempotently", async () => {
  const fake = createFakeKafka({ flows: 1 });
  const open = (given: Partial<KafkaSettings>): Promise<readonly string[]> =>
    new KafkaOutput(kafkaSettings("fake:9092", given), { nameOf }, () => fake.client).open();
  await assert.rejects(open({}), /there is no topic options/);
  fake.mayBeIdempotent = false;
  assert.match((await open({ ...flowsTo("flows") }))[0] ?? "", /may not write idempotently/);
  assert.deepEqual(await open({ ...flowsTo("flows"), PRODUCER_REQUIRED_ACKS: "leader" }), []);
});

test("the ledger: nothing is missing and nothing twice, whatever the way to the brokers does", async (t) => {
  const fake = createFakeKafka({ flows: 5 });
  const adapter = new KafkaOutput(
    kafkaSettings("fake:9092", { ...flowsTo("flows"), PRODUCER_MAX_MESSAGE_BYTES: 3000 }),
    { nameOf },
    () => fake.client,
  );
  const numbers = async (): Promise<number[]> => allNumbers(fake);
  const moods = [
    () => void (fake.judge = () => 0),
    () => void (fake.judge = ({ partition }) => (partition === 2 ? 5 : 0)),
  ];
  const store = { adapter, proxy: fake.proxy, isExactlyOnce: true, numbers, moods };
  await keepLedger(t, store, {
    records: 20_000,
    step: 100,
    faultMs: 20,
    config: { TIMEOUT: 0.2 },
    line: numberedFlow,
  });
});

test("as Protocol Buffers a record whose line is cut off has what was before the cut, and is counted", async () => {
  const adapter = await openTo(createFakeKafka({ flows: 1 }), { ...flowsTo("flows"), FORMAT: "protobuf" });
  const lines = [flow("192.0.2.1", 1), flow("192.0.2.1", 2).slice(0, -1)];
  assert.deepEqual(await adapter.send(batchOf(lines), signal), { refused: [], retry: [], cut: 1 });
});

test("WebAssembly that traps over a record: it is the one that becomes a dead letter, and what comes later is encoded as ever", async (t) => {
  const { Instance } = WebAssembly;
  const mark = Buffer.from("192.0.2.66");
  /** As the engine does where memory is short: what was under way is left as it is. */
  function trapping(...given: ConstructorParameters<typeof Instance>): Pick<WebAssembly.Instance, "exports"> {
    const { exports } = new Instance(...given);
    const { read, memory, input } = exports as unknown as {
      readonly read: (length: number, isLast: number) => number;
      readonly memory: { readonly buffer: ArrayBuffer };
      readonly input: { readonly value: number };
    };
    if (typeof read !== "function") return { exports };
    const readOrTrap = (length: number, isLast: number): number => {
      const done = read(length, isLast);
      if (Buffer.from(memory.buffer, input.value >>> 0, length).includes(mark))
        throw new WebAssembly.RuntimeError("unreachable");
      return done;
    };
    return { exports: { ...exports, read: readOrTrap } };
  }
  WebAssembly.Instance = trapping as unknown as typeof Instance;
  cleanUp(t, () => {
    WebAssembly.Instance = Instance;
  });
  const fake = createFakeKafka({ flows: 1 });
  const adapter = await openTo(fake, { ...flowsTo("flows"), FORMAT: "protobuf" });
  const delivery = new Delivery({
    ...deliveryOptions({ maxBatchRecords: 8, TIMEOUT: 5, QUEUE_SIZE: 1 << 20 }),
    adapter,
    instance: "trappingtest",
  });
  delivery.start();
  let added = 0;
  const add = (exporter: string): void => delivery.add(Buffer.from(`${flow(exporter, added++)}\n`), 1, () => {});
  for (let n = 0; n < 64; n++) add(n % 32 === 11 ? "192.0.2.66" : `192.0.2.${n}`);
  await until("both are refused", () => {
    // That others are taken shows that the store is well.
    add("192.0.2.1");
    return delivery.state().refusedRecords === 2;
  });
  await until("the others are delivered", () => delivery.state().deliveredRecords === added - 2);
  await delivery.stop(1000);
  const exporters = (fake.logs.get("flows:0") ?? []).map(({ key }) => key);
  assert.equal(exporters.length, added - 2);
  assert.ok(!exporters.includes("192.0.2.66"));
});

test("values that goflow2's message cannot hold are told once for a batch, however often it is sent", async () => {
  const fake = createFakeKafka({ flows: 1 });
  const adapter = await openTo(fake, { ...flowsTo("flows"), FORMAT: "goflow2" });
  let lost = 1;
  fake.judge = () => (lost-- > 0 ? 7 : 0);
  const fits =
    '{"flow.export.ip.addr":"192.0.2.1","flow.src.as.asn":4294967295,"flow.bytes":1099511627776,"ip.version.ver":4}';
  const batch = batchOf([
    fits,
    '{"flow.export.ip.addr":"192.0.2.2","flow.src.as.asn":4294967296,"ip.version.ver":5}',
    '{"flow.export.ip.addr":"192.0.2.3","flow.src.mac.addr":"none","flow.bgp.as_path":"1 {2,3}","flow.start.timestamp":"1969-12-31T00:00:00Z"}',
  ]);
  await assert.rejects(adapter.send(batch, signal));
  assert.deepEqual(await adapter.send(batch, signal), { refused: [], retry: [], leftOut: 5 });
  assert.deepEqual(await adapter.send(batchOf([fits], 1), signal), { refused: [], retry: [] });
});

test("as Protocol Buffers records have the keys, topics and order of their lines; a batch that is sent again the same bytes", async () => {
  const decode = messageReader(flowSchema, "flow.v1.Flow");
  const lines = Array.from({ length: 40 }, (_, n) => flow(`192.0.2.${n % 5}`, n));
  const contents = async (given: Partial<KafkaSettings>) => {
    const fake = createFakeKafka({ flows: 3 });
    const adapter = await openTo(fake, { ...flowsTo("flows"), PRODUCER_MAX_MESSAGE_BYTES: 300, ...given });
    let lost = 2;
    fake.judge = () => (lost-- > 0 ? 7 : 0);
    for (let outcome = undefined as unknown, tries = 0; tries < 5 && outcome === undefined; tries++)
      outcome = await adapter.send(batchOf(lines), signal).then(
        ({ retry }) => (retry.length === 0 ? true : undefined),
        () => undefined,
      );
    return [...fake.logs].toSorted(([a], [b]) => a.localeCompare(b));
  };
  const numbered = (value: string): unknown => (JSON.parse(value) as { n: number }).n;
  const asLines = (await contents({})).map(([place, log]) => [
    place,
    log.map(({ key, value }) => [key, numbered(value)]),
  ]);
  for (const isDelimited of [false, true]) {
    const messages = await contents({ FORMAT: "protobuf", PROTOBUF_DELIMITED: isDelimited });
    const read = messages.map(([place, log]) => [
      place,
      log.map(({ key, bytes }) => {
        // These are shorter than 128 bytes, so a length is one byte.
        if (isDelimited) assert.equal(bytes[0], bytes.length - 1);
        const { flow_export_ip_addr: exporter, other_json: other } = decode(bytes.subarray(isDelimited ? 1 : 0));
        assert.equal((exporter as number[]).join("."), key);
        return [key, Number((other as Record<string, string>)["n"])];
      }),
    ]);
    assert.deepEqual(read, asLines);
  }
});
