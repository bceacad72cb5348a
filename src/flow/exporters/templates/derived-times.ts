import { convertType, toUnsigned } from "../../elements/mapping/convert-type.ts";
import { convertField } from "../../elements/mapping/convert-field.ts";
import type { ElementNames } from "../../elements/mapping/element-names.ts";
import type { Convert, FieldSource } from "../../elements/mapping/field-source.ts";
import type { ElementFields } from "./build-plan.ts";
import { variableLength, type Template } from "./template.ts";

/** Behind all elements that have these names by themselves. */
export const lastPreference = 1_000_000;

const startName = "flow.start.timestamp";
const endName = "flow.end.timestamp";

/** observationTimeSeconds, -Milliseconds, -Microseconds, -Nanoseconds. */
const firstObservationTime = 322;
const lastObservationTime = 325;

/** A record that has a packet is of that packet: it begins and ends when that was observed, where nothing else says so. */
export function withObservationTime(group: ElementFields): ElementFields {
  const { pen, id, names, fallback } = group;
  if (pen !== 0 || id < firstObservationTime || id > lastObservationTime) return group;
  const times = [startName, endName].map((name) => ({
    name,
    convert: fallback.convert,
    preference: lastPreference - id,
  }));
  return { ...group, names: [...names, ...times] };
}

/** Elements of the start of a flow that can be reckoned with, the exact ones first; and all of them. */
const starts = { known: [152, 154, 156, 150, 22], all: [150, 152, 154, 156, 158, 22] };
const ends = { known: [153, 155, 157, 151, 21], all: [151, 153, 155, 157, 159, 21] };
/** flowDurationMilliseconds, flowDurationMicroseconds: how many of them are a millisecond. */
const durations: ReadonlyMap<number, number> = new Map([
  [161, 1],
  [162, 1000],
]);

/**
 * The end of a flow where its template has the start and the duration alone, and the start where it has the end: as a further name of the
 * duration.
 */
export function durationNames(template: Template): (group: ElementFields) => ElementFields {
  const { fields } = template;
  const find = (ids: readonly number[]): number =>
    ids.reduce(
      (found, id) => (found >= 0 ? found : fields.findIndex((field) => field.pen === 0 && field.id === id)),
      -1,
    );
  const duration = find([...durations.keys()]);
  if (duration < 0) return (group) => group;
  const [start, end] = [find(starts.known), find(ends.known)];
  const isStart = start >= 0 && find(ends.all) < 0;
  if (!isStart && (end < 0 || find(starts.all) >= 0)) return (group) => group;
  const from = isStart ? start : end;
  const distance = distanceOf(template, duration, from);
  const { id, length } = fields[from] as Template["fields"][number];
  const unit = durations.get((fields[duration] as Template["fields"][number]).id) ?? 1;
  if (distance === undefined || length === variableLength) return (group) => group;
  const convert: Convert = (source, at, durationLength) => {
    const passed = toUnsigned(source, at, durationLength);
    const time = millisecondsOf(source, at + distance, length, id);
    if (typeof passed !== "number" || time === undefined) return undefined;
    return source.times.milliseconds(time + Math.round(passed / unit) * (isStart ? 1 : -1));
  };
  const name = { name: isStart ? endName : startName, convert, preference: lastPreference };
  return (group) => (group.fields.includes(duration) ? withName(group, name) : group);
}

function withName(group: ElementFields, name: ElementNames["names"][number]): ElementFields {
  return group.fields.length > 1 ? group : { ...group, names: [...group.names, name] };
}

/** How many bytes one field is behind another in each record; undefined where that varies. */
function distanceOf({ fields }: Template, from: number, to: number): number | undefined {
  const between = fields.slice(Math.min(from, to), Math.max(from, to));
  // A field of one byte is read by what that byte says alone.
  if (fields[from]?.length === 1 || between.some(({ length }) => length === variableLength)) return undefined;
  const bytes = between.reduce((sum, { length }) => sum + length, 0);
  return to > from ? bytes : -bytes;
}

const timesOf: ReadonlyMap<number, Convert> = new Map([
  ...[21, 22].map((id) => [id, convertField.uptime] as const),
  ...[150, 151].map((id) => [id, convertType.dateTimeSeconds] as const),
  ...[152, 153].map((id) => [id, convertType.dateTimeMilliseconds] as const),
  ...[154, 155].map((id) => [id, convertType.dateTimeMicroseconds] as const),
  ...[156, 157].map((id) => [id, convertType.dateTimeNanoseconds] as const),
]);

/** A time of an element in milliseconds since the epoch, whole. */
function millisecondsOf(source: FieldSource, at: number, length: number, id: number): number | undefined {
  const text = timesOf.get(id)?.(source, at, length);
  const time = typeof text === "string" ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
