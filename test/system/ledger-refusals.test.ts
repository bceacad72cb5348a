import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess, type CollectorProcess } from "../support/collector-process.ts";
import { startPartner } from "../support/partner.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";
import { openNumberedFlows, recordsPerDatagram } from "./ledger/numbered-flows.ts";

const perSecond = 5000;
const records = 400 * recordsPerDatagram;
const deadlineMs = 180_000;
/** The first of some numbers that are not of the ledger, and are no poison. */
const goodNumber = 30_000;
/** When nothing was delivered for so long, the suspects wait for traffic. */
const quietMs = 3000;

interface Output {
  readonly state: string;
  readonly blame?: string;
  readonly fault?: string;
  readonly waitingRecords: number;
  readonly deliveredRecords: number;
  readonly refusedRecords: number;
  readonly droppedRecords: number;
  readonly deadLetters?: { readonly records: number; readonly reasons: readonly { reason: string; records: number }[] };
}

interface Ledger {
  readonly collector: CollectorProcess;
  readonly output: () => Promise<Output>;
  /** Sends the records with numbers from here on. */
  readonly send: (from: number, count: number) => Promise<void>;
  /** The numbers of dead letters, ascending. */
  readonly letters: () => Promise<readonly number[]>;
  readonly resend: () => Promise<void>;
  /** `ready` or `degraded`. */
  readonly readiness: () => Promise<string>;
}

