import type { RecordFields, Scalar, Value } from "../../record/index.ts";
import { toHex, toUnsigned } from "../mapping/convert-type.ts";
import type { ExportClock, FieldSource } from "../mapping/field-source.ts";
import type { TimeFormat } from "../mapping/time-format.ts";
import { createParsedPacket } from "../packet/parse-packet.ts";
import { createGatheredValues } from "../structured/gathered-values.ts";
import { putLabels, type FieldSpan } from "../structured/put-labels.ts";
import { putSection } from "../structured/put-section.ts";
import { maxListDepth, maxListValues, readList, type ListReader, type ListSource } from "../structured/read-list.ts";
import type { PlanTemplate } from "./build-plan.ts";
import { createElementPlans } from "./element-plans.ts";
import type { Output, Plan, SlowField, Step } from "./plan.ts";
import { isZero } from "./read-sets.ts";
import { variableLength } from "./template.ts";

/** Part of a datagram. */
export interface ByteRange {
  readonly bytes: Buffer;
  readonly start: number;
  /** Exclusive, not behind the end of `bytes`. */
  readonly end: number;
}

/** What the records of one datagram have in common. */
export interface RecordContext {
  /** Fields that come first in every record. */
  readonly head: readonly (readonly [name: string, value: Value])[];
  readonly clock: ExportClock;
  readonly bootTime: number | undefined;
}

export interface ReadResult {
  /** Records that were read whole. */
  readonly count: number;
  /** Whether a record's variable lengths ran past the end of the set; it and what is behind it cannot be read. */
  readonly isCut: boolean;
}

export interface RecordReader {
  /**
   * Reads the records of a data set, the content after its header, and passes on each. What is left at the end and is
   * too short for a record is padding (RFC 3954 section 5.3, RFC 7011 section 3.3.1). Whatever the bytes are, it reads
   * none outside the range and does not throw.
   *
   * @param lists for a plan with lists; without it they stay bytes.
   */
  read(
    plan: Plan,
    range: ByteRange,
    context: RecordContext,
    take: (record: RecordFields) => void,
    lists?: ListSource,
  ): ReadResult;
}

/**
 * A reader with its working memory: it interprets the plan of a template, field by field.
 *
 * @param planTemplate for the elements of lists.
 */
