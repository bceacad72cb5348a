import {
  copyLines,
  type AllocateSlab,
  type Sink,
  type Workspace,
  type LineBuffer,
  type RecordFields,
} from "../../record/index.ts";
import * as layout from "../kernel/layout.gen.ts";
import {
  type DecodeOutput,
  bootTimeOf,
  rateSources,
  recordSampling,
  type ByteRange,
  type FlowReader,
  type FlowSources,
  type ReadResult,
} from "../wire/records/decoder.ts";
import { createKernel, type Kernel } from "../kernel/kernel.ts";
import type { TimeFormat } from "../elements/mapping/convert-type.ts";
import { flowRate, isOneRate, type RateSources, type RecordSampling } from "../exporters/sampling.ts";
import type { IcmpOrder } from "../exporters/exporter.ts";
import type { Applications } from "../exporters/options.ts";
import type { Plan, RecordContext } from "../exporters/plan.ts";
import { InstructionTable } from "../wire/steps/instruction-table.ts";
import type { RecordReader } from "../wire/records/record-reader.ts";
import { CompiledPlans, type CompiledPlan } from "./compiled-plans.ts";
import { KernelContext, lineSlack, type LineParts } from "./kernel-context.ts";
import { LineHead } from "./line-head.ts";
import { LineHelpers } from "./line-helpers.ts";
import { OptionNames } from "./option-names.ts";

/** Memory of a workspace for lines that a sink may keep: it is used again and again, and the sink gets copies. */
export function copyingLines(
  { bytes: memory }: Workspace,
  sink: Sink,
): { readonly allocate: AllocateSlab; readonly sink: Sink } {
  const slab = memory.subarray(layout.lines, layout.linesEnd);
  return {
    allocate: (bytes) => (bytes <= slab.length ? slab : Buffer.allocUnsafeSlow(bytes)),
    sink: {
      write: (written, count) => sink.write(written.buffer === memory.buffer ? copyOf(written) : written, count),
    },
  };
}

function copyOf(written: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(written.length);
  copyLines(written, 0, written.length, copy, 0);
  return copy;
}

/** The reasons why the kernel leaves fields to the other side, within its lines. */
const slowFieldReasons = ["value", "repeated", "list", "packet", "estimate", "enrichment"] as const;
type SlowFieldReason = (typeof slowFieldReasons)[number];

/** The number of times for each reason. */
export type SlowFieldCounts = Record<SlowFieldReason, number>;

export function createSlowFieldCounts(): SlowFieldCounts {
  return Object.fromEntries(slowFieldReasons.map((reason) => [reason, 0])) as SlowFieldCounts;
}

/** Memory that the kernel writes lines to. */
interface LineChunk {
  readonly start: number;
  readonly limit: number;
  /** True if the lines have to be copied from there. */
  readonly isLong: boolean;
}

/** The kernel has no more memory for one chunk of lines. */
const maxSlab = layout.longLineEnd - layout.longLine;
/** Lines are handed over in chunks of about this size. */
export const flushBytes = 256 * 1024;

/** Memory for lines: that of the line buffer, or of the kernel where that is outside of the workspace. */
export class LineMemory {
  readonly #lines: LineBuffer;
  readonly #memory: Buffer;

  constructor({ lines, workspace }: LineParts) {
    this.#lines = lines;
    this.#memory = workspace.bytes;
  }

