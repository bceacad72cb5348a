import { elementKey } from "../../elements/registry/registry.ts";
import type { PlanTemplate } from "../../exporters/build-plan.ts";
import type { Plan, SlowField, SlowStep, Step, FieldSpecifier, RecordContext } from "../../exporters/plan.ts";
import type { FieldsUnderWay, RecordFields } from "../../../record/index.ts";
import type { CounterNames } from "../../elements/mapping/element-names.ts";
import { toUnsigned } from "../../elements/mapping/convert-type.ts";
import type { FieldSource } from "../../elements/mapping/convert-type.ts";
import type { TimeFormat } from "../../elements/mapping/convert-type.ts";
import { PacketFields } from "../packet/packet-steps.ts";
import type { ByteRange, ReadResult } from "./decoder.ts";
import {
  createGatheredValues,
  putLabels,
  type FieldSpan,
  findSection,
  putSection,
  maxListDepth,
  maxListValues,
  readList,
  type ListReader,
  type ListSource,
} from "./structured-data.ts";
import { isZero, createFieldPlaces, locateFields, readStep } from "./decoder.ts";
import { formatAddress, formatAddressBytes, parseAddress, unmapAddress } from "../../../base/ip/index.ts";

/** Elements in lists come from the network, so the number of plans kept is limited. */
const maxPlans = 512;

/** Plans of records that have one field, made when first asked for. */
interface ElementPlans {
  /** @returns undefined when such records would take no bytes. */
  get(field: FieldSpecifier): Plan | undefined;
}

function createElementPlans(planTemplate: PlanTemplate): ElementPlans {
  const plans = new Map<string | number, Plan | undefined>();
  return {
    get(field) {
      const { pen, id, length } = field;
      const key = pen === 0 ? id * 0x1_0000 + length : `${elementKey(pen, id)} ${length}`;
      const known = plans.get(key);
      if (known !== undefined || plans.has(key)) return known;
      const plan = planTemplate({ id: 0, dialect: "ipfix", fields: [field], scopeCount: undefined });
      if (plans.size >= maxPlans) plans.clear();
      plans.set(key, plan);
      return plan;
    },
  };
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
  /**
   * Puts what some slow steps say of the record between `at` and `end` into a record that has what the other steps say.
   */
  readSlow(
    plan: Plan,
    steps: readonly SlowStep[],
    source: FieldSource,
    at: number,
    end: number,
    record: FieldsUnderWay,
    lists?: ListSource,
  ): void;
  /** The plan of records that have one field, as basicLists have them; undefined when they would take no bytes. */
  elementPlan(field: FieldSpecifier): Plan | undefined;
}

/**
 * A reader with its working memory: it interprets the plan of a template, field by field.
 *
 * @param planTemplate for the elements of lists. @param counters what the counters are called.
 */