export function createRecordReader(times: TimeFormat, planTemplate: PlanTemplate): RecordReader {
  let offsets = new Int32Array(64);
  let lengths = new Int32Array(64);
  const packet = createParsedPacket();
  const elementPlans = createElementPlans(planTemplate);

  /** Finds the fields of the record at `at`. Returns where the next record begins, -1 when this one does not fit. */
  const locate = (plan: Plan, bytes: Buffer, at: number, end: number): number => {
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
  };

  const put = (record: RecordFields, source: FieldSource, output: Output): void => {
    const at = offsets[output.field] as number;
    const length = lengths[output.field] as number;
    if (length === 0 && !output.takesEmpty) return;
    const value = output.convert(source, at, length);
    if (value !== undefined) record.set(output.name, value);
    else putFallback(record, source, output);
  };

  const putFallback = (record: RecordFields, source: FieldSource, { field, fallback }: Output): void => {
    const length = lengths[field] as number;
    if (fallback === undefined || length === 0) return;
    const at = offsets[field] as number;
    const value = fallback.convert(source, at, length);
    if (value !== undefined) record.set(fallback.name, value);
    else record.set(fallback.hexName, toHex(source, at, length) as string);
  };

  const putList = (record: RecordFields, source: FieldSource, outputs: readonly Output[]): void => {
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
  };

  const putContest = (record: RecordFields, source: FieldSource, outputs: Step["outputs"]): void => {
    const winner = outputs.find((output) => isSet(source, output)) ?? outputs[0];
    for (const output of outputs) {
      if (output === winner) put(record, source, output);
      else putFallback(record, source, output);
    }
  };

  /** Whether the field has a value that is not all zero bytes. */
  const isSet = (source: FieldSource, { field, convert }: Output): boolean => {
    const at = offsets[field] as number;
    const length = lengths[field] as number;
    for (let i = at; i < at + length; i++) {
      if (source.bytes[i] !== 0) return convert(source, at, length) !== undefined;
    }
    return false;
  };

  const bootTimeOf = (source: FieldSource, field: number): number | undefined => {
    const length = lengths[field] as number;
    const value = length === 0 ? undefined : toUnsigned(source, offsets[field] as number, length);
    return typeof value === "number" ? value : undefined;
  };

  /** The fields of slow steps, before records within them take over the working memory. */
  const spanOf = ({ field, hexName }: SlowField): FieldSpan => ({
    at: offsets[field] as number,
    length: lengths[field] as number,
    hexName,
  });

  const putSlow = (
    record: RecordFields,
    source: FieldSource,
    { slowSteps }: Plan,
    lists: ListSource,
    depth: number,
  ): void => {
    const spans = slowSteps.map((step) => {
      if (step.kind === "list") return [spanOf(step)];
      if (step.kind === "packet") return [spanOf({ field: step.field, hexName: step.name })];
      return step.kind === "labels" ? step.fields.map(spanOf) : [];
    });
    const gathered = createGatheredValues(maxListValues);
    slowSteps.forEach((step, i) => {
      const own = spans[i] as readonly FieldSpan[];
      const [first] = own;
      if (step.kind === "labels") putLabels(record, source, own);
      else if (step.kind === "list" && first !== undefined && first.length > 0) {
        readList(listReader(source, lists, depth + 1), source, { ...step, ...first }, gathered);
      }
    });
    gathered.putInto(record);
    // Behind everything that the record itself says.
    slowSteps.forEach((step, i) => {
      const span = spans[i]?.[0];
      if (step.kind === "packet" && span !== undefined && span.length > 0) {
        putSection(record, source, { ...step, ...span }, packet);
      }
    });
  };

  const listReader = (source: FieldSource, lists: ListSource, depth: number): ListReader => ({
    lists,
    isTooDeep: depth > maxListDepth,
    planOf: (field) => elementPlans.get(field),
    readExactly(plan, start, end, take) {
      reserve(plan);
      let at = start;
      while (at < end) {
        const next = locate(plan, source.bytes, at, end);
        if (next < 0) return false;
        if (!take(readRecord(plan, source, noFields, lists, depth))) return false;
        at = next;
      }
      return true;
    },
  });

  /** Reads the record whose fields have been located. */
  const readRecord = (
    plan: Plan,
    shared: FieldSource,
    head: RecordContext["head"],
    lists: ListSource,
    depth: number,
  ): RecordFields => {
    const { steps, slowSteps, bootTimeField } = plan;
    const source =
      bootTimeField < 0 ? shared : { ...shared, bootTime: bootTimeOf(shared, bootTimeField) ?? shared.bootTime };
    const record: RecordFields = new Map();
    for (let i = 0; i < head.length; i++) {
      const field = head[i] as (typeof head)[number];
      record.set(field[0], field[1]);
    }
    for (let i = 0; i < steps.length; i++) {
      const { kind, outputs } = steps[i] as Step;
      if (kind === "field") put(record, source, outputs[0]);
      else if (kind === "list") putList(record, source, outputs);
      else putContest(record, source, outputs);
    }
    if (slowSteps.length > 0) putSlow(record, source, plan, lists, depth);
    return record;
  };

  const reserve = ({ lengths: { length } }: Plan): void => {
    if (length <= offsets.length) return;
    offsets = new Int32Array(length);
    lengths = new Int32Array(length);
  };

  return {
    read(plan, { bytes, start, end }, context, take, lists = noLists) {
      reserve(plan);
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      const source: FieldSource = { bytes, view, clock: context.clock, times, bootTime: context.bootTime };
      const { minLength } = plan;
      let at = start;
      let count = 0;
      while (end - at >= minLength && !isPadding(plan, view, at, start, end)) {
        const next = locate(plan, bytes, at, end);
        if (next < 0) return { count, isCut: true };
        take(readRecord(plan, source, context.head, lists, 0));
        at = next;
        count++;
      }
      return { count, isCut: false };
    },
  };
}

const noFields: RecordContext["head"] = [];
const noLists: ListSource = { plan: () => undefined, problem() {} };

const alignment = 4;

/**
 * Whether the rest of a set is padding although a record would fit: fewer bytes than sets are aligned to, all zero, behind
 * at least one record. So it is where an exporter fills up a set of records of one to three bytes (NetFlow v9), or of
 * records that may be empty texts.
 */
function isPadding(plan: Plan, view: DataView, at: number, start: number, end: number): boolean {
  if (plan.minLength >= alignment || end - at >= alignment || at === start) return false;
  return (plan.template.dialect === "netflow9" || plan.hasVariableLength) && isZero(view, at, end);
}
