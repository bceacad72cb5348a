import {
  scopedNumber,
  type LineBuffer,
  type LineEnricher,
  type RecordFields,
  type Workspace,
} from "../../record/index.ts";
import { createKernel } from "../kernel/kernel.ts";
import * as layout from "../kernel/layout.ts";
import type { ExportClock } from "../mapping/field-source.ts";
import type { DecodeOutput } from "../decoder.ts";
import type { TimeFormat } from "../mapping/time-format.ts";
import { flowRate, isOneRate } from "../sampling/flow-rate.ts";
import type { Plan } from "../template/plan.ts";
import { createFieldPlaces } from "../template/read-step.ts";
import type { ByteRange, RecordContext } from "../template/record-reader.ts";
import { createCompiledPlans, type CompiledPlan } from "./compiled-plans.ts";
import { namesOfOptions } from "./derived-fields.ts";
import { createExporterAdditions } from "./exporter-additions.ts";
import { bootTimeOf, rateSources, type FlowReader, type FlowSources, type PathCounts } from "./flow-reader.ts";
import { createInterpretStep, type InterpretStep } from "./interpret-step.ts";
import { createKernelContext } from "./kernel-context.ts";
import { createLineHead } from "./line-head.ts";
import { writeNumberAddition } from "./number-addition.ts";
import { createProgramMemory } from "./program-memory.ts";
import { copyText } from "./write-values.ts";
import { writeEstimates } from "./write-estimates.ts";

export interface KernelReaderOptions {
  readonly times: TimeFormat;
  readonly lines: LineBuffer;
  readonly enricher: LineEnricher;
  readonly workspace: Workspace;
  readonly communityId: boolean;
  readonly compileAfter: number;
  readonly counts: PathCounts;
  /** For what the kernel cannot do. */
  readonly interpreted: FlowReader["read"];
}

/** Behind a line this much may be overwritten. */
const slack = 64;
/** Long sets are handed over in pieces. */
const flushBytes = 256 * 1024;

