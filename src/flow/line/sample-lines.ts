import { enrichmentImports } from "./kernel-context.ts";
import type { RecordFilter } from "./filter-program.ts";
import type { FlowEnds } from "./flow-ends.ts";
import type { CounterNames } from "../elements/mapping/counter-names.ts";
import type { LineEnricher, Enricher, RenderedFields, Workspace, LineBuffer } from "../../record/index.ts";
import { createKernelContext, kernelEnricher } from "./kernel-context.ts";
import { createRecordSlots } from "./record-slots.ts";
import { createAppWriter } from "./record-slots.ts";
import { createExporterAdditions } from "./kernel-context.ts";
import * as layout from "../kernel/layout.gen.ts";
import { createLineHead, type LineHead } from "./line-head.ts";
import { createWriteEstimates } from "./kernel-context.ts";
import { type KernelImports, createKernel } from "../kernel/kernel.ts";
import { maxNumberAddition } from "./kernel-context.ts";
import { copyText } from "./line-head.ts";
import { type ListedSteps, type SampleLines, type SampleLister, maxDatagram } from "../wire/sflow/sample-records.ts";
import type { RecordHead } from "../wire/records/decoder.ts";
import type { Step, StepBook } from "../wire/steps/step-book.ts";
import type { PathCounts } from "../wire/records/decoder.ts";
import type { DecodeOutput } from "../wire/records/decoder.ts";
import { createStepList } from "../wire/steps/steps.ts";
import type { ByteSource } from "../wire/steps/steps.ts";
import { completeLine, createPieces } from "./line-writer.ts";

interface KernelSampleLinesOptions {
  readonly enricher: LineEnricher;
  readonly communityId: boolean;
  /** Left out: all records are wanted. */
  readonly filter?: RecordFilter | undefined;
  readonly workspace: Workspace;
  readonly ends: FlowEnds;
  /** What the counters are called. */
  readonly counters: CounterNames;
}

/**
 * The rate and its estimates, type and code of ICMP with their names, IP version, VLANs, Community ID, what both ends add together, and
 * bytes that are overwritten.
 */
const maxRest = 1024;

/** Behind a head this much may be overwritten. */
const aroundHead = 8;

/** The kernel as it writes the lines of samples: what it is given with each exporter, datagram and piece of lines. */
function createKernelSampleLines(options: KernelSampleLinesOptions) {
  const { enricher, workspace, communityId, filter, ends, counters } = options;
  const { bytes: memory, view } = workspace;
  const context = createKernelContext(workspace, enricher, communityId, filter, counters);
  const values = createRecordSlots(workspace, context.slots, context.nameBits);
  const apps = createAppWriter(workspace, enricher, values);
  const exporter = createExporterAdditions(enricher);
  const { numberTables } = exporter;
  /** Whether additions to the lines of the exporter at hand are made otherwise. */
  let isBare = false;
  const heads = Array.from({ length: layout.maxSampleHeads }, (_, i) =>
    createLineHead(memory, layout.sampleHeads + layout.sampleHeadBytes * i, layout.sampleHeadBytes - aroundHead),
  );
  const none = (): never => {
    throw new TypeError("samples have no template");
  };
  const writeEstimates = createWriteEstimates(counters);
  const kernelImports: KernelImports = {
    writeValue: none,
    hasValue: none,
    help: none,
    rateOf: none,
    writeNames: none,
    addApp: apps.write,
    writeEstimates(at, rate) {
      const octets = values.counter(layout.octetsSlot);
      return writeEstimates(view, at, rate, octets, values.counter(layout.packetsSlot));
    },
    ...enrichmentImports(workspace, enricher, numberTables, filter),
  };
  const kernel = createKernel(workspace, kernelImports, counters);
  const maxAdditions =
    enricher.numbers.length * maxNumberAddition +
    (enricher.apps ?? []).reduce((sum, { maxLength }) => sum + maxLength, 0) +
    enricher.addresses.reduce((sum, { maxLength }) => sum + 2 * maxLength, 0);
  /** Of the steps that the kernel lists of a sample. */
  let listedRoom = 0;

  /** Of the heads of the datagrams whose samples wait. */
  let mostHead = 0;

  const exporterLength = (): number => (isBare ? 0 : exporter.length());

  const beginExporter = (address: string): void => {
    isBare = !exporter.use(address);
    context.setNumberTables(numberTables);
    apps.begin();
    const [text] = exporter.texts;
    if (text !== undefined && !isBare) copyText(view, layout.exporterText, text.text, 0, text.length);
    context.set({
      exportTime: 0,
      uptime: Number.NaN,
      isHeaderUptime: false,
      rate: -1,
      isRateOfRecord: false,
      hasNames: false,
      isBare,
      headLength: 0,
      exporterLength: exporterLength(),
    });
  };

  const kernelLines = {
    kernel,
    /** What a line takes besides its steps, at most. */
    room: 0,
    /** Of the datagram that was begun last. */
    headLength: 0,
    useListed(steps: ListedSteps): void {
      listedRoom = ends.growth * writeListedSteps(view, steps);
      view.setUint32(layout.listedRoom, kernelLines.room + listedRoom, true);
    },
    takeFiltered: () => context.takeFiltered(),
    write: (first: number, end: number, out: number, limit: number): number =>
      kernel.writeSamples(first, end, out, limit),
    /**
     * Begins a datagram.
     *
     * @param address of the exporter; undefined: that of the datagram before, whose samples wait.
     */
    begin(fields: RecordHead, number: number, address: string | undefined): void {
      const head = heads[number] as LineHead;
      if (!head.use(fields)) throw new TypeError("the head of a line cannot be written");
      kernelLines.headLength = head.length;
      const longestHead = address === undefined ? Math.max(mostHead, head.length) : head.length;
      if (address === undefined && longestHead === mostHead) return;
      if (address !== undefined) beginExporter(address);
      mostHead = longestHead;
      kernelLines.room = longestHead + exporterLength() + ends.growth * (maxAdditions + maxRest);
      view.setUint32(layout.listedRoom, kernelLines.room + listedRoom, true);
    },
    done() {
      context.takeNumbersAdded(exporter.numbersAdded);
      apps.done();
      exporter.done();
    },
  };
  return kernelLines;
}

