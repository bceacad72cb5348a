import { createLineBuffer, type Enricher, type LineBuffer, type RecordFields, type Sink } from "../../record/index.ts";
import type { Clock } from "../../report/index.ts";
import type { Pacer } from "../definitions/pacer.ts";
import type { DeviceFacts } from "../discovery/describe-device.ts";
import { completeRow } from "../values/complete-row.ts";
import { putRow } from "../values/put-row.ts";
import type { NameTables } from "../values/put-value.ts";
import type { CountedRows } from "./counter-rates.ts";
import type { PolledObject } from "./poll-plan.ts";
import type { PolledRows } from "./poll-object.ts";
import { putRates } from "./put-rates.ts";
import { rowCells } from "./row-cells.ts";

/** What records are made for. */
export interface RecordSource {
  /** `ip:port` */
  readonly deviceId: string;
  /** `system.ip.addr` */
  readonly ip: string;
  /** `system.host.name` */
  readonly hostName: string;
  readonly names: NameTables;
  /** Compares its counters with those of the poll before. */
  readonly count: (object: PolledObject, at: number) => CountedRows | undefined;
  /** What the device is: `system.vendor` and so on of the record of its system group. */
  readonly facts: DeviceFacts;
}

export interface WrittenRows {
  readonly records: number;
  /** Values that are not of their attribute's syntax, and so not in the records. */
  readonly unreadable: number;
  /** Readings that no device can mean, and so not in the records. */
  readonly implausible: number;
  /** Rows whose instance is no index of the object: their records say so, and have it as it came. */
  readonly badIndexes: number;
}

/** Turns rows into records and hands them over, enriched, as lines. */
export interface RecordWriter {
  /**
   * Never throws; it gives the event loop its turn in a long table.
   *
   * @param isWanted whether to go on with a long table.
   */
  write(source: RecordSource, object: PolledObject, polled: PolledRows, isWanted?: () => boolean): Promise<WrittenRows>;
}

/** Sees every row that becomes a record, before metadata are added. */
export interface RowReader {
  begin(
    deviceId: string,
    device: { readonly ip: string; readonly name: string },
    object: PolledObject,
  ): { add(fields: RecordFields): void; end(): void };
}

/** Lines leave in pieces of about this size. */
const flushBytes = 256 * 1024;

/** Line buffers kept for the next object; each holds a slab of memory, and knows the names of fields. */
const maxIdle = 16;

/** How values are called: as in the definitions and in syslog, or as NetObserv calls them, whose dashboards filter by them. */
export type SnmpNaming = "netgloss" | "netobserv";

/** Tables are called by their rows there: `IF-MIB::ifXEntry` for `IF-MIB::ifXTable`. */
function objectName({ name, isTable }: PolledObject, naming: SnmpNaming): string {
  return isTable && naming === "netobserv" ? name.replace(/Table$/, "Entry") : name;
}

/** @param addsRates whether records have the changes of their counters since the previous poll. */
export function createRecordWriter(
  enricher: Enricher,
  sink: Sink,
  clock: Clock,
  pacer: Pacer,
  readings?: RowReader,
  addsRates = false,
  naming: SnmpNaming = "netgloss",
): RecordWriter {
  const idle: LineBuffer[] = [];
  return {
    async write(source, object, polled, isWanted = () => true) {
      const lines = idle.pop() ?? createLineBuffer();
      const timestamp = new Date(clock.now()).toISOString();
      const reader = readings?.begin(source.deviceId, { ip: source.ip, name: source.hostName }, object);
      const counted = source.count(object, polled.at);
      const written = { records: 0, unreadable: 0, implausible: 0, badIndexes: 0 };
      const called = objectName(object, naming);
      for (const row of polled.rows) {
        const { cells, isOddIndex, states } = rowCells(object, row);
        if (isOddIndex) written.badIndexes++;
        const fields: RecordFields = new Map();
        fields.set("@timestamp", timestamp);
        fields.set("system.ip.addr", source.ip);
        fields.set("system.host.name", source.hostName);
        fields.set("snmp.object.name", called);
        fields.set("snmp.object.entity", object.isTable ? `${object.id}.${row.key}` : object.id);
        if (!polled.isComplete || !polled.isOrdered) fields.set("snmp.object.isPartial", true);
        if (isOddIndex) fields.set("snmp.object.isOddIndex", true);
        const { unreadable, implausible } = putRow(fields, cells, source.names);
        written.unreadable += unreadable.length;
        written.implausible += implausible.length;
        for (const [field, text] of object.fixed) if (!fields.has(field)) fields.set(field, text);
        for (const [field, reason] of states) if (!fields.has(field)) fields.set(field, reason);
        if (object.isShaped) written.implausible += completeRow(fields, object.sensor, object.ranged);
        if (object.isSystem) for (const [fact, text] of source.facts) fields.set(`system.${fact}`, text);
        const change = counted?.row(row.key, cells);
        if (addsRates && change !== undefined) putRates(fields, change);
        written.records++;
        reader?.add(fields);
        enricher.enrich(fields);
        lines.append(fields);
        if (lines.byteLength >= flushBytes) flush();
        if (!pacer.isDue()) continue;
        await pacer.rest();
        if (!isWanted()) break;
      }
      if (polled.isComplete && isWanted()) counted?.end();
      flush();
      // A device that went meanwhile has no readings.
      if (isWanted()) reader?.end();
      if (idle.length < maxIdle) idle.push(lines);
      return written;

      function flush(): void {
        const { count } = lines;
        if (count > 0) sink.write(lines.take(), count);
      }
    },
  };
}
