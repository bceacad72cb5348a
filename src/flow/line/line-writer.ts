import {
  copyLines,
  type AllocateSlab,
  type Sink,
  type Workspace,
  type LineBuffer,
  readLine,
  type Enricher,
  type RecordFields,
  type RenderedFields,
} from "../../record/index.ts";
import * as layout from "../kernel/layout.gen.ts";
import {
  type DecodeOutput,
  bootTimeOf,
  rateSources,
  recordSampling,
  type FlowReader,
  type FlowSources,
} from "../wire/records/decoder.ts";
import { createKernel, type Kernel, type KernelImports } from "../kernel/kernel.ts";
import type { CounterNames } from "../elements/mapping/counter-names.ts";
import type { TimeFormat } from "../elements/mapping/convert-type.ts";
import { flowRate, isOneRate, type RecordSampling } from "../exporters/sampling.ts";
import type { IcmpOrder } from "../exporters/exporter.ts";
import type { Applications } from "../exporters/options.ts";
import type { Plan, RecordContext } from "../exporters/plan.ts";
import { createStepBook, type StepBook } from "../wire/steps/step-book.ts";
import type { RecordReader } from "../wire/records/record-reader.ts";
import { createCompiledPlans, type CompiledPlan, type CompiledPlans, createProgramMemory } from "./compiled-plans.ts";
import {
  enrichmentImports,
  createExporterAdditions,
  kernelEnricher,
  createKernelContext,
  createWriteEstimates,
} from "./kernel-context.ts";
import { createLineHead, createValueWriter, copyText } from "./line-head.ts";
import { createLineHelpers } from "./line-helpers.ts";
import { createOptionNames } from "./option-names.ts";
import { createAppWriter, createRecordSlots } from "./record-slots.ts";
import type { RecordFilter } from "./filter-program.ts";
import type { FlowEnds } from "./flow-ends.ts";

/** Memory of a workspace for lines that a sink may keep: it is used again and again, and the sink gets copies. */
export function copyingLines(
  { bytes: memory }: Workspace,
  sink: Sink,
): { readonly allocate: AllocateSlab; readonly sink: Sink } {
  const slab = memory.subarray(layout.lines, layout.linesEnd);
  return {
    allocate: (bytes) => (bytes <= slab.length ? slab : Buffer.allocUnsafeSlow(bytes)),
    sink: {
      ...sink,
      write: (written, count) => sink.write(written.buffer === memory.buffer ? copyOf(written) : written, count),
    },
  };
}

function copyOf(written: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(written.length);
  copyLines(written, 0, written.length, copy, 0);
  return copy;
}

/** What the kernel leaves to the other side, within its lines. */
const slowFieldReasons = ["value", "repeated", "list", "packet", "estimate", "enrichment"] as const;
type SlowFieldReason = (typeof slowFieldReasons)[number];

/** How often that was so. */
export type SlowFieldCounts = Record<SlowFieldReason, number>;

export function createSlowFieldCounts(): SlowFieldCounts {
  return Object.fromEntries(slowFieldReasons.map((reason) => [reason, 0])) as SlowFieldCounts;
}

/** Memory that the kernel writes lines to. */
interface Piece {
  readonly start: number;
  readonly limit: number;
  /** Whether the lines have to be copied from there. */
  readonly isLong: boolean;
}

/** Memory for lines: that of the line buffer, or of the kernel where that is outside of the workspace. */
interface Pieces {
  /** @param bytes the least that it must have. */
  open(bytes: number): Piece;
  /** Takes the lines that were written. */
  close(piece: Piece, end: number, count: number): void;
}

/** The kernel has no more memory for one piece of lines. */
const maxSlab = layout.longLineEnd - layout.longLine;

/**
 * @param memory of the workspace.
 * @param slack bytes behind a line that may be overwritten.
 */
export function createPieces(lines: LineBuffer, memory: Uint8Array, flushBytes: number, slack: number): Pieces {
  return {
    open(bytes) {
      const at = lines.open(Math.min(bytes, maxSlab));
      const { buffer, byteOffset, length } = lines.bytes;
      if (buffer !== memory.buffer) return { start: layout.longLine, limit: layout.longLineEnd, isLong: true };
      const start = byteOffset + at;
      return { start, limit: Math.min(byteOffset + length, start + Math.max(flushBytes, bytes)), isLong: false };
    },
    close({ start, isLong }, end, count) {
      if (!isLong) lines.close(end - lines.bytes.byteOffset, count);
      else if (count > 0) {
        const at = lines.open(end - start + slack);
        lines.bytes.set(memory.subarray(start, end), at);
        lines.close(at + end - start, count);
      }
    },
  };
}

/** Completes a line that the kernel left without additions. @param start where it begins in the workspace. @param rendered is used for what is added. */
export function completeLine(
  { workspace, enricher, ends, lines }: Pick<LineWriterOptions, "workspace" | "enricher" | "ends" | "lines">,
  start: number,
  rendered: RenderedFields[],
): void {
  const fields = readLine(workspace.bytes, start, workspace.view.getUint32(layout.resultRest, true));
  rendered.length = 0;
  enricher.enrich(fields, rendered);
  ends.complete(fields, rendered, ends.clientOfLine());
  lines.append(fields, rendered);
}

