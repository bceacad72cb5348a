import type { RecordFields, Scalar } from "../../../record/index.ts";
import { toHex } from "../../elements/mapping/convert-type.ts";
import type { FieldSource } from "../../elements/mapping/convert-type.ts";
import { type Output, type Plan, type Presence, type Step, variableLength } from "../../exporters/plan.ts";

/** The offsets of the fields of one record, by their position in the template. */
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

/** Tells whether all of these hold for the record whose fields have been located. */
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

/** Tells whether the field has a value that is not all zero bytes. */
function isSet(source: FieldSource, { field, convert }: Output, { offsets, lengths }: FieldPlaces): boolean {
  const at = offsets[field] as number;
  const length = lengths[field] as number;
  return !isZeroRange(source.bytes, at, at + length) && convert(source, at, length) !== undefined;
}

/** One set (a FlowSet in NetFlow v9): its id and where its content lies. */
export interface SetRange {
  readonly id: number;
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  /** True if it claims more than is there. */
  readonly isCut: boolean;
}

interface SetsRead {
  readonly sets: readonly SetRange[];
  /** The end of the last of them. */
  readonly end: number;
  /** The length that cannot be, and where the walk met it; undefined when all was in order. */
  readonly problem: { readonly at: number; readonly length: number } | undefined;
}

const setHeader = 4;

/**
 * Finds the sets of a message (RFC 3954 section 5, RFC 7011 section 3.3). A set that claims more than is there ends with
 * the datagram: its whole records can be read. One that claims less than its own header ends the walk. Zeros to the end
 * are padding of the datagram.
 *
 * @param view the whole datagram.
 * @param end where the message ends by its header. Exporters that forget the padding of the last set in it are known, so
 *   that set may end behind it.
 */
export function readSets(view: DataView, start: number, end: number): SetsRead {
  const sets: SetRange[] = [];
  let at = start;
  while (at < end) {
    const hasHeader = end - at >= setHeader;
    const length = hasHeader ? view.getUint16(at + 2) : 0;
    if (length < setHeader) {
      return { sets, end: at, problem: isZero(view, at, end) ? undefined : { at, length } };
    }
    const isCut = at + length > view.byteLength;
    const next = isCut ? view.byteLength : at + length;
    sets.push({ id: view.getUint16(at), start: at + setHeader, end: next, isCut });
    if (isCut) return { sets, end: next, problem: { at, length } };
    at = next;
  }
  return { sets, end: at, problem: undefined };
}

/** Tells whether there are only zeros in a range. */
export function isZero(view: DataView, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (view.getUint8(i) !== 0) return false;
  return true;
}

const wordBytes = 4;

/**
 * Tells whether what is behind the last whole record of a set is no padding (RFC 3954 section 5.3, RFC 7011 section 3.3.1: zeros). Then the
 * records have another layout than the template that is known. What fills up a set to words is padding, whatever is in it: some exporters
 * leave in it what was there.
 */
export function isForeignRest(bytes: Uint8Array, start: number, end: number, length: number): boolean {
  const rest = (end - start) % length;
  if (rest < wordBytes && (end - start) % wordBytes === 0) return false;
  return !isZeroBytes(bytes, end - rest, end);
}

/**
 * Returns how many records at the end of a set are zeros, but for the first of the set. NX-OS fills up sets of NetFlow v9 with so many
 * zeros that these are whole records; as far as the header counts fewer records than there seem to be, they are none.
 */
export function zeroRecords(bytes: Uint8Array, start: number, end: number, length: number): number {
  if (length < wordBytes) return 0;
  let at = end - ((end - start) % length);
  let zeros = 0;
  while (at - length > start && isZeroBytes(bytes, at - length, at)) {
    zeros++;
    at -= length;
  }
  return zeros;
}

function isZeroBytes(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = end - 1; i >= start; i--) if (bytes[i] !== 0) return false;
  return true;
}