/** Leaves the kernel the steps that it lists by itself. @returns bytes that those of one sample take in a line at most. */
function writeListedSteps(view: DataView, { ofSample, ofPacket, structures }: ListedSteps): number {
  let room = 0;
  const put = (at: number, step: Step | undefined): void => {
    view.setUint32(at, step?.place ?? 0, true);
    room += step?.maxLength ?? 0;
  };
  for (const [number, step] of ofSample) put(layout.listedOfSample + 4 * number, step);
  for (const [number, step] of ofPacket) put(layout.listedOfPacket + 4 * number, step);
  if (structures.length > layout.maxStructures) throw new RangeError("there is no room for so many structures");
  view.setUint32(layout.structureCount, structures.length, true);
  structures.forEach(({ format, length, step, rest, start, group }, i) => {
    if (group >= 64) throw new RangeError("there are too many groups of structures");
    const entry = layout.structures + layout.structureBytes * i;
    view.setUint32(entry + layout.structureFormat, format, true);
    view.setUint32(entry + layout.structureLength, length, true);
    put(entry + layout.structureStep, step);
    put(entry + layout.structureRest, rest);
    view.setUint32(entry + layout.structureStart, start ?? layout.anyStart, true);
    view.setUint32(entry + layout.structureGroup, group, true);
  });
  return room;
}

export interface SampleLinesOptions extends Omit<KernelSampleLinesOptions, "enricher"> {
  readonly lines: LineBuffer;
  readonly enricher: Enricher;
  /** The instruction table of the kernel of this workspace. */
  readonly book: StepBook;
  readonly counts: PathCounts;
}

/** Lines are handed over in pieces of about this size. */
const flushBytes = 256 * 1024;
/** Behind a line this much may be overwritten. */
const slack = 64;

/** Datagrams lie at whole words: so they are copied. */
const wordBytes = 8;