/** @returns undefined where there is no kernel, another has it, or the enricher has more than it does. */
export function createKernelReader(options: KernelReaderOptions): FlowReader | undefined {
  const { times, lines, enricher, workspace, communityId, compileAfter, counts, interpreted } = options;
  const { bytes: memory, view } = workspace;
  if (workspace.memory.wasm === undefined || !workspace.takeKernel()) return undefined;
  const context = createKernelContext(workspace, enricher, communityId);
  if (context === undefined) return undefined;
  const head = createLineHead(memory, layout.headText, layout.headTextBytes);
  const exporter = createExporterAdditions(enricher);
  const { numberTables } = exporter;
  const steps = createInterpretStep(workspace, createFieldPlaces(layout.maxFields), times);
  const rates = new WeakMap<Plan, (from: number) => number>();
  const names = new WeakMap<Plan, (at: number, from: number) => number>();

  /** Of the set that is read: its plan, and what is to be taken from a place to have the offset in the datagram. */
  let plan: Plan | undefined;
  let base = 0;
  /** Where the interpreter finds the records; asked for by few sets. */
  let source: readonly [bytes: Buffer, clock: ExportClock, bootTime: number | undefined] | undefined;

  const helped = (): InterpretStep => {
    if (source !== undefined) steps.setSource(...source);
    source = undefined;
    return steps;
  };

  const remembered = <T extends object>(known: WeakMap<Plan, T>, make: (of: Plan) => T): T => {
    const of = plan as Plan;
    let made = known.get(of);
    if (made === undefined) {
      made = make(of);
      known.set(of, made);
    }
    return made;
  };

  const kernel = createKernel(workspace, {
    interpret: (step, at, from) => helped().interpret(plan as Plan, step, at, from - base),
    bootTime: (from) => helped().bootTime(plan as Plan, from - base),
    rateOf(from) {
      const { derived } = helped();
      return remembered(rates, (of) => derived.rate(of))(from - base);
    },
    writeNames(at, from) {
      const { derived } = helped();
      return remembered(names, (of) => derived.names(of))(at, from - base);
    },
    writeEstimates: (at, rate, octets, packets) => writeEstimates(view, at, rate, octets, packets),
    addNumber(index, at, value, scope) {
      const table = numberTables[index];
      if (table === undefined) return at;
      const isScoped = enricher.numbers[index]?.scope !== undefined;
      return writeNumberAddition(view, at, table, isScoped ? scopedNumber(scope, value) : value);
    },
    locate: enricher.addresses[0]?.table?.locate ?? (() => 0),
  });
  if (kernel === undefined) return undefined;

  const plans = createCompiledPlans({
    memory: createProgramMemory(workspace),
    times,
    enricher,
    slots: context.slots,
    after: compileAfter,
    maxFields: layout.maxFields,
  });
  /** Whether the enricher adds names that options may give, too: what is there stays, and the kernel does not look. */
  const isNamedTwice = enricher.numbers.some(({ adds }) => namesOfOptions.has(adds));

  /** Tells the kernel about a set. @returns what it is to run; undefined when the interpreter is to do the set. */
  const prepare = (
    of: Plan,
    range: ByteRange,
    record: RecordContext,
    sources: FlowSources,
  ): CompiledPlan | undefined => {
    const { own, whole } = sources;
    const hasNames = own !== undefined && (own.names.version > 0 || (whole?.names.version ?? 0) > 0);
    if (hasNames && isNamedTwice) return undefined;
    const compiled = plans.find(of, range.end - range.start);
    if (compiled === undefined) return undefined;
    if (head.fields !== record.head) {
      if (!head.use(record.head) || !exporter.use(head.exporter)) {
        head.forget();
        return undefined;
      }
      context.setNumberTables(numberTables);
      const [text] = exporter.texts;
      if (text !== undefined) copyText(view, layout.exporterText, text.text, 0, text.length);
    }
    const given = rateSources(sources);
    const { exportTime, uptime } = record.clock;
    const bootTime = bootTimeOf(sources);
    const { told } = steps.derived;
    told.rates = given;
    told.own = own?.names;
    told.whole = whole?.names;
    const isRateOfRecord = !isOneRate(of.namesSampling, given);
    context.set({
      exportTime,
      uptime: uptime ?? (bootTime === undefined ? Number.NaN : exportTime - bootTime),
      isHeaderUptime: uptime !== undefined,
      rate: isRateOfRecord ? -1 : (flowRate(noFields, false, given) ?? -1),
      isRateOfRecord,
      hasNames,
      headLength: head.length,
      exporterLength: exporter.length(),
    });
    source = [range.bytes, record.clock, bootTime];
    return compiled;
  };

  const handOver = (output: DecodeOutput, written: number): void => {
    if (written > 0) output.wrote(written);
    counts.compiled += written;
  };

  const read: FlowReader["read"] = (of, range, record, sources, output) => {
    const compiled = prepare(of, range, record, sources);
    if (compiled === undefined) return interpreted(of, range, record, sources, output);
    const { bytes, start, end } = range;
    const { minLength, hasVariableLength } = of;
    const { program, maxLength, maxLengthPerByte } = compiled;
    const fixedRoom = head.length + exporter.length() + maxLength + slack;
    bytes.copy(memory, layout.input, start, end);
    plan = of;
    base = layout.input - start;
    const last = end + base;
    let at: number = layout.input;
    let count = 0;
    let pending = 0;
    // So many are still near when their turn comes.
    const touched = Math.min(layout.maxTouched, Math.floor((end - start) / minLength));
    if (!hasVariableLength) kernel.touch(program, at, touched);
    try {
      while (true) {
        const room = fixedRoom + maxLengthPerByte * (hasVariableLength ? last - at : minLength);
        const line = lines.open(room);
        const { buffer, byteOffset, length } = lines.bytes;
        if (buffer !== memory.buffer) {
          // The lines need more memory than the workspace has in one piece.
          const rest = interpreted(of, { bytes, start: at - base, end }, record, sources, output);
          return { count: count + rest.count, isCut: rest.isCut };
        }
        const out = byteOffset + line;
        const limit = Math.min(byteOffset + length, out + Math.max(flushBytes, room));
        const outcome = kernel.run(program, at, layout.input, last, out, limit);
        const records = view.getUint32(layout.resultCount, true);
        const written = view.getUint32(layout.resultEnd, true);
        // It has been done by then, so this can only be told: a bound that was worked out beforehand is wrong.
        if (written > limit) throw new RangeError(`lines of ${written - out} bytes where ${limit - out} were the most`);
        lines.close(written - byteOffset, records);
        count += records;
        pending += records;
        at = view.getUint32(layout.resultNext, true);
        if (outcome === layout.isDone || outcome === layout.isCut) return { count, isCut: outcome === layout.isCut };
        if (lines.byteLength >= flushBytes) {
          handOver(output, pending);
          pending = 0;
        }
        if (outcome === layout.isCareful) {
          counts.careful++;
          count++;
          const careful = { bytes, start: view.getUint32(layout.resultRecord, true) - base, end: at - base };
          interpreted(of, careful, record, sources, output);
        }
      }
    } finally {
      handOver(output, pending);
      context.takeNumbersAdded(exporter.numbersAdded);
      exporter.done();
    }
  };

  return { read, plans, kernel };
}

const noFields: RecordFields = new Map();
