import { compareOids, parseOid, type Oid } from "../../../src/snmp/session/ber.ts";
import type { VarBind } from "../../../src/snmp/session/ber.ts";

type WithoutOid<T> = T extends unknown ? Omit<T, "oid"> : never;

/** A value with its type, without the instance that has it. */
export type TypedValue = WithoutOid<VarBind>;

/** What an instance answers: always the same, or something of the seconds since the agent was started. */
export type AgentValue = TypedValue | ((uptime: number) => TypedValue);

export interface AgentRow {
  readonly oid: Oid;
  readonly value: AgentValue;
}

/** The instances of an agent in order. Immutable: agents may share one. */
export interface AgentTable {
  readonly rows: readonly AgentRow[];
  find(oid: Oid): AgentRow | undefined;
  /** The first instance after `oid`. */
  after(oid: Oid): AgentRow | undefined;
  /** A table with these instances put in or replaced. */
  with(rows: readonly AgentRow[]): AgentTable;
  /** A table without the instances that the test names. */
  without(isGone: (oid: Oid) => boolean): AgentTable;
}

/** Of several rows with one identifier the last counts. */
export function createTable(rows: readonly AgentRow[]): AgentTable {
  const sorted: AgentRow[] = [];
  for (const row of rows.toSorted((a, b) => compareOids(a.oid, b.oid))) {
    const previous = sorted.at(-1);
    if (previous !== undefined && compareOids(previous.oid, row.oid) === 0) sorted.pop();
    sorted.push(row);
  }
  /** Index of the first row whose identifier is not below (or, with `isAfter`, is above) `oid`. */
  const search = (oid: Oid, isAfter: boolean): number => {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const order = compareOids((sorted[middle] as AgentRow).oid, oid);
      if (order < 0 || (isAfter && order === 0)) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return {
    rows: sorted,
    find(oid) {
      const row = sorted[search(oid, false)];
      return row !== undefined && compareOids(row.oid, oid) === 0 ? row : undefined;
    },
    after: (oid) => sorted[search(oid, true)],
    with: (more) => createTable([...sorted, ...more]),
    without: (isGone) => createTable(sorted.filter((row) => !isGone(row.oid))),
  };
}

/** A table from dotted text: `{"1.3.6.1.2.1.1.5.0": octets("r1")}`. */
export function tableOf(values: Readonly<Record<string, AgentValue>>): AgentTable {
  return createTable(Object.entries(values).map(([text, value]) => ({ oid: oidOf(text), value })));
}

export function oidOf(text: string): Oid {
  const oid = parseOid(text);
  if (oid === undefined) throw new Error(`not an object identifier: ${text}`);
  return oid;
}

export const octets = (text: string): TypedValue => ({ type: "OctetString", value: Buffer.from(text) });
export const integer = (value: number): TypedValue => ({ type: "Integer32", value });
export const gauge = (value: number): TypedValue => ({ type: "Gauge32", value });
export const identifier = (text: string): TypedValue => ({ type: "ObjectIdentifier", value: oidOf(text) });

/** A Counter32 that grows by this many a second and wraps. */
export const counter32 = (start: number, perSecond: number): AgentValue => {
  return (uptime) => ({ type: "Counter32", value: Math.floor(start + uptime * perSecond) % 2 ** 32 });
};

/** A Counter64 that grows by this many a second. */
export const counter64 = (start: bigint, perSecond: bigint): AgentValue => {
  return (uptime) => ({ type: "Counter64", value: BigInt.asUintN(64, start + BigInt(Math.floor(uptime)) * perSecond) });
};

/** The same table with every constant counter growing by `perSecond`. */
export function moveCounters(table: AgentTable, perSecond: number): AgentTable {
  return createTable(
    table.rows.map(({ oid, value }) => {
      if (typeof value === "function") return { oid, value };
      if (value.type === "Counter32") return { oid, value: counter32(value.value, perSecond) };
      if (value.type === "Counter64") return { oid, value: counter64(value.value, BigInt(perSecond)) };
      return { oid, value };
    }),
  );
}
