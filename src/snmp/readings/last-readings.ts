import type { RecordFields, Value } from "../../record/index.ts";
import type { PolledObject } from "../poller/poll-plan.ts";
import {
  fieldNames,
  metricName,
  severityField,
  stateSeverities,
  type MetricKind,
  type StateSeverity,
} from "../values/put-value.ts";

/** The approximate number of lines and tables for one chunk; a chunk without lines is empty. */
const stepsEach = 250;

/**
 * Yields the last readings in the Prometheus text format 0.0.4, in chunks. Each field is a metric (`netif.bytes.in` is
 * `snmp_netif_bytes_in_total`). The labels are the device's name and address, and the fields that identify its row. No chunk takes
 * long, even if only few of many devices have a reading of a field.
 */
export function* prometheusText(readings: LastReadings): Generator<string> {
  let piece = "";
  let steps = 0;
  for (const [field, kind] of readings.metrics()) {
    const name = metricName(field, kind);
    let hasHead = false;
    for (const table of readings.of(field)) {
      for (const line of linesOf(name, table)) {
        if (!hasHead) piece += `# HELP ${name} ${field} of polled devices.\n# TYPE ${name} ${kind}\n`;
        hasHead = true;
        piece += line;
        if (++steps % stepsEach !== 0) continue;
        yield piece;
        piece = "";
      }
      if (++steps % stepsEach !== 0) continue;
      yield piece;
      piece = "";
    }
  }
  if (piece !== "") yield piece;
}

function* linesOf(name: string, { device, labelNames, labels, values }: ReadingTable): Generator<string> {
  if (values === undefined) return;
  const names = labelNames.map(labelName);
  const start = `${name}{device="${escapeLabel(device.name)}",ip="${device.ip}"`;
  for (const [row, value] of values.entries()) {
    if (Number.isNaN(value)) continue;
    let line = start;
    for (const [i, label] of names.entries()) {
      const text = labels[row * names.length + i];
      if (text !== undefined) line += `,${label}="${escapeLabel(text)}"`;
    }
    yield `${line}} ${value}\n`;
  }
}

function labelName(field: string): string {
  return field.replaceAll(/[^a-zA-Z0-9]/g, "_");
}

function escapeLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}

/** The rows of one object of a device. All rows of a table have the same fields, so each field is one list. */
interface ReadingTable {
  readonly device: ReadingDevice;
  /** The names of the fields that identify a row. */
  readonly labelNames: readonly string[];
  /** The texts of the first row in the order of their names, then those of the second, and so on. */
  readonly labels: readonly (string | undefined)[];
  /** A value for each row, NaN if it has none; undefined if no row has one. */
  readonly values: Float64Array | undefined;
}

interface ReadingDevice {
  readonly ip: string;
  readonly name: string;
}

interface KeptTable extends Omit<ReadingTable, "values"> {
  readonly rows: number;
  /** The columns by field, without fields that no row has. */
  readonly columns: ReadonlyMap<string, Float64Array>;
}

/** The rows that are kept of one object. */
interface KeptObject {
  /** The fields of which any device had a reading. */
  readonly fields: Set<string>;
  readonly byDevice: Map<string, KeptTable>;
}

/** The longest value of a label. */
const maxLabel = 200;

/** Keeps the numbers of the last poll of every device and object, up to a limit. */
export class LastReadings {
  readonly #maxRows: number;
  readonly #objects = new Map<string, KeptObject>();
  readonly #kinds = new Map<string, MetricKind>();
  /** The number of rows that are kept, and of those left out because of the limit. */
  readonly counts = { rows: 0, leftOut: 0 };

  /** @param maxRows the most rows to keep for all devices. */
  constructor(maxRows: number) {
    this.#maxRows = maxRows;
  }

