import type { LineBuffer, LineEnricher, RecordFields } from "../../record/index.ts";
import type { Log } from "../../report/index.ts";
import { splitBiflow } from "../biflow/split-biflow.ts";
import { addIcmp, completeFlow } from "../complete-flow.ts";
import type { DecodeOutput } from "../decoder.ts";
import type { FieldSource } from "../mapping/field-source.ts";
import type { TimeFormat } from "../mapping/time-format.ts";
import type { DomainOptions } from "../options/domain-options.ts";
import { addNames } from "../options/name-table.ts";
import { flowRate, isOneRate, type RateSources } from "../sampling/flow-rate.ts";
import type { ListSource } from "../structured/read-list.ts";
import type { Plan } from "../template/plan.ts";
import { createFieldPlaces, locateFields, type FieldPlaces } from "../template/read-step.ts";
import {
  isPadding,
  type ByteRange,
  type ReadResult,
  type RecordContext,
  type RecordReader,
} from "../template/record-reader.ts";
import type { WriteCommunityId } from "./community-id-code.ts";
import { createCompiledPlans, type CompiledPlan, type CompiledPlans } from "./compiled-plans.ts";
import { namesOfOptions } from "./derived-fields.ts";
import { createInterpretStep } from "./interpret-step.ts";
import { createLineHead } from "./line-head.ts";

/** What was said before of the exporter and the domain that records are of. */
export interface FlowSources {
  /** The operator's sampling rate, or that of a header which speaks for its datagram. */
  readonly manualRate: number | undefined;
  readonly own: DomainOptions | undefined;
  readonly whole: DomainOptions | undefined;
  /** For plans with lists. */
  readonly lists: ListSource | undefined;
}

/** Records by the way they went. */
export interface PathCounts {
  compiled: number;
  interpreted: number;
  /** Of the interpreted, those that compiled code gave up. */
  careful: number;
}

/** Reads flow records and passes them on: as lines where their template is compiled, else as fields. */
export interface FlowReader {
  /** As {@link RecordReader.read}; what comes out is the same whichever way a record goes. */
  read(plan: Plan, range: ByteRange, context: RecordContext, sources: FlowSources, output: DecodeOutput): ReadResult;
  /** Undefined where nothing can be compiled. */
  readonly plans: CompiledPlans | undefined;
}

export interface FlowReaderOptions {
  readonly reader: RecordReader;
  readonly times: TimeFormat;
  readonly lines: LineBuffer;
  /** Undefined: records have to become fields. */
  readonly enricher: LineEnricher | undefined;
  readonly communityId: boolean;
  /** A template gets a program when about so many of its records were seen, and a function of its own after so many more. */
  readonly compileAfter: number;
  readonly functionAfter: number;
  /** Undefined where code may not be made from text. */
  readonly writeCommunityId: WriteCommunityId | undefined;
  readonly counts: PathCounts;
  readonly log: Log;
}

/** No template with more is compiled. */
const maxFields = 200;
/** Records of a set whose addresses are looked for beforehand: so many are still near when their turn comes. */
const maxTouched = 64;
/** Behind a line this much may be overwritten. */
const slack = 64;

export function createFlowReader(options: FlowReaderOptions): FlowReader {
  const { counts, enricher, writeCommunityId } = options;
  const interpreted = createInterpretedReader(options.reader, counts);
  if (enricher === undefined || writeCommunityId === undefined) return { read: interpreted, plans: undefined };
  return createCompiledReader(options, enricher, writeCommunityId, interpreted);
}

function createInterpretedReader(reader: RecordReader, counts: PathCounts): FlowReader["read"] {
  return (plan, range, context, sources, output) => {
    const { own, whole } = sources;
    const rates = rateSources(sources);
    const complete = (record: RecordFields): void => {
      addIcmp(record);
      completeFlow(record, flowRate(record, plan.namesSampling, rates));
      if (own !== undefined) addNames(record, own.names, whole?.names);
      counts.interpreted++;
      output.flow(record);
    };
    const split = (record: RecordFields): void => {
      const reverse = splitBiflow(record);
      complete(record);
      if (reverse !== undefined) complete(reverse);
    };
    const take = plan.slowSteps.some(({ kind }) => kind === "split") ? split : complete;
    return reader.read(plan, range, { ...context, bootTime: bootTimeOf(sources) }, take, sources.lists);
  };
}

function rateSources({ manualRate, own, whole }: FlowSources): RateSources {
  return { manualRate, own: own?.sampling, whole: whole?.sampling };
}

