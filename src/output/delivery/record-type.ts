import { ecsName } from "../../record/index.ts";
import { fieldKey, findIn, isFieldAt, endOfValue, findValue } from "./line-fields.ts";
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

/**
 * Makes the labels of a line as a JSON object of texts: `{"service_name":"netgloss","record_type":"flow",…}`, and each chosen
 * field that the line has, with underscores in its name.
 */
export function createLabelsOf(fields: readonly string[]): (line: Buffer, from: number, to: number) => string {
  const chosen = fields.map((field) => ({ name: labelName(field), key: fieldKey(field) }));
  return (line, from, to) => {
    let labels = `{"service_name":"netgloss","record_type":"${recordTypeOf(line, from, to)}"`;
    for (const { name, key } of chosen) {
      const value = findValue(line, from, to, key);
      if (value < 0) continue;
      const text = line.toString("utf8", value, endOfValue(line, value, to));
      labels += `,"${name}":${text.startsWith('"') ? text : JSON.stringify(text)}`;
    }
    return `${labels}}`;
  };
}

/** Labels have letters, digits and underscores. */
function labelName(field: string): string {
  return field.replaceAll(/[^a-zA-Z0-9_]/g, "_").replace(/^(?=[0-9])/, "_");
}
