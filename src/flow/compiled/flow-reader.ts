import type { LineBuffer, LineEnricher, RecordFields, Workspace } from "../../record/index.ts";
import { splitBiflow } from "../biflow/split-biflow.ts";
import { addIcmp, completeFlow } from "../complete-flow.ts";
import type { DecodeOutput } from "../decoder.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { TimeFormat } from "../mapping/time-format.ts";
import type { DomainOptions } from "../options/domain-options.ts";
import { addNames } from "../options/name-table.ts";
import { flowRate, type RateSources } from "../sampling/flow-rate.ts";
import type { ListSource } from "../structured/read-list.ts";
import type { Plan } from "../template/plan.ts";
import type { ByteRange, ReadResult, RecordContext, RecordReader } from "../template/record-reader.ts";
import type { CompiledPlans } from "./compiled-plans.ts";
import { createKernelReader } from "./kernel-reader.ts";

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
  /** Of the interpreted, those that the kernel gave up. */
  careful: number;
}

/** Reads flow records and passes them on: as lines where their template is compiled, else as fields. */
export interface FlowReader {
  /** As {@link RecordReader.read}; what comes out is the same whichever way a record goes. */
  read(plan: Plan, range: ByteRange, context: RecordContext, sources: FlowSources, output: DecodeOutput): ReadResult;
  /** Undefined where nothing can be compiled. */
  readonly plans: CompiledPlans | undefined;
  /** What writes the lines; undefined where there is no kernel. */
  readonly kernel: Kernel | undefined;
}

export interface FlowReaderOptions {
  readonly reader: RecordReader;
  readonly times: TimeFormat;
  readonly lines: LineBuffer;
  /** Undefined: records have to become fields. */
  readonly enricher: LineEnricher | undefined;
  readonly communityId: boolean;
  /** A template is compiled when about so many of its records were seen. */
  readonly compileAfter: number;
  /** Where the kernel works. */
  readonly workspace: Workspace;
  readonly counts: PathCounts;
}

export function createFlowReader(options: FlowReaderOptions): FlowReader {
  const { counts, enricher, compileAfter } = options;
  const interpreted = createInterpretedReader(options.reader, counts);
  const reader =
    enricher === undefined || compileAfter === Number.POSITIVE_INFINITY
      ? undefined
      : createKernelReader({ ...options, enricher, interpreted });
  return reader ?? { read: interpreted, plans: undefined, kernel: undefined };
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

export function rateSources({ manualRate, own, whole }: FlowSources): RateSources {
  return { manualRate, own: own?.sampling, whole: whole?.sampling };
}

/** When the exporter started, where its options say so. */
export function bootTimeOf({ own, whole }: FlowSources): number | undefined {
  return own?.bootTime ?? whole?.bootTime;
}
