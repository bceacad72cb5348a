import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Delivery, KafkaOutput, fieldNames, type OutputAdapter } from "../../../src/output/index.ts";
import { tempDirectory } from "../../support/temp-directory.ts";
import { until } from "../../support/until.ts";
import { adapterOf } from "../adapter-fixture.ts";
import { clickHouseServer } from "../clickhouse/clickhouse-fixture.ts";
import { blockRows, insertsOf, startFakeClickHouse } from "../clickhouse/fake-clickhouse.ts";
import { startHttpServer, type HttpCall } from "../http/http-fixture.ts";
import { createFakeKafka } from "../kafka/fake-kafka.ts";
import { kafkaSettings } from "../kafka/kafka-fixture.ts";
import { startFakeNats } from "../nats/fake-nats.ts";
import { natsServer } from "../nats/nats-fixture.ts";
import { startFakeSearchServer } from "../search/fake-search-server.ts";
import { searchServer } from "../search/search-fixture.ts";
import { deliveryOptions } from "./delivery-fixture.ts";
import { numberedFlow } from "./output-contract.ts";

/**
 * - `refuses`: the store calls the content of all records faulty, as one does that is set up wrongly. `fails`: it answers with a
 *   fault of its own. `saysNothing`: it answers with success, and nothing that says what happened to the records.
 */
type Mood = "works" | "refuses" | "fails" | "saysNothing";

interface JudgedStore {
  readonly adapter: OutputAdapter;
  mood: Mood;
  /** Records whose content it refuses, and those that bring a fault of its own about, by their numbers. */
  readonly bad: Set<number>;
  readonly faulty: Set<number>;
  readonly held: () => readonly number[];
}

interface Kind {
  readonly start: (t: TestContext) => Promise<JudgedStore>;
  /** Whether a record may be there twice when a request was taken in part. */
  readonly mayDouble?: true;
  /** Whether a success without more is what its protocol says. */
  readonly isTerse?: true;
  /** Whether it has no faults that a record may bring about. */
  readonly isClear?: true;
}

type Answer = (status: number, body: string) => void;

/** A store over HTTP that takes a request as a whole. */
function wholeStore(
  create: (url: string) => OutputAdapter,
  answers: {
    readonly success: string;
    readonly refusal: readonly [number, string];
    readonly fault: readonly [number, string];
  },
): Kind["start"] {
  return async (t) => {
    const server = await startHttpServer(t);
    const held: number[] = [];
    const store: JudgedStore = {
      adapter: create(`http://127.0.0.1:${server.port}`),
      mood: "works",
      bad: new Set(),
      faulty: new Set(),
      held: () => held,
    };
    server.answer = ({ body }, response) => {
      const numbers = Array.from(body.matchAll(/\\?"n\\?":(\d+)/g), (match) => Number(match[1]));
      const answer: Answer = (status, text) => void response.writeHead(status).end(text);
      if (numbers.length === 0) answer(200, answers.success);
      else if (store.mood === "saysNothing") answer(200, "<html>hello</html>");
      else if (store.mood === "fails" || numbers.some((n) => store.faulty.has(n))) answer(...answers.fault);
      else if (store.mood === "refuses" || numbers.some((n) => store.bad.has(n))) answer(...answers.refusal);
      else {
        held.push(...numbers);
        answer(200, answers.success);
      }
    };
    return store;
  };
}

const plainAnswers = { success: "", refusal: [400, "no such field"], fault: [500, "it stumbles"] } as const;

const kinds: Readonly<Record<string, Kind>> = {
  http: {
    start: wholeStore((url) => adapterOf("GENERIC_HTTP", { ADDRESSES: [url] }), plainAnswers),
    isTerse: true,
  },
  loki: {
    start: wholeStore((url) => adapterOf("LOKI", { ADDRESSES: [url], LABEL_FIELDS: [] }), plainAnswers),
    isTerse: true,
  },
  victorialogs: {
    start: wholeStore((url) => adapterOf("VICTORIALOGS", { ADDRESSES: [url], STREAM_FIELDS: [] }), plainAnswers),
    isTerse: true,
  },
  otlp: {
    start: wholeStore((url) => adapterOf("OTLP", { ADDRESSES: [url], ATTRIBUTE_FIELDS: [] }), {
      ...plainAnswers,
      success: "{}",
    }),
  },
  splunk: {
    start: wholeStore((url) => adapterOf("SPLUNK_HEC", { ADDRESSES: [url] }), {
      success: '{"text":"Success","code":0}',
      refusal: [400, '{"text":"Invalid data format","code":6}'],
      fault: [500, '{"text":"Internal server error","code":8}'],
    }),
  },
  elasticsearch: { start: startSearch },
  clickhouse: { start: startClickHouse },
  kafka: { start: startKafka, isClear: true },
  nats: { start: startNats, isClear: true },
};

