import type { RecordFields } from "../../record/index.ts";
import type { PolledObject } from "../poller/poll-plan.ts";
import { fieldNames } from "../values/put-value.ts";

/** What tells a row apart, as pairs of name and text, and its numbers. */
export interface ReadingRow {
  readonly labels: readonly (readonly [string, string])[];
  /** By field. */
  readonly values: ReadonlyMap<string, number>;
}

/** A field that is a number which goes up only, or up and down. */
export type MetricKind = "counter" | "gauge";

/** Keeps the numbers of the last poll of every device and object, within a bound. */
export interface LastReadings {
  /** Begins the rows of one object of a device: they take the place of those before once they are all there. */
  begin(deviceId: string, device: ReadingDevice, object: PolledObject): ReadingWriter;
  /** A device that is gone has no readings. */
  forget(deviceId: string): void;
  /** The kind of each field that there is a reading of, in the order of names. */
  metrics(): ReadonlyMap<string, MetricKind>;
  /** All readings of a field. */
  of(field: string): Iterable<Reading>;
  /** Rows that are kept, and that were left out because there are so many. */
  readonly counts: { readonly rows: number; readonly leftOut: number };
}

export interface Reading {
  readonly device: ReadingDevice;
  readonly labels: ReadingRow["labels"];
  readonly value: number;
}

export interface ReadingDevice {
  readonly ip: string;
  readonly name: string;
}

export interface ReadingWriter {
  /** A row as its record has it. */
  add(fields: RecordFields): void;
  end(): void;
}

interface Kept {
  device: ReadingDevice;
  readonly objects: Map<string, ReadingRow[]>;
}

/** Values longer than this are no labels. */
const maxLabel = 200;

/** @param maxRows the most rows of all devices that are kept. */
export function createLastReadings(maxRows: number): LastReadings {
  const devices = new Map<string, Kept>();
  const kinds = new Map<string, MetricKind>();
  let rows = 0;
  let leftOut = 0;

  return {
    begin(deviceId, device, object) {
      const { labels, metrics } = fieldsOf(object);
      const added: ReadingRow[] = [];
      const room = maxRows - rows + (devices.get(deviceId)?.objects.get(object.id)?.length ?? 0);
      return {
        add(fields) {
          const values = new Map<string, number>();
          for (const [field, kind] of metrics) {
            const value = fields.get(field);
            if (typeof value !== "number" && typeof value !== "bigint") continue;
            values.set(field, Number(value));
            if (!kinds.has(field)) kinds.set(field, kind);
          }
          if (values.size === 0) return;
          if (added.length >= room) leftOut++;
          else added.push({ labels: labelsOf(labels, fields), values });
        },
        end() {
          const kept = devices.get(deviceId) ?? { device, objects: new Map<string, ReadingRow[]>() };
          kept.device = device;
          devices.set(deviceId, kept);
          rows += added.length - (kept.objects.get(object.id)?.length ?? 0);
          kept.objects.set(object.id, added);
        },
      };
    },
    forget(deviceId) {
      for (const list of devices.get(deviceId)?.objects.values() ?? []) rows -= list.length;
      devices.delete(deviceId);
    },
    metrics: () => new Map([...kinds].sort(([a], [b]) => (a < b ? -1 : 1))),
    *of(field) {
      for (const { device, objects } of devices.values())
        for (const list of objects.values())
          for (const { labels, values } of list) {
            const value = values.get(field);
            if (value !== undefined) yield { device, labels, value };
          }
    },
    get counts() {
      return { rows, leftOut };
    },
  };
}

interface FieldsOfObject {
  readonly labels: readonly string[];
  readonly metrics: ReadonlyMap<string, MetricKind>;
}

const known = new WeakMap<PolledObject, FieldsOfObject>();

/** What has a metric is a value; the index and what is a tag tell rows apart. */
function fieldsOf(object: PolledObject): FieldsOfObject {
  const earlier = known.get(object);
  if (earlier !== undefined) return earlier;
  const metrics = new Map<string, MetricKind>();
  const labels = new Set<string>(object.indexFields.flatMap(fieldNames));
  for (const { attribute } of object.columns) {
    if (attribute.metric !== undefined) for (const field of fieldNames(attribute)) metrics.set(field, attribute.metric);
    else if (attribute.tag) for (const field of fieldNames(attribute)) labels.add(field);
  }
  for (const field of object.fixed.keys()) labels.add(field);
  if (object.isShaped) for (const [field, kind] of derived) metrics.set(field, kind);
  for (const field of ["hw.sensor.type", "hw.sensor.unit", "hw.sensor.name"])
    if (metrics.has("hw.sensor.value")) labels.add(field);
  for (const field of metrics.keys()) labels.delete(field);
  const fields = { labels: [...labels].sort(), metrics };
  known.set(object, fields);
  return fields;
}

/** What is added to rows whatever their MIB has. */
const derived: readonly (readonly [string, MetricKind])[] = [
  ["system.cpu.util.pct", "gauge"],
  ["system.memory.total.bytes", "gauge"],
  ["system.memory.used.bytes", "gauge"],
  ["system.memory.free.bytes", "gauge"],
  ["system.memory.used.pct", "gauge"],
];

function labelsOf(names: readonly string[], fields: RecordFields): (readonly [string, string])[] {
  const labels: (readonly [string, string])[] = [];
  for (const name of names) {
    const value = fields.get(name);
    if (value === undefined || typeof value === "object") continue;
    const text = String(value);
    if (text.length <= maxLabel) labels.push([name, text]);
  }
  return labels;
}
