import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Delivery, type OutputAdapter } from "../../../src/output/index.ts";
import { tempDirectory } from "../../support/temp-directory.ts";
import { until } from "../../support/until.ts";
import { deliveryOptions, type GivenDelivery } from "./delivery-fixture.ts";
import { faults, type FaultProxy } from "./fault-proxy.ts";

/** A store that the contract is tried against. */
export interface ContractStore {
  /** Reaches the store through the proxy. */
  readonly adapter: OutputAdapter;
  readonly proxy: FaultProxy;
  /** Whether a batch that is sent twice is kept once. */
  readonly isExactlyOnce: boolean;
  /** The `n` of every record that the store holds, as often as it holds it. */
  numbers(): Promise<readonly number[]>;
  /** Further faults of the store itself, one after the other. */
  readonly moods?: readonly (() => Promise<void> | void)[];
}

export interface LedgerOptions {
  readonly records: number;
  /** Records that are added together. */
  readonly step: number;
  /** How long each fault lasts, milliseconds. */
  readonly faultMs: number;
  readonly config?: GivenDelivery;
  readonly line?: (n: number) => string;
}

/** A flow record as the collector writes it, with a number to know it by. */
export function numberedFlow(n: number): string {
  const time = new Date(1_767_225_600_000 + n).toISOString();
  return `{"@timestamp":"${time}","flow.export.ip.addr":"192.0.2.${n % 7}","flow.export.type":"netflow","flow.bytes":${n},"n":${n}}`;
}

/**
 * Sends numbered records while the way to the store has one fault after the other, and compares what was sent with what
 * the store holds: nothing missing, and nothing twice where the store can know records again.
 */
export async function keepLedger(t: TestContext, store: ContractStore, options: LedgerOptions): Promise<void> {
  const { records, step, faultMs, line = numberedFlow } = options;
  const delivery = new Delivery({
    ...deliveryOptions({
      BATCH_MAX_BYTES: 16_384,
      maxBatchRecords: 1000,
      BATCH_DEADLINE: 5,
      QUEUE_SIZE: 1 << 20,
      SPOOL_MODE: "overflow",
      stateDirectory: tempDirectory(t),
      SPOOL_MAX_SIZE: 1 << 28,
      REQUESTS_IN_FLIGHT: 3,
      TIMEOUT: 0.5,
      RETRY_BACKOFF: 5,
      RETRY_BACKOFF_MAX: 50,
      ...options.config,
    }),
    adapter: store.adapter,
    instance: `ledger${String(Math.trunc(performance.now()) % 1_000_000).padStart(6, "0")}`,
  });
  delivery.start();
  const faulting = new AbortController();
  const disturb = (async () => {
    const moods = [...faults.map((fault) => () => void (store.proxy.fault = fault)), ...(store.moods ?? [])];
    for (let i = 0; !faulting.signal.aborted; i++) {
      await moods[i % moods.length]?.();
      if (i % 3 === 2) store.proxy.cut();
      await sleep(faultMs);
    }
    store.proxy.fault = "pass";
    await store.moods?.[0]?.();
  })();
  for (let n = 0; n < records; n += step) {
    const lines = Array.from({ length: Math.min(step, records - n) }, (_, i) => `${line(n + i)}\n`);
    delivery.add(Buffer.from(lines.join("")), lines.length, () => {});
    await sleep(1);
  }
  await sleep(faultMs * 2);
  faulting.abort();
  await disturb;
  await until("all is delivered", () => {
    const { waitingRecords, inFlight, queueBytes } = delivery.state();
    return waitingRecords === 0 && inFlight === 0 && queueBytes === 0;
  }).catch((error: unknown) => assert.fail(`${String(error)}: ${JSON.stringify(delivery.state())}`));
  const state = delivery.state();
  await delivery.stop(1000);
  assert.deepEqual([state.refusedRecords, state.droppedRecords, state.deliveredRecords], [0, 0, records]);

  const held = (await store.numbers()).toSorted((a, b) => a - b);
  const times = new Map<number, number>();
  for (const n of held) times.set(n, (times.get(n) ?? 0) + 1);
  const missing = Array.from({ length: records }, (_, n) => n).filter((n) => !times.has(n));
  assert.deepEqual(missing, [], "nothing is missing");
  if (store.isExactlyOnce) assert.equal(held.length, records, "nothing is there twice");
  t.diagnostic(`${records} records, ${state.retriedRecords} sent again, ${held.length - records} held twice`);
}
