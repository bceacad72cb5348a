import { elementKey } from "../../elements/registry/registry.ts";
import type { PlanTemplate } from "../../exporters/templates/build-plan.ts";
import type { Plan, SlowField, SlowStep, Step } from "../../exporters/templates/plan.ts";
import type { FieldSpecifier } from "../../exporters/templates/template.ts";
import type { FieldsUnderWay, RecordFields } from "../../../record/index.ts";
import type { RecordContext } from "../../exporters/templates/record-context.ts";
import type { CounterNames } from "../../elements/mapping/counter-names.ts";
import { toUnsigned } from "../../elements/mapping/convert-type.ts";
import type { FieldSource } from "../../elements/mapping/field-source.ts";
import type { TimeFormat } from "../../elements/mapping/time-format.ts";
import { createPacketFields } from "../packet/packet-fields.ts";
import type { ByteRange, ReadResult } from "../decoder/flow-reader.ts";
import { createGatheredValues } from "../structured/gathered-values.ts";
import { putLabels, type FieldSpan } from "../structured/put-labels.ts";
import { findSection, putSection } from "../structured/put-section.ts";
import { maxListDepth, maxListValues, readList, type ListReader, type ListSource } from "../structured/read-list.ts";
import { isZero } from "./read-sets.ts";
import { createFieldPlaces, locateFields, readStep } from "./read-step.ts";

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
  const packets = createPacketFields();
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
 * Whether the rest of a set is padding although a record would fit: fewer bytes than sets are aligned to, all zero, behind
 * at least one record. So it is where an exporter fills up a set of records of one to three bytes (NetFlow v9), or of
 * records that may be empty texts.
 */
export function isPadding(plan: Plan, view: DataView, at: number, start: number, end: number): boolean {
  if (plan.minLength >= alignment || end - at >= alignment || at === start) return false;
  return (plan.template.dialect === "netflow9" || plan.hasVariableLength) && isZero(view, at, end);
}