export function createSampleLines(options: SampleLinesOptions): SampleLines {
  const { lines, workspace, counts, ends, book } = options;
  const { bytes: memory, view } = workspace;
  const kernelLines = createKernelSampleLines({ ...options, enricher: kernelEnricher(options.enricher) });
  const steps = createStepList(book, workspace);
  const pieces = createPieces(lines, memory, flushBytes, slack);
  const source: ByteSource = { bytes: memory, view };
  /** What the kernel reads of each sample: little-endian like all processors that Node runs on. */
  const blocks = new Uint32Array(memory.buffer, layout.samples, (layout.maxSamples * layout.sampleBlock) / 4);
  const blockRates = new Float64Array(memory.buffer, layout.samples, (layout.maxSamples * layout.sampleBlock) / 8);
  const blockOf = (position: number): number => (layout.sampleBlock / 4) * position;
  let count = 0;
  /** Behind the datagram that was begun last, and the number of its head. */
  let inputEnd: number = layout.input;
  let headNumber = 0;
  /** The sample that the other side lists. */
  let listed = 0;
  let lister: SampleLister | undefined;
  let output: DecodeOutput | undefined;
  /** Whether the kernel has the list of what it may write. */
  let isListing = false;

  /** Has a sample listed by the one who reads it. */
  const list = (position: number): void => {
    const block = blockOf(position);
    listed = position;
    blocks[block + layout.sampleSteps / 4] = layout.stepList + 4 * steps.end;
    blocks[block + layout.sampleAddressLength / 4] = 0;
    lister?.list(
      blocks[block + layout.sampleForm / 4] as number,
      blocks[block + layout.sampleAt / 4] as number,
      blocks[block + layout.sampleEnd / 4] as number,
    );
    blocks[block + layout.sampleStepsEnd / 4] = layout.stepList + 4 * steps.end;
    blocks[block + layout.sampleRoom / 4] = ends.growth * steps.takeRoom() + kernelLines.room;
  };

  const hasRoom = (position: number): boolean => {
    const block = blockOf(position);
    const bytes = (blocks[block + layout.sampleEnd / 4] as number) - (blocks[block + layout.sampleAt / 4] as number);
    return steps.hasRoom(bytes);
  };

  const rendered: RenderedFields[] = [];
  /** Adds to a line what the kernel cannot. */
  const completeBare = (start: number): void => {
    counts.interpreted++;
    completeLine(options, start, rendered);
  };

  /** Writes the samples from one position up to another one, which are listed. */
  const write = (first: number, end: number): void => {
    if (end - first > 1) kernelLines.kernel.prefetchSamples(first, end);
    for (let next = first; next < end;) {
      const room = blocks[blockOf(next) + layout.sampleRoom / 4] as number;
      const piece = pieces.open(room);
      const { start: out, limit } = piece;
      const outcome = kernelLines.write(next, end, out, limit);
      const done = view.getUint32(layout.resultCount, true);
      const written = view.getUint32(layout.resultEnd, true);
      if (written > limit) throw new RangeError(`lines of ${written - out} bytes where ${limit - out} were the most`);
      pieces.close(piece, written, view.getUint32(layout.resultLines, true));
      kernelLines.takeFiltered();
      counts.compiled += done - next;
      if (done === next && outcome === layout.isFull) {
        throw new RangeError("a line is longer than there is memory for");
      }
      const before = next;
      next = done;
      if (outcome === layout.isLeft) {
        // This comes first: who learns of lines may hand them over, and their memory is written again then.
        completeBare(written);
        next++;
      }
      output?.wrote(next - before);
    }
  };

  const flush = (): void => {
    const end = count;
    if (end === 0) return;
    // Nothing waits any more, whatever the result.
    count = 0;
    steps.clear();
    let first = 0;
    let next = 0;
    while (next < end) {
      if (isListing) {
        next = kernelLines.kernel.listSamples(next, end, layout.stepList + 4 * steps.end);
        steps.end = (view.getUint32(layout.listedSteps, true) - layout.stepList) / 4;
      }
      if (next === end) break;
      if (next > first && !hasRoom(next)) {
        write(first, next);
        first = next;
        steps.clear();
      } else list(next++);
    }
    write(first, end);
    kernelLines.done();
    steps.clear();
  };

  const samples: { -readonly [Key in keyof SampleLines]: SampleLines[Key] } = {
    book,
    steps,
    counters: options.counters,
    base: layout.input,
    useListed(listedSteps) {
      kernelLines.useListed(listedSteps);
      isListing = true;
    },
    begin(datagram, head, exporter, to) {
      const length = Math.min(datagram.length, maxDatagram);
      const isFull = headNumber + 1 === layout.maxSampleHeads || inputEnd + length > layout.input + maxDatagram;
      if (isFull) flush();
      const isFirst = count === 0;
      headNumber = isFirst ? 0 : headNumber + 1;
      samples.base = isFirst ? layout.input : inputEnd;
      inputEnd = samples.base + Math.ceil(length / wordBytes) * wordBytes;
      memory.set(length < datagram.length ? datagram.subarray(0, length) : datagram, samples.base);
      kernelLines.begin(head, headNumber, isFirst ? exporter : undefined);
      output = to;
      return source;
    },
    add(form, at, end, rate, by) {
      if (count === layout.maxSamples) flush();
      lister = by;
      const block = blockOf(count++);
      blocks[block + layout.sampleForm / 4] = form;
      blocks[block + layout.sampleAt / 4] = at;
      blocks[block + layout.sampleEnd / 4] = end;
      blocks[block + layout.sampleHead / 4] = layout.sampleHeads + layout.sampleHeadBytes * headNumber;
      blocks[block + layout.sampleHeadLength / 4] = kernelLines.headLength;
      blockRates[block / 2 + layout.sampleRate / 8] = rate ?? -1;
    },
    setAddresses(from, destination, addressLength) {
      const block = blockOf(listed);
      blocks[block + layout.sampleSource / 4] = from;
      blocks[block + layout.sampleDestination / 4] = destination;
      blocks[block + layout.sampleAddressLength / 4] = addressLength;
    },
    flush,
  };
  return samples;
}