async function startSearch(t: TestContext): Promise<JudgedStore> {
  const fake = await startFakeSearchServer(t);
  const { answer } = fake.server;
  const store: JudgedStore = {
    adapter: adapterOf("ELASTICSEARCH", searchServer(`http://127.0.0.1:${fake.port}`)),
    mood: "works",
    bad: new Set(),
    faulty: new Set(),
    held: () => [...fake.documents.values()].map(({ n }) => Number(n)),
  };
  fake.judge = ({ n }) => {
    if (store.mood === "fails" || store.faulty.has(Number(n))) {
      return { status: 500, type: "fail_processor_exception", reason: "it stumbles" };
    }
    if (store.mood === "refuses" || store.bad.has(Number(n))) {
      return { status: 400, type: "document_parsing_exception", reason: "no such field" };
    }
    return undefined;
  };
  fake.server.answer = (call, response: ServerResponse) => {
    if (store.mood === "saysNothing" && call.path.startsWith("/_bulk")) response.end('{"errors":false,"items":[]}');
    else answer(call, response);
  };
  return store;
}

async function startClickHouse(t: TestContext): Promise<JudgedStore> {
  const fake = await startFakeClickHouse(t);
  const { answer } = fake.server;
  const numbersOf = (call: HttpCall): number[] =>
    insertsOf([call]).flatMap(() => blockRows(call.bytes).map(({ other }) => Number((other as { n: string }).n)));
  const store: JudgedStore = {
    adapter: adapterOf("CLICKHOUSE", clickHouseServer(`http://127.0.0.1:${fake.port}`)),
    mood: "works",
    bad: new Set(),
    faulty: new Set(),
    held: () =>
      (fake.tables.get("netgloss_flow")?.rows ?? []).map(({ other }) => Number((other as Record<string, string>)["n"])),
  };
  fake.server.answer = (call, response) => {
    const numbers = numbersOf(call);
    const { mood } = store;
    const fails = mood === "fails" || numbers.some((n) => store.faulty.has(n));
    const refuses = mood === "refuses" || numbers.some((n) => store.bad.has(n));
    const code = fails ? 395 : refuses ? 27 : 0;
    if (numbers.length === 0 || (mood !== "saysNothing" && code === 0)) answer(call, response);
    else if (mood === "saysNothing") response.end("<html>hello</html>");
    else response.writeHead(500, { "x-clickhouse-exception-code": String(code) }).end(`Code: ${code}. by the test`);
  };
  return store;
}

async function startKafka(): Promise<JudgedStore> {
  const fake = createFakeKafka({ flows: 2, options: 1, counters: 1 });
  const numberOf = ({ value }: { readonly value: string }): number => (JSON.parse(value) as { n: number }).n;
  const store: JudgedStore = {
    adapter: new KafkaOutput(kafkaSettings("fake:9092"), { nameOf: fieldNames(false) }, () => fake.client),
    mood: "works",
    bad: new Set(),
    faulty: new Set(),
    held: () => [...fake.logs.values()].flat().map(numberOf),
  };
  fake.judge = ({ records }) => {
    if (store.mood === "refuses" || records.some((record) => store.bad.has(numberOf(record)))) return 87;
    return store.mood === "works" ? 0 : 6;
  };
  return store;
}

async function startNats(t: TestContext): Promise<JudgedStore> {
  const fake = await startFakeNats(t);
  const numberIn = (line: string): number => (JSON.parse(line) as { n: number }).n;
  const store: JudgedStore = {
    adapter: adapterOf("NATS", natsServer(`127.0.0.1:${fake.port}`)),
    mood: "works",
    bad: new Set(),
    faulty: new Set(),
    held: () => fake.stored.map(({ line }) => numberIn(line)),
  };
  fake.answer = ({ line }) => {
    const error = (err_code: number) => ({ error: { code: 400, err_code, description: "no" } });
    if (store.mood === "refuses" || store.bad.has(numberIn(line))) return error(10_054);
    return store.mood === "works" ? { stream: "NETGLOSS", seq: 1 } : error(10_023);
  };
  return store;
}

interface Rig {
  readonly delivery: Delivery;
  readonly send: (from: number, count: number) => void;
  /** The numbers of dead letters. */
  readonly letters: () => Promise<readonly number[]>;
}