export function createRecordReader(
  times: TimeFormat,
  planTemplate: PlanTemplate,
  counters: CounterNames,
): RecordReader {
  let places = createFieldPlaces(64);
  const packets = new PacketFields();
  const elementPlans = createElementPlans(planTemplate);

  const bootTimeOf = (source: FieldSource, field: number): number | undefined => {
    const length = places.lengths[field] as number;
    const value = length === 0 ? undefined : toUnsigned(source, places.offsets[field] as number, length);
    return typeof value === "number" ? value : undefined;
  };

  /** The fields of slow steps, before records within them take over the working memory. */
  const spanOf = ({ field, hexName }: SlowField): FieldSpan => ({
    at: places.offsets[field] as number,
    length: places.lengths[field] as number,
    hexName,
  });

  const putSlow = (
    record: FieldsUnderWay,
    source: FieldSource,
    slowSteps: readonly SlowStep[],
    lists: ListSource,
    depth: number,
  ): void => {
    const spans = slowSteps.map((step) => {
      if (step.kind === "list") return [spanOf(step)];
      return step.kind === "labels" ? step.fields.map(spanOf) : [];
    });
    const sections = slowSteps.map((step) => (step.kind === "packet" ? findSection(step, source, places) : undefined));
    const gathered = createGatheredValues(maxListValues);
    slowSteps.forEach((step, i) => {
      const own = spans[i] as readonly FieldSpan[];
      const [first] = own;
      if (step.kind === "labels") putLabels(record, source, own);
      else if (step.kind === "list" && first !== undefined && first.length > 0) {
        // Put together by hand: spreading objects of several shapes takes as long as all the rest.
        const { structure, valuesName } = step;
        const { at, length, hexName } = first;
        readList(
          listReader(source, lists, depth + 1),
          source,
          { structure, valuesName, hexName, at, length },
          gathered,
        );
      }
    });
    gathered.putInto(record);
    // Behind everything that the record itself says.
    for (const section of sections) {
      if (section !== undefined && section.length > 0) putSection(record, source, section, packets, counters);
    }
  };

  const listReader = (source: FieldSource, lists: ListSource, depth: number): ListReader => ({
    lists,
    isTooDeep: depth > maxListDepth,
    planOf: (field) => elementPlans.get(field),
    readExactly(plan, start, end, take) {
      reserve(plan);
      let at = start;
      while (at < end) {
        const next = locateFields(plan, source.bytes, at, end, places);
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
    for (let i = 0; i < steps.length; i++) readStep(record, source, steps[i] as Step, places);
    if (slowSteps.length > 0) putSlow(record, source, slowSteps, lists, depth);
    return record;
  };

  const reserve = ({ lengths: { length } }: Plan): void => {
    if (length > places.offsets.length) places = createFieldPlaces(length);
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
        const next = locateFields(plan, bytes, at, end, places);
        if (next < 0) return { count, isCut: true };
        take(readRecord(plan, source, context.head, lists, 0));
        at = next;
        count++;
      }
      return { count, isCut: false };
    },
    elementPlan: (field) => elementPlans.get(field),
    readSlow(plan, steps, source, at, end, record, lists = noLists) {
      reserve(plan);
      locateFields(plan, source.bytes, at, end, places);
      putSlow(record, source, steps, lists, 0);
    },
  };
}

const noFields: RecordContext["head"] = [];
const noLists: ListSource = { plan: () => undefined, problem() {} };

const alignment = 4;

/**
 * Tells whether the rest of a set is padding although a record would fit: fewer bytes than sets are aligned to, all zero, behind
 * at least one record. So it is where an exporter fills up a set of records of one to three bytes (NetFlow v9), or of
 * records that may be empty texts.
 */
function isPadding(plan: Plan, view: DataView, at: number, start: number, end: number): boolean {
  if (plan.minLength >= alignment || end - at >= alignment || at === start) return false;
  return (plan.template.dialect === "netflow9" || plan.hasVariableLength) && isZero(view, at, end);
}

/** Records of a data set that follow one another and name the same exporter. */
interface ExporterRun {
  readonly start: number;
  /** Exclusive; of the last run the end of the set. */
  readonly end: number;
  readonly records: number;
  /** In canonical text; undefined where the records name nobody. */
  readonly exporter: string | undefined;
}

/** Cuts a data set where the named exporter changes. An address of zeros names nobody. Whatever the bytes are, it does not throw. */
export function* exporterRuns(plan: Plan, range: ByteRange): Iterable<ExporterRun> {
  const { bytes, start, end } = range;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const places = createFieldPlaces(plan.lengths.length);
  let run = { start, records: 0, at: -1, length: 0 };
  let at = start;
  const named = ({ at: from, length }: typeof run): string | undefined =>
    from < 0 ? undefined : canonicalAddress(formatAddressBytes(bytes, from, length === 4 ? 4 : 6));
  while (end - at >= plan.minLength && !isPadding(plan, view, at, start, end)) {
    const next = locateFields(plan, bytes, at, end, places);
    if (next < 0) break;
    const field = plan.exporterFields.find((each) => !isZeroAt(bytes, places, each)) ?? -1;
    const from = field < 0 ? -1 : (places.offsets[field] as number);
    const length = field < 0 ? 0 : (places.lengths[field] as number);
    const isSame =
      length === run.length &&
      (length === 0 || bytes.compare(bytes, run.at, run.at + length, from, from + length) === 0);
    if (run.records > 0 && !isSame) {
      yield { start: run.start, end: at, records: run.records, exporter: named(run) };
      run = { start: at, records: 0, at: from, length };
    } else if (run.records === 0) run = { ...run, at: from, length };
    run.records++;
    at = next;
  }
  yield { start: run.start, end, records: run.records, exporter: named(run) };
}

/** The text of an address as exporters have it: IPv4-mapped ones as IPv4. */
export function canonicalAddress(text: string): string {
  const address = parseAddress(text);
  return address === undefined ? text : formatAddress(unmapAddress(address));
}

function isZeroAt(bytes: Buffer, { offsets, lengths }: ReturnType<typeof createFieldPlaces>, field: number): boolean {
  const from = offsets[field] as number;
  for (let i = from + (lengths[field] as number) - 1; i >= from; i--) if (bytes[i] !== 0) return false;
  return true;
}