/** A collector whose one output leads to a store, with flows that have a number each in `flow.bytes`. */
async function openLedger(t: TestContext, word: string, name: string, own: Record<string, string>): Promise<Ledger> {
  const directory = tempDirectory(t);
  const settings = { ENABLE: "true", BATCH_DEADLINE: "100", RETRY_BACKOFF: "50", RETRY_BACKOFF_MAX: "500", ...own };
  const flows = await openNumberedFlows();
  cleanUp(t, () => flows.close());
  const collector = await startCollectorProcess({
    settings: {
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_STATE_DIRECTORY_PATH: directory,
      ...Object.fromEntries(Object.entries(settings).map(([key, value]) => [`SVC_OUTPUT_${word}_${key}`, value])),
    },
    readyMs: 240_000,
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  const ask = async (path: string, method = "GET"): Promise<Record<string, unknown>> =>
    (await (await fetch(`${collector.api}${path}`, { method })).json()) as Record<string, unknown>;
  return {
    collector,
    output: async () =>
      ((await ask("/api/v1/outputs")) as unknown as { outputs: readonly Output[] }).outputs[0] as Output,
    send: (from, count) => flows.send(collector.flowPort, from, count, perSecond),
    async letters() {
      const text = await readFile(join(directory, "output", name, "dead-letters.ndjson"), "utf8").catch(() => "");
      const numbers = text
        .split("\n")
        .slice(0, -1)
        .map((line) => (JSON.parse(line) as { record: Record<string, number> }).record["flow.bytes"] ?? -1);
      return numbers.toSorted((a, b) => a - b);
    },
    resend: async () => void (await ask(`/api/v1/outputs/${name}/resend`, "POST")),
    readiness: async () => ((await ask("/readyz"))["degraded"] === true ? "degraded" : "ready"),
  };
}

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n);
const isDone = async ({ output }: Ledger, count: number): Promise<boolean> => {
  const { deliveredRecords, refusedRecords, waitingRecords } = await output();
  return deliveredRecords + refusedRecords === count && waitingRecords === 0;
};

/** Waits until so many are delivered or set aside. Only traffic shows that a server is well, so some good records are sent meanwhile. */
async function untilJudged(ledger: Ledger, first: number): Promise<void> {
  let sent = first;
  let before = -1;
  let since = performance.now();
  await until(
    "all is delivered or set aside",
    async () => {
      if (await isDone(ledger, sent)) return true;
      const { deliveredRecords } = await ledger.output();
      if (deliveredRecords !== before) since = performance.now();
      before = deliveredRecords;
      if (performance.now() - since < quietMs) return false;
      await ledger.send(goodNumber, recordsPerDatagram);
      sent += recordsPerDatagram;
      return false;
    },
    deadlineMs,
  ).catch(async (error: unknown) => assert.fail(`${String(error)}: ${JSON.stringify(await ledger.output())}`));
}

for (const product of ["elasticsearch", "opensearch"] as const) {
  test(`${product}: poison records are set aside by themselves; a limit of shards holds everything`, async (t) => {
    const partner = await startPartner(t, product);
    const url = String(partner["url"]);
    const ask = async (method: string, path: string, body?: object): Promise<Record<string, unknown>> => {
      const headers = { "content-type": "application/json" };
      const answer = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
      const text = await answer.text();
      assert.ok(answer.ok, `${path}: ${text}`);
      return JSON.parse(text) as Record<string, unknown>;
    };
    /** All numbers that indices hold, ascending. */
    const held = async (index: string): Promise<readonly number[]> => {
      await ask("POST", `/${index}/_refresh`);
      const numbers: number[] = [];
      for (let after: unknown; ;) {
        const query = {
          size: 10_000,
          _source: false,
          sort: [{ "flow.bytes": "asc" }, { _doc: "asc" }],
          ...(after !== undefined && { search_after: after }),
        };
        const { hits } = (await ask("POST", `/${index}/_search`, query)) as {
          hits: { hits: readonly { sort: [number, number] }[] };
        };
        numbers.push(...hits.hits.map(({ sort }) => sort[0]));
        if (hits.hits.length < 10_000) return numbers;
        after = hits.hits.at(-1)?.sort;
      }
    };
    const settings = { ADDRESSES: url };

    await t.test("poison", async (u) => {
      // What is greater than the type of a field holds is refused.
      const template = (type: string) =>
        ask("PUT", "/_index_template/poison", {
          index_patterns: ["netgloss-flow"],
          priority: 500,
          data_stream: {},
          template: { mappings: { properties: { "flow.bytes": { type } } } },
        });
      await template("short");
      const ledger = await openLedger(u, product.toUpperCase(), product, {
        ...settings,
        INDEX_TEMPLATE_ENABLE: "false",
      });
      const poison = [40_000, 50_000].flatMap((first) => upTo(recordsPerDatagram).map((n) => first + n));
      await ledger.send(0, records / 2);
      await ledger.send(40_000, recordsPerDatagram);
      await ledger.send(records / 2, records / 2);
      await ledger.send(50_000, recordsPerDatagram);
      await untilJudged(ledger, records + poison.length);
      assert.equal(await ledger.readiness(), "degraded");
      assert.deepEqual(await ledger.letters(), poison);
      const ofLedger = (numbers: readonly number[]): readonly number[] =>
        numbers.filter((n) => n < records || n >= 40_000);
      assert.deepEqual(ofLedger(await held("netgloss-flow")), upTo(records));
      u.diagnostic(JSON.stringify((await ledger.output()).deadLetters));
      await template("long");
      await ask("POST", "/netgloss-flow/_rollover");
      await ledger.resend();
      await until("they are sent again", async () => (await ledger.output()).deadLetters?.records === 0, deadlineMs);
      assert.deepEqual(ofLedger(await held("netgloss-flow")), [...upTo(records), ...poison]);
      assert.deepEqual(await ledger.collector.end(), { code: 0, signal: null });
    });

    await t.test("shards", async (u) => {
      const limit = (shards: number | null) =>
        ask("PUT", "/_cluster/settings", { persistent: { "cluster.max_shards_per_node": shards } });
      await ask("PUT", "/filler", { settings: { number_of_shards: 1, number_of_replicas: 0 } });
      await limit(1);
      const ledger = await openLedger(u, product.toUpperCase(), product, {
        ...settings,
        INDEX_PERIOD: "daily",
        INDEX_SUFFIX: "full",
      });
      await ledger.send(0, records);
      await until("it is seen", async () => (await ledger.output()).blame === "operator", deadlineMs);
      await until(
        "it has been tried for a while",
        async () => ((await ledger.collector.metric("netgloss_output_retried_records_total")) ?? 0) > 3 * records,
        deadlineMs,
      ).catch(() => {});
      const {
        state,
        fault = "",
        refusedRecords,
        deliveredRecords,
        droppedRecords,
        waitingRecords,
      } = await ledger.output();
      assert.deepEqual(
        [state, refusedRecords, deliveredRecords, droppedRecords, waitingRecords],
        ["failing", 0, 0, 0, records],
      );
      assert.match(fault, /maximum .*shards open.*raise cluster\.max_shards_per_node/);
      assert.equal(await ledger.readiness(), "degraded");
      await limit(null);
      await until("all is delivered", () => isDone(ledger, records), deadlineMs);
      assert.deepEqual(await held("netgloss-flow-full-*"), upTo(records));
      assert.deepEqual(await ledger.letters(), []);
      assert.equal(await ledger.readiness(), "ready");

      const [index] = Object.keys(await ask("GET", "/netgloss-flow-full-*"));
      await ask("POST", `/${index ?? ""}/_close`);
      await ledger.send(records, records);
      await until(
        "the closed index is seen",
        async () => (await ledger.output()).fault?.includes("open the index"),
        deadlineMs,
      );
      assert.equal((await ledger.output()).refusedRecords, 0);
      await ask("POST", `/${index ?? ""}/_open`);
      await until("all of that is delivered", () => isDone(ledger, 2 * records), deadlineMs);
      assert.deepEqual(await held("netgloss-flow-full-*"), upTo(2 * records));
      assert.deepEqual(await ledger.collector.end(), { code: 0, signal: null });
    });
  });
}

test("clickhouse: rows that a constraint refuses are found; a view that fails costs the table nothing", async (t) => {
  const partner = await startPartner(t, "clickhouse");
  const ask = async (statement: string): Promise<string> => {
    const answer = await fetch(`${String(partner["url"])}/?user=netgloss&password=secret`, {
      method: "POST",
      body: statement,
    });
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    return text;
  };
  const ledger = await openLedger(t, "CLICKHOUSE", "clickhouse", {
    ADDRESSES: String(partner["url"]),
    USERNAME: "netgloss",
    PASSWORD: "secret",
    TABLE_TTL: "0",
    BATCH_MAX_BYTES: "512KiB",
  });
  await until("the table is made", async () => (await ask("EXISTS netgloss_flow")).trim() === "1");
  await ask("ALTER TABLE netgloss_flow ADD CONSTRAINT poison CHECK ifNull(flow_bytes, 0) % 4000 != 8");
  await ask("CREATE TABLE sums (n UInt64) ENGINE = MergeTree ORDER BY n");
  await ask(
    "CREATE MATERIALIZED VIEW sums_view TO sums AS SELECT ifNull(flow_bytes, 0) + throwIf(flow_bytes % 4000 = 7) AS n FROM netgloss_flow",
  );
  await ledger.send(0, records);
  const poison = upTo(records).filter((n) => n % 4000 === 8);
  await untilJudged(ledger, records);
  const isOfLedger = (n: number): boolean => n < records;
  assert.deepEqual((await ledger.letters()).filter(isOfLedger), poison);
  const rows = (await ask("SELECT flow_bytes FROM netgloss_flow FORMAT TSV")).trim().split("\n").map(Number);
  const held = rows.filter(isOfLedger).toSorted((a, b) => a - b);
  assert.deepEqual(
    held,
    upTo(records).filter((n) => !poison.includes(n)),
  );
  assert.deepEqual(await ledger.collector.end(), { code: 0, signal: null });
});
