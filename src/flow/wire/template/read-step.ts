import type { RecordFields, Scalar } from "../../../record/index.ts";
import { toHex } from "../../elements/mapping/convert-type.ts";
import type { FieldSource } from "../../elements/mapping/field-source.ts";
import type { Output, Plan, Presence, Step } from "../../exporters/templates/plan.ts";
import { variableLength } from "../../exporters/templates/template.ts";

/** Where the fields of one record are, by their position in the template. */
export interface FieldPlaces {
  readonly offsets: Int32Array;
  readonly lengths: Int32Array;
}

export function createFieldPlaces(fields: number): FieldPlaces {
  return { offsets: new Int32Array(fields), lengths: new Int32Array(fields) };
}

/**
 * Finds the fields of the record at `at`.
 *
 * @returns where the next record begins, -1 when this one does not fit.
 */
export function locateFields(plan: Plan, bytes: Uint8Array, at: number, end: number, places: FieldPlaces): number {
  const { offsets, lengths } = places;
  const count = plan.lengths.length;
  let position = at;
  for (let i = 0; i < count; i++) {
    let length = plan.lengths[i] as number;
    if (length === variableLength) {
      // RFC 7011 section 7: one byte, or 255 and two bytes.
      if (position >= end) return -1;
      length = bytes[position++] as number;
      if (length === 255) {
        if (position + 2 > end) return -1;
        length = ((bytes[position] as number) << 8) | (bytes[position + 1] as number);
        position += 2;
      }
    }
    offsets[i] = position;
    lengths[i] = length;
    position += length;
  }
  return position <= end ? position : -1;
}

/** Puts what one step of a plan makes of a record's bytes into the record. Whatever the bytes are, it does not throw. */
export function readStep(
  record: RecordFields,
  source: FieldSource,
  { kind, outputs, when }: Step,
  places: FieldPlaces,
): void {
  if (when !== undefined && !holds(source.bytes, when, places)) return;
  if (kind === "field") put(record, source, outputs[0], places);
  else if (kind === "list") putList(record, source, outputs, places);
  else putContest(record, source, outputs, places);
}

/** Whether all of these hold for the record whose fields have been located. */
function holds(bytes: Uint8Array, when: readonly Presence[], { offsets, lengths }: FieldPlaces): boolean {
  return when.every(({ fields, isSet: wanted }) => {
    const isPresent = fields.some((field) => {
      const at = offsets[field] as number;
      return !isZeroRange(bytes, at, at + (lengths[field] as number));
    });
    return isPresent === wanted;
  });
}

function isZeroRange(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (bytes[i] !== 0) return false;
  return true;
}

function put(record: RecordFields, source: FieldSource, output: Output, places: FieldPlaces): void {
  const at = places.offsets[output.field] as number;
  const length = places.lengths[output.field] as number;
  if (length === 0 && !output.takesEmpty) return;
  const value = output.convert(source, at, length);
  if (value !== undefined) record.set(output.name, value);
  else putFallback(record, source, output, places);
}

function putFallback(
  record: RecordFields,
  source: FieldSource,
  { field, fallback }: Output,
  { offsets, lengths }: FieldPlaces,
): void {
  const length = lengths[field] as number;
  if (fallback === undefined || length === 0) return;
  const at = offsets[field] as number;
  const value = fallback.convert(source, at, length);
  if (value !== undefined) record.set(fallback.name, value);
  else record.set(fallback.hexName, toHex(source, at, length) as string);
}

function putList(
  record: RecordFields,
  source: FieldSource,
  outputs: readonly Output[],
  { offsets, lengths }: FieldPlaces,
): void {
  const present = outputs.filter((output) => lengths[output.field] !== 0 || output.takesEmpty);
  const convertAll = (convert: (output: Output) => Output["convert"]): Scalar[] | undefined => {
    const values = present.map((output) =>
      convert(output)(source, offsets[output.field] as number, lengths[output.field] as number),
    );
    return values.every((value) => value !== undefined) ? (values as Scalar[]) : undefined;
  };
  const [first] = present;
  if (first === undefined) return;
  const values = convertAll((output) => output.convert);
  if (values !== undefined) {
    record.set(first.name, values);
    return;
  }
  const { fallback } = first;
  if (fallback === undefined) return;
  const plain = convertAll(() => fallback.convert);
  if (plain !== undefined) record.set(fallback.name, plain);
  else record.set(fallback.hexName, convertAll(() => toHex) ?? []);
}

function putContest(record: RecordFields, source: FieldSource, outputs: Step["outputs"], places: FieldPlaces): void {
  const winner = outputs.find((output) => isSet(source, output, places)) ?? outputs[0];
  for (const output of outputs) {
    if (output === winner) put(record, source, output, places);
    else putFallback(record, source, output, places);
  }
}

/** Whether the field has a value that is not all zero bytes. */
function isSet(source: FieldSource, { field, convert }: Output, { offsets, lengths }: FieldPlaces): boolean {
  const at = offsets[field] as number;
  const length = lengths[field] as number;
  return !isZeroRange(source.bytes, at, at + length) && convert(source, at, length) !== undefined;
}