/** When the exporter started, where its options say so. */
function bootTimeOf({ own, whole }: FlowSources): number | undefined {
  return own?.bootTime ?? whole?.bootTime;
}

const noFields: RecordFields = new Map();

function createCompiledReader(
  { lines, times, communityId, compileAfter, functionAfter, counts, log }: FlowReaderOptions,
  enricher: LineEnricher,
  writeCommunityId: WriteCommunityId,
  interpreted: FlowReader["read"],
): FlowReader {
  const places: FieldPlaces = createFieldPlaces(maxFields);
  const head = createLineHead(enricher);
  const { state } = head;
  const steps = createInterpretStep(lines, places, times);
  const plans = createCompiledPlans({
    tools: { ...steps, writeCommunityId, enricher, places },
    times,
    communityId,
    enricher,
    after: compileAfter,
    functionAfter,
    maxFields,
    log,
  });

  /** Whether the enricher adds names that options may give, too: what is there stays, and the code does not look. */
  const isNamedTwice = enricher.numbers.some(({ adds }) => namesOfOptions.has(adds));

  /** The code for a set, when all is ready for it. */
  const prepare = (
    plan: Plan,
    range: ByteRange,
    context: RecordContext,
    sources: FlowSources,
  ): CompiledPlan | undefined => {
    const { own, whole } = sources;
    const hasNames = own !== undefined && (own.names.version > 0 || (whole?.names.version ?? 0) > 0);
    if (hasNames && isNamedTwice) return undefined;
    const rates = rateSources(sources);
    const compiled = plans.find(plan, range.end - range.start);
    if (compiled === undefined || !head.use(context.head)) return undefined;
    const { exportTime, uptime } = context.clock;
    const bootTime = bootTimeOf(sources);
    state.exportTime = exportTime;
    state.isHeaderUptime = uptime !== undefined;
    state.uptime = uptime ?? (bootTime === undefined ? Number.NaN : exportTime - bootTime);
    const { told } = steps.derived;
    told.rates = rates;
    told.own = own?.names;
    told.whole = whole?.names;
    state.hasNames = hasNames;
    state.isRateOfRecord = !isOneRate(plan.namesSampling, rates);
    state.rate = state.isRateOfRecord ? -1 : (flowRate(noFields, false, rates) ?? -1);
    return compiled;
  };

  const readCompiled = (
    compiled: CompiledPlan,
    source: FieldSource,
    { plan, range, context, sources, output }: SetToRead,
  ): ReadResult => {
    const { bytes, start, end } = range;
    const { minLength, hasVariableLength } = plan;
    const { write, maxLengthPerByte } = compiled;
    const { view } = source;
    const fixedRoom = state.headLength + head.exporterLength() + compiled.maxLength + slack;
    const touched = Math.min(maxTouched, Math.floor((end - start) / minLength));
    for (const { object, offset, length } of compiled.addresses) {
      for (const additions of enricher.addresses) {
        additions.touch?.(object, view, start + offset, length, minLength, touched);
      }
    }
    let at = start;
    let count = 0;
    let written = 0;
    try {
      while (end - at >= minLength && !isPadding(plan, view, at, start, end)) {
        const next = hasVariableLength ? locateFields(plan, bytes, at, end, places) : at + minLength;
        if (next < 0) return { count, isCut: true };
        const line = lines.open(fixedRoom + (next - at) * maxLengthPerByte);
        const lineEnd = write(lines.view, line, view, at, state);
        if (lineEnd >= 0) {
          lines.close(lineEnd);
          written++;
          if (lines.byteLength >= flushBytes) {
            output.wrote(written);
            counts.compiled += written;
            written = 0;
          }
        } else {
          counts.careful++;
          interpreted(plan, { bytes, start: at, end: next }, context, sources, output);
        }
        at = next;
        count++;
      }
      return { count, isCut: false };
    } finally {
      if (written > 0) output.wrote(written);
      counts.compiled += written;
      head.done();
    }
  };

  return {
    read(plan, range, context, sources, output) {
      const compiled = prepare(plan, range, context, sources);
      if (compiled === undefined) return interpreted(plan, range, context, sources, output);
      const source = steps.setSource(range.bytes, context.clock, bootTimeOf(sources));
      return readCompiled(compiled, source, { plan, range, context, sources, output });
    },
    plans,
  };
}

interface SetToRead {
  readonly plan: Plan;
  readonly range: ByteRange;
  readonly context: RecordContext;
  readonly sources: FlowSources;
  readonly output: DecodeOutput;
}

/** Long sets are handed over in pieces. */
const flushBytes = 256 * 1024;
