import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { faults as tcpFaults, httpFaults, type FaultProxy } from "../../output/delivery/fault-proxy.ts";
import { cleanUp } from "../../support/clean-up.ts";
import { startCollectorProcess, type CollectorProcess } from "../../support/collector-process.ts";
import { tempDirectory } from "../../support/temp-directory.ts";
import { until } from "../../support/until.ts";
import { openNumberedFlows, recordsPerDatagram } from "./numbered-flows.ts";

/** A store whose ledger is kept. */
export interface LedgerStore {
  /** As settings have it: `KAFKA`. */
  readonly word: string;
  /** As metrics have it. */
  readonly output: string;
  /** Of the output, without `SVC_OUTPUT_<WORD>_`. They lead through the proxy. */
  readonly settings: Readonly<Record<string, string>>;
  readonly proxy: FaultProxy;
  readonly isHttp: boolean;
  /**
   * When a record may be there twice: `never`, `afterKills` of the collector, or `always`, when an acknowledgement is lost.
   */
  readonly twice: "never" | "afterKills" | "always";
  /** Kills the server; it is started again with its data. Absent: it has acknowledged data that a kill would cost, or is one of the tests. */
  readonly kill?: () => void;
  /** Calls back for each number that the store holds, as often as it holds it. */
  readonly read: (visit: (n: number) => void) => Promise<void>;
  /** How many it holds, where it can say that without reading them. */
  readonly count?: () => Promise<number>;
}

export interface LedgerOptions {
  readonly records: number;
  readonly faults: number;
  /** How long each lasts, milliseconds. */
  readonly faultMs: number;
  readonly serverKills: number;
  readonly collectorKills: number;
  /** Records a second while they are sent. */
  readonly rate: number;
  /** Below 1, from 0. */
  readonly random: () => number;
}

/** What a batch waits for its records. */
const deadlineMs = 50;

/**
 * A collector in the mode `always` takes numbered flows, while the way to its store has one fault after the other, the store
 * is killed, and the collector is killed: sometimes when all that it took is on disk, sometimes amid its work. Then what was
 * sent is compared with what the store holds.
 *
 * - Nothing that was on disk is missing, nothing that was taken without a kill is.
 * - Nothing is there twice, where that is promised.
 */
export async function keepCollectorLedger(t: TestContext, store: LedgerStore, options: LedgerOptions): Promise<void> {
  const { random, records } = options;
  const directory = tempDirectory(t);
  const settings = collectorSettings(store, directory);
  const begun = performance.now();
  const flows = await openNumberedFlows();
  cleanUp(t, () => flows.close());
  const start = async (): Promise<CollectorProcess> => {
    const started = await startCollectorProcess({ settings, readyMs: 240_000 });
    cleanUp(t, () => started.end("SIGKILL"));
    return started;
  };
  let collector = await start();
  const disturbance = disturb(t, store, options);

  /** Numbers that were not on disk when the collector was killed: first, behind the last. */
  const atRisk: (readonly [number, number])[] = [];
  const pieces = Math.max(options.collectorKills + 1, Math.ceil(records / 50_000));
  const piece = Math.ceil(records / pieces / recordsPerDatagram) * recordsPerDatagram;
  let sent = 0;
  let sentToThis = 0;
  let kills = 0;
  for (let i = 0; i < pieces; i++) {
    await flows.send(collector.flowPort, sent, piece, options.rate);
    const first = sent;
    sent += piece;
    sentToThis += piece;
    const isKilled = Math.trunc(((i + 1) * options.collectorKills) / pieces) > kills;
    // Every second kill comes amid the work.
    if (!isKilled || kills % 2 === 0) await untilOnDisk(collector, store, sentToThis);
    else atRisk.push([first, sent]);
    if (!isKilled) continue;
    kills++;
    await assertNothingGivenUp(collector);
    await sleep(100 * random());
    await collector.end("SIGKILL");
    collector = await start();
    sentToThis = 0;
  }
  const done = await disturbance;
  const limitMs = Math.max(900_000, 2 * records);
  await until("all is delivered", () => isDelivered(collector, store), limitMs).catch(async (error: unknown) => {
    assert.fail(`${String(error)}: ${await (await fetch(`${collector.api}/api/v1/outputs`)).text()}`);
  });
  const seconds = (performance.now() - begun) / 1000;
  await assertNothingGivenUp(collector);
  const retried = await collector.metric("netgloss_output_retried_records_total");
  assert.deepEqual(await collector.end(), { code: 0, signal: null });

  const letters = join(directory, "output", store.output, "dead-letters.ndjson");
  assert.ok(!existsSync(letters), `there are dead letters: ${letters}`);

  const { missing, twice, held } = await compare(store, sent, atRisk);
  t.diagnostic(
    `${store.output}: ${sent} records in ${seconds.toFixed(0)} s, ${done.faults} faults, ${done.serverKills} kills of the server, ${kills} of the collector; ` +
      `${held} held, ${twice} twice, ${missing.atRisk} of ${sum(atRisk)} that were in memory at a kill are lost; ${retried} sent again by the last run`,
  );
  assert.deepEqual(missing.others, [], "nothing is missing");
  const mayBeTwice = store.twice === "always" || (store.twice === "afterKills" && kills > 0);
  if (!mayBeTwice) assert.equal(twice, 0, "nothing is there twice");
}

