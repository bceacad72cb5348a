import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { ThreadMetadata } from "../../src/app/threads/flow-thread-parts.ts";
import { AddressEnricher, type WatchAddresses } from "../../src/enrich/index.ts";
import { formatAddress, type Address } from "../../src/base/ip/index.ts";
import type { RecordFields } from "../../src/record/index.ts";
import { createMetrics, silentLog, type Metrics } from "../../src/base/report/index.ts";
import { SharedIndex, SharedIndexReader, type UdmEdit } from "../../src/metadata/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { buildState } from "../support/shared-index.ts";
import { denseAddress, denseKeyText, udmEntry } from "../support/udm-entry.ts";
import { runs } from "../support/runs.ts";

/** A store, and three that follow it: as a thread does, as the thread of the store does, and without keeping anything. */
async function setUp(maxCached = 30) {
  const shared = new SharedIndex({ maxEntries: 10_000 });
  let index = shared.empty();
  shared.publish(index);
  const reader = new ThreadMetadata(new SharedIndexReader(shared.handle()));
  const listeners = new Set<Parameters<WatchAddresses>[0]>();
  const watch: WatchAddresses = (listener) => {
    listeners.add(listener);
    listener(index);
    return () => listeners.delete(listener);
  };
  const follow = async (
    watched: WatchAddresses,
    ttlMs: number,
  ): Promise<{ enricher: AddressEnricher; metrics: Metrics }> => {
    const metrics = createMetrics();
    const clock = { now: () => 0, monotonic: () => 0 };
    const enricher = new AddressEnricher({
      watch: watched,
      ttlMs,
      invalidate: true,
      maxCached,
      clock,
      metrics,
      log: silentLog,
    });
    await enricher.start();
    return { enricher, metrics };
  };
  const inThread = await follow((listener) => reader.watch(listener), 1000);
  const inProcess = await follow(watch, 1000);
  const plain = await follow(watch, 0);
  return {
    followers: [inThread, inProcess],
    plain: plain.enricher,
    commit: (change: (edit: UdmEdit) => void): void => {
      const edit = index.edit();
      change(edit);
      const next = edit.done();
      const changed = shared.publish(next);
      shared.release(index);
      index = next;
      for (const listener of listeners) listener(index, changed);
    },
    reload: (): void => {
      const again = Array.from(index.entries(), ({ key, name }) => udmEntry(key.text, { name: `${name} again` }));
      const next = buildState(shared, again, index.version + 1);
      const changed = shared.publish(next);
      index = next;
      for (const listener of listeners) listener(index, changed);
    },
    /** A datagram arrives. */
    look: () => reader.look(),
  };
}

const into = new DataView(new ArrayBuffer(70_000));

/** What an address adds to a line and to a record. */
function additionsOf(enricher: AddressEnricher, address: Address): string {
  const hex = address.value.toString(16).padStart(address.family === 4 ? 8 : 32, "0");
  const from = new DataView(Uint8Array.from(Buffer.from(hex, "hex")).buffer);
  const { lines } = enricher;
  lines?.begin();
  const end = lines?.addresses[0]?.append(1, from, into) ?? 0;
  const record: RecordFields = new Map([["flow.dst.ip.addr", formatAddress(address)]]);
  enricher.enrich(record);
  return `${Buffer.from(into.buffer, 0, end).toString()} ${JSON.stringify([...record])}`;
}

test("whatever is changed and asked for, each answer is that of an enricher that keeps nothing", async () => {
  const change = fc.tuple(fc.integer({ min: 0, max: 3 }), denseKeyText);
  const address = fc.tuple(fc.constantFrom<4 | 6>(4, 6), fc.nat(63)).map(([family, n]) => denseAddress(family, n));
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ changes: fc.array(change, { maxLength: 4 }) }) },
    { weight: 12, arbitrary: fc.record({ ask: fc.array(address, { maxLength: 12 }) }) },
    { weight: 1, arbitrary: fc.constant({ reload: true }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { followers, plain, commit, reload, look } = await setUp();
      for (const [n, made] of steps.entries()) {
        if ("changes" in made) {
          commit((edit) => {
            for (const [kind, key] of made.changes) {
              const entry = udmEntry(key, { name: `${n}`, vlan: BigInt(kind), metadata: { ".site": key } });
              if (kind === 0) edit.delete(entry.key);
              else edit.put(entry);
            }
          });
        } else if ("reload" in made) {
          reload();
        } else {
          look();
          for (const asked of made.ask) {
            const expected = additionsOf(plain, asked);
            for (const { enricher } of followers) assert.equal(additionsOf(enricher, asked), expected);
          }
        }
      }
    }),
    runs(60),
  );
});

test("a change makes only what it concerns again, also where many changes come between two datagrams", async () => {
  const { followers, plain, commit, look } = await setUp(1000);
  commit((edit) => {
    for (let n = 0; n < 64; n++) edit.put(udmEntry(formatAddress(denseAddress(4, n)), { name: `${n}` }));
  });
  const misses = (): Promise<(number | undefined)[]> =>
    Promise.all(followers.map(({ metrics }) => metrics.value("netgloss_enrich_udm_cache_misses_total")));
  /** Asks for all, and gives how many were looked up. */
  const ask = async (): Promise<number[]> => {
    const before = await misses();
    look();
    for (let n = 0; n < 64; n++) {
      const asked = denseAddress(4, n);
      for (const { enricher } of followers) assert.equal(additionsOf(enricher, asked), additionsOf(plain, asked));
    }
    const after = await misses();
    return after.map((count, i) => (count ?? 0) - (before[i] ?? 0));
  };
  const change = (key: string, name: string): void => commit((edit) => edit.put(udmEntry(key, { name })));
  // Each address is asked for as bytes and as a text: what was made for one is there for the other.
  assert.deepEqual(await ask(), [64, 64]);
  change("192.0.2.1", "elsewhere");
  change("2001:db8::/32", "elsewhere");
  assert.deepEqual(await ask(), [0, 0]);
  change("10.0.0.8/30", "here");
  change("10.0.0.9", "here");
  assert.deepEqual(await ask(), [4, 4]);
  for (let n = 0; n < 600; n++) change("10.0.0.0-10.0.0.1", `${n}`);
  assert.deepEqual(await ask(), [2, 2]);
  // More than the ring of changes holds.
  for (let n = 0; n < 5000; n++) change("10.0.0.0-10.0.0.1", `${n}`);
  assert.deepEqual(await ask(), [64, 2]);
  commit((edit) => {
    for (let n = 0; n < 3000; n++) edit.put(udmEntry(`10.9.${n >> 8}.${n & 255}`));
  });
  assert.deepEqual(await ask(), [64, 64]);
  assert.deepEqual(await ask(), [0, 0]);
});

test("a listener that comes late learns of all changes", async (t: TestContext) => {
  const shared = new SharedIndex({ maxEntries: 10 });
  const reader = new SharedIndexReader(shared.handle());
  cleanUp(t, () => reader.close());
  const { version, changed } = reader.changes();
  assert.deepEqual([version, changed], [0, undefined]);
  const edit = shared.empty().edit();
  edit.put(udmEntry("10.0.0.0/8"));
  shared.publish(edit.done());
  assert.deepEqual(reader.changes(), { version: 1, changed: undefined });
  assert.deepEqual(reader.changes(), { version: 1, changed: [] });
});