  /** @param bytes the least that it must have. */
  open(bytes: number): LineChunk {
    const at = this.#lines.open(Math.min(bytes, maxSlab));
    const { buffer, byteOffset, length } = this.#lines.bytes;
    if (buffer !== this.#memory.buffer) return { start: layout.longLine, limit: layout.longLineEnd, isLong: true };
    const start = byteOffset + at;
    return { start, limit: Math.min(byteOffset + length, start + Math.max(flushBytes, bytes)), isLong: false };
  }

  /**
   * Takes the lines that were written.
   *
   * @throws RangeError when they reach beyond the limit. It has been done by then: a bound that was worked out beforehand is wrong.
   */
  close({ start, limit, isLong }: LineChunk, end: number, count: number): void {
    if (end > limit) throw new RangeError(`lines of ${end - start} bytes where ${limit - start} were the most`);
    const lines = this.#lines;
    if (!isLong) lines.close(end - lines.bytes.byteOffset, count);
    else if (count > 0) {
      const at = lines.open(end - start + lineSlack);
      lines.bytes.set(this.#memory.subarray(start, end), at);
      lines.close(at + end - start, count);
    }
  }
}

interface LineWriterParts extends LineParts {
  /** Reads what lists and packets in records say. */
  readonly reader: RecordReader;
  readonly times: TimeFormat;
  /** For all kernels of the workspace. */
  readonly communityIdSeed: number;
  /** Returns what the operator says of applications; undefined while nothing. */
  readonly applications?: (() => Applications | undefined) | undefined;
  readonly counts: SlowFieldCounts;
}

/** The number of bytes that a processor copies at once. */
const wordBytes = 8;

/** Writes the lines of all flows that templates describe. */
export class LineWriter implements FlowReader {
  readonly plans: CompiledPlans;
  /** Steps for the kernels of the workspace. */
  readonly instructions: InstructionTable;
  readonly #parts: LineWriterParts;
  readonly #memory: Buffer;
  readonly #view: DataView;
  readonly #context: KernelContext;
  readonly #head: LineHead;
  readonly #helpers: LineHelpers;
  readonly #names: OptionNames;
  readonly #lineMemory: LineMemory;
  readonly #kernel: Kernel;
  /** The sampling of the set that is read. */
  #sampling: RecordSampling = { namesSampling: false, templateId: 0 };
  #rates: RateSources = rateSources(noSources);

  /** @throws KernelError where the kernel cannot run. */
  constructor(parts: LineWriterParts) {
    const { workspace, ends, counters, times, reader, counts } = parts;
    if (!workspace.takeKernel()) throw new TypeError("a workspace has one kernel");
    this.#parts = parts;
    this.#memory = workspace.bytes;
    this.#view = workspace.view;
    const context = new KernelContext(parts);
    const { slots, values, enricher } = context;
    this.#context = context;
    this.#view.setUint16(layout.communityIdSeed, parts.communityIdSeed);
    this.#head = new LineHead(workspace.bytes, layout.headText, layout.headTextBytes);
    this.instructions = new InstructionTable({ workspace, slots });
    const helpers = new LineHelpers({
      workspace,
      instructions: this.instructions,
      times,
      reader,
      counters,
      values,
      slots,
      counts,
    });
    const names = new OptionNames(workspace, slots, values, (at, length) => helpers.applicationText(at, length));
    this.#helpers = helpers;
    this.#names = names;
    this.#lineMemory = new LineMemory(parts);
    const { writeEstimates, ...shared } = context.imports(counterSlots);
    this.#kernel = createKernel(
      workspace,
      {
        ...shared,
        writeValue: (helper, at, from, length, slot) => helpers.writeValue(helper, at, from, length, slot),
        hasValue: (helper, from, length) => helpers.hasValue(helper, from, length),
        help: (helper, at, from) => helpers.help(helper, at, from),
        rateOf: () => flowRate(values, this.#sampling, this.#rates) ?? -1,
        writeNames: (at) => names.write(at),
        writeEstimates(at, rate) {
          counts.estimate++;
          return writeEstimates(at, rate);
        },
      },
      counters,
    );
    this.plans = new CompiledPlans(workspace, times, context, ends.growth);
    if (ends.growth > 1) enricher.addresses[0]?.keepFields();
  }

  /** @returns how often type and code of ICMPv6 were swapped. */
  icmpSwapped(): number {
    return this.#view.getUint32(layout.icmpSwapped, true);
  }

  read(of: Plan, range: ByteRange, record: RecordContext, sources: FlowSources, output: DecodeOutput): ReadResult {
    const { bytes, start, end } = range;
    // A program is made for records only: templates of which no record can be cost nothing.
    if (end - start < of.minLength) return noRecords;
    const compiled = this.plans.find(of);
    // Shared memory is copied to by whole words only where both sides begin at the same offset within a word.
    const first = layout.input + ((bytes.byteOffset + start) & (wordBytes - 1));
    const last = first + end - start;
    this.#prepare(of, compiled, record, sources, last);
    bytes.copy(this.#memory, first, start, end);
    if (!of.hasVariableLength) {
      // So many are still in the caches of the processor when they are read.
      const prefetched = Math.min(layout.maxPrefetched, Math.floor((end - start) / of.minLength));
      this.#kernel.prefetch(compiled.program, first, prefetched);
    }
    try {
      return this.#run(of, compiled, first, last, output);
    } finally {
      if (sources.icmp !== undefined) this.#takeIcmpOrder(sources.icmp);
      this.#context.done();
    }
  }

  /** Has the kernel write the records of a set, and does what it cannot. */
  #run(of: Plan, compiled: CompiledPlan, first: number, last: number, output: DecodeOutput): ReadResult {
    const view = this.#view;
    const helpers = this.#helpers;
    const lineMemory = this.#lineMemory;
    const { lines, counts } = this.#parts;
    const { program, maxLengthPerByte } = compiled;
    const { minLength, hasVariableLength } = of;
    const room = this.#roomOf(compiled);
    let at = first;
    let direction = 0;
    let needed = 0;
    let count = 0;
    let pending = 0;
    try {
      while (true) {
        const least = needed + room + maxLengthPerByte * (hasVariableLength ? last - at : minLength);
        const chunk = lineMemory.open(least);
        const { start, limit } = chunk;
        helpers.limit = limit;
        const outcome = this.#kernel.run(program, direction, at, first, last, start, limit);
        const written = view.getUint32(layout.resultEnd, true);
        const linesWritten = view.getUint32(layout.resultLines, true);
        lineMemory.close(chunk, written, linesWritten);
        count += view.getUint32(layout.resultCount, true);
        pending += linesWritten + this.#context.takeFiltered();
        at = view.getUint32(layout.resultNext, true);
        direction = view.getUint32(layout.resultDirection, true);
        if (outcome === layout.isDone || outcome === layout.isCut) return { count, isCut: outcome === layout.isCut };
        if (outcome === layout.isLeft) {
          counts.enrichment++;
          this.#context.complete(written);
          pending++;
        }
        if (lines.byteLength >= flushBytes) {
          output.wrote(pending);
          pending = 0;
        }
        needed = helpers.takeNeeded();
        if (outcome === layout.isFull && linesWritten === 0 && chunk.isLong && needed === 0) {
          throw new RangeError("a line is longer than there is memory for");
        }
      }
    } finally {
      if (pending > 0) output.wrote(pending);
    }
  }

  /** Gives the kernel what holds for a set. */
  #prepare(of: Plan, compiled: CompiledPlan, record: RecordContext, sources: FlowSources, end: number): void {
    const context = this.#context;
    if (this.#head.fields !== record.head) this.#beginDatagram(record.head);
    const { own, whole, lists } = sources;
    const apps = this.#parts.applications?.();
    const hasNames =
      own !== undefined && (own.names.version > 0 || (whole?.names.version ?? 0) > 0 || apps !== undefined);
    if (hasNames) this.#names.use(own.names, whole?.names, apps);
    this.#rates = rateSources(sources);
    this.#sampling = recordSampling(of);
    const { exportTime, uptime } = record.clock;
    const bootTime = bootTimeOf(sources);
    const isRateOfRecord = !isOneRate(this.#sampling, this.#rates);
    context.set({
      exportTime,
      uptime: uptime ?? (bootTime === undefined ? Number.NaN : exportTime - bootTime),
      isHeaderUptime: uptime !== undefined,
      rate: isRateOfRecord ? -1 : (flowRate(noFields, this.#sampling, this.#rates) ?? -1),
      isRateOfRecord,
      hasNames,
      nameOrigins: hasNames ? [own.names, own.names.version, whole?.names, whole?.names.version] : [],
      headLength: this.#head.length,
    });
    if (sources.icmp !== undefined) {
      this.#view.setUint8(layout.icmpOrder, sources.icmp.isSwapped ? layout.orderIsSwapped : layout.orderIsUsual);
    }
    if (compiled.helpers.length === 0) return;
    this.#helpers.begin({
      plan: of,
      helpers: compiled.helpers,
      head: record.head,
      clock: record.clock,
      bootTime,
      end,
      room: this.#roomOf(compiled),
      roomPerByte: compiled.maxLengthPerByte,
      growth: this.#parts.ends.growth,
      lists,
    });
  }

  #beginDatagram(fields: RecordContext["head"]): void {
    if (!this.#head.use(fields)) throw new TypeError("the head of a line cannot be written");
    this.#context.begin(this.#head.exporter);
  }

  #roomOf({ maxLength }: CompiledPlan): number {
    return this.#head.length + this.#context.exporterLength() + maxLength + lineSlack;
  }

  /** Takes what the kernel has learned; nothing is learned of what it does next, of samples. */
  #takeIcmpOrder(order: IcmpOrder): void {
    order.isSwapped = this.#view.getUint8(layout.icmpOrder) === layout.orderIsSwapped;
    this.#view.setUint8(layout.icmpOrder, layout.orderIsNotLearnt);
  }
}

const counterSlots = [layout.octetsSlot, layout.packetsSlot, layout.reverseOctetsSlot, layout.reversePacketsSlot];
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