const maxInFlight = 2;

function deliverTo(t: TestContext, store: JudgedStore, batchRecords: number): Rig {
  const stateDirectory = tempDirectory(t);
  const delivery = new Delivery({
    ...deliveryOptions({
      maxBatchRecords: batchRecords,
      BATCH_MAX_BYTES: 1 << 20,
      QUEUE_SIZE: 1 << 20,
      REQUESTS_IN_FLIGHT: maxInFlight,
      TIMEOUT: 5,
      stateDirectory,
    }),
    adapter: store.adapter,
    instance: "judgementtes",
  });
  delivery.start();
  return {
    delivery,
    send(from, count) {
      for (let n = from; n < from + count; n++) delivery.add(Buffer.from(`${numberedFlow(n)}\n`), 1, () => {});
    },
    async letters() {
      const text = await readFile(join(stateDirectory, "dead-letters.ndjson"), "utf8").catch(() => "");
      const lines = text.split("\n").slice(0, -1);
      return lines.map((line) => (JSON.parse(line) as { record: { n: number } }).record.n);
    },
  };
}

const ascending = (numbers: readonly number[]): readonly number[] => numbers.toSorted((a, b) => a - b);
const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n);

for (const [name, { start, isTerse, isClear, mayDouble }] of Object.entries(kinds)) {
  test(`${name}: a store that takes nothing is never the fault of the records, whatever it says`, async (t) => {
    for (const mood of isTerse === true || isClear === true
      ? (["refuses", "fails"] as const)
      : (["refuses", "fails", "saysNothing"] as const)) {
      const store = await start(t);
      store.mood = mood;
      const { delivery, send, letters } = deliverTo(t, store, 10);
      send(0, 60);
      await until(`it is seen that it ${mood}`, () => delivery.state().state === "failing");
      const { retriedRecords } = delivery.state();
      await until("it was tried again", () => delivery.state().retriedRecords > retriedRecords + 20);
      const { refusedRecords, deliveredRecords, droppedRecords, waitingRecords, blame } = delivery.state();
      assert.deepEqual([refusedRecords, deliveredRecords, droppedRecords, waitingRecords], [0, 0, 0, 60], mood);
      assert.equal(
        blame,
        mood === "refuses" || (mood === "saysNothing" && blame === "operator") ? "operator" : "store",
      );
      store.mood = "works";
      await until("all is delivered", () => delivery.state().deliveredRecords === 60).catch(() =>
        assert.fail(JSON.stringify(delivery.state())),
      );
      assert.equal(delivery.state().state, "working");
      assert.deepEqual(ascending(store.held()), upTo(60));
      assert.deepEqual(await letters(), []);
      await delivery.stop(1000);
    }
  });

  test(`${name}: a record that is refused alone becomes a dead letter; the others arrive, once`, async (t) => {
    for (const fault of isClear === true ? (["bad"] as const) : (["bad", "faulty"] as const)) {
      const store = await start(t);
      // More than there are places, each in a batch of its own, and some amid others.
      const poison = [0, 1, 2, 3, 4, 5, 6, 7, 33, 34, 57];
      for (const n of poison) store[fault].add(n);
      const { delivery, send, letters } = deliverTo(t, store, 1);
      send(0, 8);
      const rest = deliverTo(t, store, 25);
      rest.send(8, 72);
      // Only traffic shows that the store is well.
      let more = 1000;
      await until(`the suspects are set aside, ${fault}`, () => {
        const isLeft = [delivery, rest.delivery].map((one, i) => one.state().refusedRecords < (i === 0 ? 8 : 3));
        if (isLeft[0] === true) send(more++, 1);
        if (isLeft[1] === true) rest.send(more++, 1);
        return !isLeft.includes(true);
      });
      await until("all is done", () => rest.delivery.state().waitingRecords + delivery.state().waitingRecords === 0);
      assert.deepEqual(ascending(await letters()), poison.slice(0, 8));
      assert.deepEqual(ascending(await rest.letters()), poison.slice(8));
      const held = ascending(store.held().filter((n) => n < 1000));
      const good = upTo(80).filter((n) => !poison.includes(n));
      assert.deepEqual(mayDouble === true ? [...new Set(held)] : held, good);
      assert.equal(delivery.state().state, "working");
      assert.match(delivery.state().fault ?? "", /^the store refuses records: /);
      await delivery.stop(1000);
      await rest.delivery.stop(1000);
    }
  });
}