  /** Begins the rows of one object of a device. They replace the earlier ones when they are complete. */
  begin(deviceId: string, device: ReadingDevice, object: PolledObject): ReadingWriter {
    const before = this.#objects.get(object.id)?.byDevice.get(deviceId)?.rows ?? 0;
    const room = this.#maxRows - this.counts.rows + before;
    return new ReadingWriter(object, room, this.counts, (table) => this.#keep(deviceId, object, { ...table, device }));
  }

  /** Drops the readings of a device that was removed. */
  forget(deviceId: string): void {
    for (const { byDevice } of this.#objects.values()) {
      this.counts.rows -= byDevice.get(deviceId)?.rows ?? 0;
      byDevice.delete(deviceId);
    }
  }

  /** Returns the kind of each field with a reading, in the order of names. */
  metrics(): ReadonlyMap<string, MetricKind> {
    return new Map([...this.#kinds].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Yields the readings of a field, one table of one device after the other. Objects without the field are skipped. */
  *of(field: string): Iterable<ReadingTable> {
    for (const { fields, byDevice } of this.#objects.values()) {
      if (!fields.has(field)) continue;
      for (const { device, labelNames, labels, columns } of byDevice.values())
        yield { device, labelNames, labels, values: columns.get(field) };
    }
  }

  #keep(deviceId: string, object: PolledObject, table: KeptTable): void {
    let kept = this.#objects.get(object.id);
    if (kept === undefined) this.#objects.set(object.id, (kept = { fields: new Set(), byDevice: new Map() }));
    const { metrics } = fieldsOf(object);
    for (const field of table.columns.keys()) {
      kept.fields.add(field);
      const kind = metrics.get(field);
      if (kind !== undefined && !this.#kinds.has(field)) this.#kinds.set(field, kind);
    }
    this.counts.rows += table.rows - (kept.byDevice.get(deviceId)?.rows ?? 0);
    kept.byDevice.set(deviceId, table);
  }
}

/** Collects the rows of one object of a device. */
class ReadingWriter {
  readonly #fields: FieldsOfObject;
  readonly #room: number;
  readonly #counts: { leftOut: number };
  readonly #onEnd: (table: Omit<KeptTable, "device">) => void;
  readonly #labels: (string | undefined)[] = [];
  readonly #lists = new Map<string, number[]>();
  #added = 0;

  constructor(
    object: PolledObject,
    room: number,
    counts: { leftOut: number },
    onEnd: (table: Omit<KeptTable, "device">) => void,
  ) {
    this.#fields = fieldsOf(object);
    this.#room = room;
    this.#counts = counts;
    this.#onEnd = onEnd;
  }

  /** Adds a row with the fields of its record. */
  add(fields: RecordFields): void {
    const { labels, metrics } = this.#fields;
    let hasReading = false;
    for (const field of metrics.keys()) {
      const value = numberOf(fields.get(field));
      if (value === undefined) continue;
      hasReading = true;
      if (this.#added >= this.#room) break;
      let list = this.#lists.get(field);
      if (list === undefined) this.#lists.set(field, (list = []));
      while (list.length < this.#added) list.push(NaN);
      list.push(value);
    }
    if (!hasReading) return;
    if (this.#added >= this.#room) {
      this.#counts.leftOut++;
      return;
    }
    this.#added++;
    for (const name of labels) this.#labels.push(labelOf(fields, name));
  }

  end(): void {
    const columns = new Map<string, Float64Array>();
    for (const [field, list] of this.#lists) {
      const column = new Float64Array(this.#added).fill(NaN);
      column.set(list);
      columns.set(field, column);
    }
    this.#onEnd({ labelNames: this.#fields.labels, labels: this.#labels, rows: this.#added, columns });
  }
}

/** Returns a value as a number; severities, which are text in records, have numbers in metrics. */
function numberOf(value: Value | undefined): number | undefined {
  if (typeof value === "number" || typeof value === "bigint") return Number(value);
  const severity = stateSeverities.indexOf(value as StateSeverity);
  return severity < 0 ? undefined : severity;
}

interface FieldsOfObject {
  readonly labels: readonly string[];
  readonly metrics: ReadonlyMap<string, MetricKind>;
}

const known = new WeakMap<PolledObject, FieldsOfObject>();

/** Divides the fields: those with a metric are values; the index and the tags identify a row. */
function fieldsOf(object: PolledObject): FieldsOfObject {
  const earlier = known.get(object);
  if (earlier !== undefined) return earlier;
  const metrics = new Map<string, MetricKind>();
  const labels = new Set<string>(object.indexFields.flatMap(fieldNames));
  for (const { attribute } of object.columns) {
    if (attribute.metric !== undefined) for (const field of fieldNames(attribute)) metrics.set(field, attribute.metric);
    else if (attribute.tag) for (const field of fieldNames(attribute)) labels.add(field);
    if (attribute.severity !== undefined) metrics.set(severityField(attribute), "gauge");
  }
  for (const field of object.fixed.keys()) labels.add(field);
  if (object.isShaped) for (const [field, kind] of derived) metrics.set(field, kind);
  for (const field of ["hw.sensor.type", "hw.sensor.unit", "hw.sensor.name"])
    if (metrics.has("hw.sensor.value") || metrics.has("hw.sensor.state.severity")) labels.add(field);
  for (const field of metrics.keys()) labels.delete(field);
  const fields = { labels: [...labels].sort(), metrics };
  known.set(object, fields);
  return fields;
}

/** The metrics that rows get in addition to those of their MIB. */
const derived: readonly (readonly [string, MetricKind])[] = [
  ["system.cpu.util.pct", "gauge"],
  ["system.memory.total.bytes", "gauge"],
  ["system.memory.used.bytes", "gauge"],
  ["system.memory.free.bytes", "gauge"],
  ["system.memory.used.pct", "gauge"],
];

function labelOf(fields: RecordFields, name: string): string | undefined {
  const value = fields.get(name);
  if (value === undefined || typeof value === "object") return undefined;
  const text = String(value);
  return text.length <= maxLabel ? text : undefined;
}