interface LineWriterOptions {
  /** Reads what lists and packets in records say. */
  readonly reader: RecordReader;
  readonly times: TimeFormat;
  readonly lines: LineBuffer;
  readonly enricher: Enricher;
  readonly workspace: Workspace;
  readonly communityId: boolean;
  /** For all kernels of the workspace. */
  readonly communityIdSeed: number;
  /** What the operator says of applications; undefined while nothing. */
  readonly applications?: (() => Applications | undefined) | undefined;
  /** Left out: all records are wanted. */
  readonly filter?: RecordFilter | undefined;
  readonly ends: FlowEnds;
  /** What the counters are called. */
  readonly counters: CounterNames;
  readonly counts: SlowFieldCounts;
}

/** Writes the lines of all flows that templates describe. */
interface LineWriter extends FlowReader {
  /** How often type and code of ICMPv6 were in each other's place. */
  icmpSwapped(): number;
  readonly plans: CompiledPlans;
  /** Steps for the kernels of the workspace. */
  readonly book: StepBook;
  readonly kernel: Kernel;
}

/** Behind a line this much may be overwritten. */
const slack = 64;
/** What a processor copies at once. */
const wordBytes = 8;
/** Long sets are handed over in pieces. */
const flushBytes = 256 * 1024;

/** @throws KernelError where the kernel cannot run. */
export function createLineWriter(options: LineWriterOptions): LineWriter {
  const { reader, times, lines, workspace, communityId, filter, ends, counters, counts } = options;
  if (!workspace.takeKernel()) throw new TypeError("a workspace has one kernel");
  const { bytes: memory, view } = workspace;
  const enricher = kernelEnricher(options.enricher);
  const context = createKernelContext(workspace, enricher, communityId, filter, counters);
  view.setUint16(layout.communityIdSeed, options.communityIdSeed);
  const { slots, nameBits } = context;
  const head = createLineHead(memory, layout.headText, layout.headTextBytes);
  const exporter = createExporterAdditions(enricher);
  const { numberTables } = exporter;
  const values = createRecordSlots(workspace, slots, nameBits);
  const book = createStepBook({ workspace, slots });
  const helpers = createLineHelpers({
    workspace,
    book,
    times,
    reader,
    counters,
    values,
    slots,
    writer: createValueWriter(workspace),
    counts,
  });
  const appWriter = createAppWriter(workspace, enricher, values);
  const names = createOptionNames(workspace, slots, values, (at, length) => helpers.applicationText(at, length));
  const rendered: RenderedFields[] = [];
  const pieces = createPieces(lines, memory, flushBytes, slack);

  /** Of the set that is read. */
  let sampling: RecordSampling = { namesSampling: false, templateId: 0 };
  let rates = rateSources(noSources);

  const writeEstimates = createWriteEstimates(counters);
  const kernelImports: KernelImports = {
    writeValue: (helper, at, from, length, slot) => helpers.writeValue(helper, at, from, length, slot),
    hasValue: (helper, from, length) => helpers.hasValue(helper, from, length),
    help: (helper, at, from) => helpers.help(helper, at, from),
    rateOf: () => flowRate(values, sampling, rates) ?? -1,
    writeNames: (at) => names.write(at),
    writeEstimates(at, rate) {
      counts.estimate++;
      return writeEstimates(view, at, rate, ...counterSlots.map((slot) => values.counter(slot)));
    },
    addApp: appWriter.write,
    ...enrichmentImports(workspace, enricher, numberTables, filter),
  };
  const kernel = createKernel(workspace, kernelImports, counters);

  const plans = createCompiledPlans({
    memory: createProgramMemory(workspace),
    times,
    enricher,
    slots,
    nameBits,
    growth: ends.growth,
    hasEnds: ends.growth > 1,
  });
  if (ends.growth > 1) enricher.addresses[0]?.keepFields();

  /** Whether additions to the lines of the datagram at hand are made otherwise. */
  let isBare = false;

  const beginDatagram = (fields: RecordContext["head"]): void => {
    if (!head.use(fields)) throw new TypeError("the head of a line cannot be written");
    isBare = !exporter.use(head.exporter);
    context.setNumberTables(numberTables);
    appWriter.begin();
    const [text] = exporter.texts;
    if (text !== undefined && !isBare) copyText(view, layout.exporterText, text.text, 0, text.length);
  };

  /** Gives the kernel what holds for a set. */
  const prepare = (
    of: Plan,
    compiled: CompiledPlan,
    record: RecordContext,
    sources: FlowSources,
    end: number,
  ): void => {
    if (head.fields !== record.head) beginDatagram(record.head);
    const { own, whole, lists } = sources;
    const apps = options.applications?.();
    const hasNames =
      own !== undefined && (own.names.version > 0 || (whole?.names.version ?? 0) > 0 || apps !== undefined);
    if (hasNames) names.use(own.names, whole?.names, apps);
    rates = rateSources(sources);
    sampling = recordSampling(of);
    const { exportTime, uptime } = record.clock;
    const bootTime = bootTimeOf(sources);
    const isRateOfRecord = !isOneRate(sampling, rates);
    context.set({
      exportTime,
      uptime: uptime ?? (bootTime === undefined ? Number.NaN : exportTime - bootTime),
      isHeaderUptime: uptime !== undefined,
      rate: isRateOfRecord ? -1 : (flowRate(noFields, sampling, rates) ?? -1),
      isRateOfRecord,
      hasNames,
      isBare,
      headLength: head.length,
      exporterLength: isBare ? 0 : exporter.length(),
    });
    if (sources.icmp !== undefined) {
      view.setUint8(layout.icmpOrder, sources.icmp.isSwapped ? layout.orderIsSwapped : layout.orderIsUsual);
    }
    if (compiled.helpers.length === 0) return;
    helpers.begin({
      plan: of,
      helpers: compiled.helpers,
      head: record.head,
      clock: record.clock,
      bootTime,
      end,
      room: roomOf(compiled),
      roomPerByte: compiled.maxLengthPerByte,
      growth: ends.growth,
      lists,
    });
  };

  const roomOf = ({ maxLength }: CompiledPlan): number => head.length + exporter.length() + maxLength + slack;

  /** Adds to a line what the kernel cannot. */
  const completeBare = (start: number): void => {
    counts.enrichment++;
    completeLine(options, start, rendered);
  };

  const read: FlowReader["read"] = (of, { bytes, start, end }, record, sources, output) => {
    // A program is made for records only: templates of which no record can be cost nothing.
    if (end - start < of.minLength) return noRecords;
    const compiled = plans.find(of);
    // Shared memory is copied to by whole words only where both sides begin at the same place within a word.
    const first = layout.input + ((bytes.byteOffset + start) & (wordBytes - 1));
    const last = first + end - start;
    prepare(of, compiled, record, sources, last);
    const { program, maxLengthPerByte } = compiled;
    const { minLength, hasVariableLength } = of;
    const room = roomOf(compiled);
    bytes.copy(memory, first, start, end);
    let at = first;
    let direction = 0;
    let needed = 0;
    let count = 0;
    let pending = 0;
    // So many are still in the caches of the processor when their turn comes.
    const prefetched = Math.min(layout.maxPrefetched, Math.floor((end - start) / minLength));
    if (!hasVariableLength) kernel.prefetch(program, at, prefetched);
    try {
      while (true) {
        const least = needed + room + maxLengthPerByte * (hasVariableLength ? last - at : minLength);
        const line = pieces.open(least);
        const { start: out, limit } = line;
        helpers.setLimit(limit);
        const outcome = kernel.run(program, direction, at, first, last, out, limit);
        const written = view.getUint32(layout.resultEnd, true);
        const linesWritten = view.getUint32(layout.resultLines, true);
        // It has been done by then, so this can only be said: a bound that was worked out beforehand is wrong.
        if (written > limit) throw new RangeError(`lines of ${written - out} bytes where ${limit - out} were the most`);
        pieces.close(line, written, linesWritten);
        count += view.getUint32(layout.resultCount, true);
        pending += linesWritten + context.takeFiltered();
        at = view.getUint32(layout.resultNext, true);
        direction = view.getUint32(layout.resultDirection, true);
        if (outcome === layout.isDone || outcome === layout.isCut) return { count, isCut: outcome === layout.isCut };
        if (outcome === layout.isLeft) {
          completeBare(written);
          pending++;
        }
        if (lines.byteLength >= flushBytes) pending = handOver(output, pending);
        needed = helpers.takeNeeded();
        if (outcome === layout.isFull && linesWritten === 0 && line.isLong && needed === 0) {
          throw new RangeError("a line is longer than there is memory for");
        }
      }
    } finally {
      handOver(output, pending);
      if (sources.icmp !== undefined) takeIcmpOrder(sources.icmp);
      context.takeNumbersAdded(exporter.numbersAdded);
      appWriter.done();
      exporter.done();
    }
  };

  /** Takes what the kernel has learned; nothing is learned of what it does next, of samples. */
  const takeIcmpOrder = (order: IcmpOrder): void => {
    order.isSwapped = view.getUint8(layout.icmpOrder) === layout.orderIsSwapped;
    view.setUint8(layout.icmpOrder, layout.orderIsNotLearnt);
  };

  const handOver = (output: DecodeOutput, written: number): number => {
    if (written > 0) output.wrote(written);
    return 0;
  };

  return { read, plans, book, kernel, icmpSwapped: () => view.getUint32(layout.icmpSwapped, true) };
}

const counterSlots = [
  layout.octetsSlot,
  layout.packetsSlot,
  layout.reverseOctetsSlot,
  layout.reversePacketsSlot,
] as const;
const noRecords = { count: 0, isCut: false } as const;
const noFields: RecordFields = new Map();
const noSources: FlowSources = {
  manualRate: undefined,
  fallbackRate: undefined,
  own: undefined,
  whole: undefined,
  icmp: undefined,
  lists: undefined,
};