function collectorSettings({ word, settings }: LedgerStore, directory: string): Record<string, string> {
  const own = {
    ENABLE: "true",
    SPOOL_MODE: "always",
    BATCH_DEADLINE: String(deadlineMs),
    BATCH_MAX_BYTES: "1MiB",
    TIMEOUT: "2",
    RETRY_BACKOFF: "20",
    RETRY_BACKOFF_MAX: "200",
    ...settings,
  };
  return {
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_STATE_DIRECTORY_PATH: directory,
    ...Object.fromEntries(Object.entries(own).map(([name, value]) => [`SVC_OUTPUT_${word}_${name}`, value])),
  };
}

/** One fault after the other, each at random, with pauses, until there were enough of them. */
async function disturb(
  t: TestContext,
  store: LedgerStore,
  options: LedgerOptions,
): Promise<{ faults: number; serverKills: number }> {
  const { random, faults, faultMs } = options;
  // A test that has failed does not wait for the rest.
  const over = new AbortController();
  cleanUp(t, () => over.abort());
  const kinds = store.isHttp ? httpFaults : tcpFaults;
  const serverKills = store.kill === undefined ? 0 : options.serverKills;
  let killed = 0;
  for (let i = 1; i <= faults && !over.signal.aborted; i++) {
    store.proxy.fault = kinds[Math.trunc(random() * kinds.length)] ?? "pass";
    if (random() < 0.3) store.proxy.cut();
    await sleep(faultMs * (0.5 + random()));
    store.proxy.fault = "pass";
    if (!over.signal.aborted && Math.trunc((i * serverKills) / faults) > killed) {
      killed++;
      store.kill?.();
    }
    await sleep(faultMs * random());
  }
  return { faults, serverKills: killed };
}

/** No record was refused, or dropped anywhere. */
async function assertNothingGivenUp({ api }: CollectorProcess): Promise<void> {
  const text = await (await fetch(`${api}/metrics`)).text();
  const losses = /^netgloss_(?:output_(?:refused|dropped)_records|flow_lines_dropped)_total\S* (?!0$).*$/gm;
  assert.deepEqual(text.match(losses), null, "nothing is refused or dropped");
}

/** Waits until all that was sent to this collector is decoded and on disk. */
async function untilOnDisk(collector: CollectorProcess, { output }: LedgerStore, sent: number): Promise<void> {
  await until(
    "all is on disk",
    async () => {
      const [decoded, lost, held] = (await collector.metrics([
        "netgloss_flow_records_total",
        "netgloss_flow_kernel_drops_total",
        `netgloss_output_queue_bytes{output="${output}"}`,
      ])) as [number, number, number];
      assert.equal(lost, 0, "the kernel dropped datagrams: the rate is too high for this host");
      return decoded === sent && held === 0;
    },
    120_000,
  );
  // What the decoder has just written down may not have left it.
  await sleep(200);
}

async function isDelivered(collector: CollectorProcess, { output }: LedgerStore): Promise<boolean> {
  const response = await fetch(`${collector.api}/api/v1/outputs`);
  const { outputs } = (await response.json()) as { outputs: readonly Record<string, unknown>[] };
  const state = outputs.find(({ name }) => name === output);
  return (
    state?.["state"] === "working" && ["waitingRecords", "inFlight", "queueBytes"].every((key) => state[key] === 0)
  );
}

async function compare(store: LedgerStore, sent: number, atRisk: readonly (readonly [number, number])[]) {
  const seen = new Uint8Array(sent);
  let held = 0;
  let distinct = 0;
  await store.read((n) => {
    if (!(n >= 0 && n < sent)) throw new Error(`the store holds the number ${n}, which nobody sent`);
    held++;
    if (seen[n] === 0) distinct++;
    seen[n] = 1;
  });
  held = (await store.count?.()) ?? held;
  const others: number[] = [];
  let lost = 0;
  for (let n = 0; n < sent; n++) {
    if (seen[n] === 1) continue;
    if (atRisk.some(([from, to]) => n >= from && n < to)) lost++;
    else if (others.length < 20) others.push(n);
  }
  return { held, twice: held - distinct, missing: { atRisk: lost, others } };
}

function sum(ranges: readonly (readonly [number, number])[]): number {
  return ranges.reduce((total, [from, to]) => total + to - from, 0);
}
