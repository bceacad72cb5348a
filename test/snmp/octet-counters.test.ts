import assert from "node:assert/strict";
import { test } from "node:test";
import type { PolledRows } from "../../src/snmp/poller/poll-object.ts";
import type { PolledObject } from "../../src/snmp/poller/poll-plan.ts";
import { OctetCounters, type OctetBudget } from "../../src/snmp/poller/interface-states.ts";

const minute = 60_000;

/** A table with these columns; only what the readings are made of. */
function objectOf(...columns: readonly string[]): PolledObject {
  return { columns: columns.map((oidText) => ({ attribute: { oidText } })) } as unknown as PolledObject;
}

const octets = objectOf(".1.3.6.1.2.1.31.1.1.1.1", ".1.3.6.1.2.1.31.1.1.1.6", ".1.3.6.1.2.1.31.1.1.1.10");

/** By ifIndex: what came in and what went out. */
function rowsOf(rows: Readonly<Record<string, readonly (bigint | undefined)[]>>, isComplete = true): PolledRows {
  const counter = (value: bigint | undefined) =>
    value === undefined ? undefined : { type: "Counter64" as const, value };
  return {
    rows: Object.entries(rows).map(([key, [received, sent]]) => ({
      key,
      values: [{ type: "OctetString" as const, value: "eth" }, counter(received), counter(sent)],
    })),
    isComplete,
    isOrdered: true,
    detail: undefined,
    error: undefined,
    isCut: false,
    at: 0,
  };
}

const roomy = (max = 100): OctetBudget => ({ max, used: 0, leftOut: 0 });

test("readings of each interface are kept in order, those that come too often are not", () => {
  const counters = new OctetCounters(roomy());
  counters.see(octets, rowsOf({ 1: [10n, 20n], 2: [5n, undefined] }), 0);
  counters.see(octets, rowsOf({ 1: [11n, 21n] }), 10_000);
  counters.see(octets, rowsOf({ 1: [30n, 40n], 2: [18_446_744_073_709_551_615n, undefined] }), minute);
  assert.deepEqual(counters.readings().get(1), [
    { at: 0, in: 10, out: 20 },
    { at: minute, in: 30, out: 40 },
  ]);
  assert.deepEqual(counters.readings().get(2)?.at(-1), { at: minute, in: 2 ** 64, out: undefined });
});

test("counters that went back begin again", () => {
  const counters = new OctetCounters(roomy());
  counters.see(octets, rowsOf({ 1: [10n, 20n] }), 0);
  counters.see(octets, rowsOf({ 1: [11n, 19n] }), minute);
  assert.deepEqual(counters.readings().get(1), [{ at: minute, in: 11, out: 19 }]);
});

test("half an hour is kept, and interfaces that are gone leave their place", () => {
  const budget = roomy(2);
  const counters = new OctetCounters(budget);
  for (let at = 0; at <= 60; at++) {
    counters.see(
      octets,
      rowsOf({ 1: [BigInt(at), 0n], ...(at < 5 && { 2: [1n, 1n] }), ...(at > 50 && { 3: [1n, 1n] }) }),
      at * minute,
    );
  }
  assert.equal(counters.readings().get(1)?.length, 30);
  assert.deepEqual([...counters.readings().keys()], [1, 3]);
  assert.equal(budget.used, 2);
  counters.clear();
  assert.equal(budget.used, 0);
});

test("what has no room is counted, and other tables, rows and values are not looked at", () => {
  const budget = roomy(1);
  const counters = new OctetCounters(budget);
  counters.see(octets, rowsOf({ 1: [1n, 1n], 2: [1n, 1n], "3.4": [1n, 1n], 5: [undefined, undefined] }), 0);
  counters.see(objectOf(".1.3.6.1.2.1.2.2.1.10"), rowsOf({ 9: [1n, 1n] }), 0);
  assert.deepEqual([counters.size, budget.used, budget.leftOut], [1, 1, 1]);
  const none = new OctetCounters(undefined);
  none.see(octets, rowsOf({ 1: [1n, 1n] }), 0);
  assert.equal(none.size, 0);
});
