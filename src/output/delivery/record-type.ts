import { ecsName } from "../../record/index.ts";
import { fieldKey, findIn, isFieldAt } from "./line-fields.ts";
import type { RecordType } from "./settings.ts";

const exporterTypeKey = fieldKey(ecsName("flow.export.type"));
const typeKey = fieldKey("flow.record.type");
const exporterKey = fieldKey("flow.export.ip.addr");
const typesByLetter: ReadonlyMap<number, RecordType> = new Map([
  [0x6f, "flow_option"],
  [0x63, "telemetry"],
  [0x73, "telemetry"],
]);
const rollupLetter = 0x72;
/** Fields of the head stand within this many bytes. */
const headBytes = 512;

/** Where the exporter stands in most lines: behind `{"@timestamp":"2026-01-01T00:00:00.000Z",`. */
const exporterAt = 42;

/**
 * The type of a record by its head: `telemetry` for counters and SNMP, `flow_option` for what exporters report about
 * themselves, else `flow`.
 */
export function recordTypeOf(line: Buffer, from: number, to: number): RecordType {
  const head = line.subarray(from, Math.min(to, from + headBytes));
  // With the names of ECS the exporter is a host, as a device is; only exporters have a type.
  const at = findIn(head, typeKey);
  // A rollup is of any exporters.
  if (head[at + 1] === rollupLetter && at >= 0) return "flow";
  const isOfExporter =
    isFieldAt(head, 0, exporterAt, head.length, exporterKey) ||
    findIn(head, exporterKey) >= 0 ||
    findIn(head, exporterTypeKey) >= 0;
  if (!isOfExporter) return "telemetry";
  if (at < 0) return "flow";
  // Behind a quote: options, counters, discard (a packet, as of a flow), sample (of a format that is not known).
  return typesByLetter.get(head[at + 1] ?? 0) ?? "flow";
}
