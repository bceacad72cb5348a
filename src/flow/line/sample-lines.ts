import { KernelContext, maxNumberAddition, type LineParts } from "./kernel-context.ts";
import * as layout from "../kernel/layout.gen.ts";
import { LineHead } from "./line-head.ts";
import { createKernel, type Kernel } from "../kernel/kernel.ts";
import type { CounterNames } from "../elements/mapping/element-names.ts";
import { type ListedSteps, type SampleLines, type SampleLister, maxDatagram } from "../wire/sflow/sample-records.ts";
import type { DecodeOutput, PathCounts, RecordHead } from "../wire/records/decoder.ts";
import type { Step, InstructionTable } from "../wire/steps/instruction-table.ts";
import { StepList, type ByteSource } from "../wire/steps/steps.ts";
import { LineMemory } from "./line-writer.ts";

/**
 * The rate and its estimates, type and code of ICMP with their names, IP version, VLANs, Community ID, what both ends add together, and
 * bytes that are overwritten.
 */
const maxRest = 1024;

/** Behind a head this much may be overwritten. */
const aroundHead = 8;

/** Datagrams lie at whole words: so they are copied. */
const wordBytes = 8;

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

/** Returns where the block of a sample begins, in words of 32 bits. */
function blockOf(position: number): number {
  return (layout.sampleBlock / 4) * position;
}

/** Writes the lines of samples, which wait for one another: so what is known of their addresses is prefetched together. */
export class KernelSampleLines implements SampleLines {
  readonly instructions: InstructionTable;
  readonly steps: StepList;
  readonly counters: CounterNames;
  base: number = layout.input;
  readonly #parts: LineParts;
  readonly #counts: PathCounts;
  readonly #memory: Buffer;
  readonly #view: DataView;
  readonly #context: KernelContext;
  readonly #kernel: Kernel;
  readonly #heads: readonly LineHead[];
  readonly #lineMemory: LineMemory;
  readonly #source: ByteSource;
  /** The blocks that the kernel reads of each sample: little-endian like all processors that Node runs on. */
  readonly #blocks: Uint32Array;
  readonly #blockRates: Float64Array;
  readonly #maxAdditions: number;
  /** Bytes that a line takes besides its steps, at most. */
  #room = 0;
  /** The room for the steps that the kernel lists of a sample. */
  #listedRoom = 0;
  /** The longest of the heads of the datagrams whose samples wait, and the length of that of the datagram that was begun last. */
  #mostHead = 0;
  #headLength = 0;
  #count = 0;
  /** Behind the datagram that was begun last, and the number of its head. */
  #inputEnd: number = layout.input;
  #headNumber = 0;
  /** The sample that the other side lists. */
  #listed = 0;
  #lister: SampleLister | undefined;
  #output: DecodeOutput | undefined;
  /** True if the kernel has the list of what it may write. */
  #isListing = false;

  /** @param instructions the instruction table of the kernels of this workspace. */
  constructor(parts: LineParts, instructions: InstructionTable, counts: PathCounts) {
    const { workspace, counters } = parts;
    const { bytes: memory, view } = workspace;
    this.#parts = parts;
    this.#counts = counts;
    this.#memory = memory;
    this.#view = view;
    this.#context = new KernelContext(parts);
    this.#kernel = createKernel(
      workspace,
      {
        ...this.#context.imports([layout.octetsSlot, layout.packetsSlot]),
        writeValue: none,
        hasValue: none,
        help: none,
        rateOf: none,
        writeNames: none,
      },
      counters,
    );
    this.#heads = Array.from(
      { length: layout.maxSampleHeads },
      (_, i) =>
        new LineHead(memory, layout.sampleHeads + layout.sampleHeadBytes * i, layout.sampleHeadBytes - aroundHead),
    );
    this.instructions = instructions;
    this.steps = new StepList(instructions, workspace);
    this.counters = counters;
    this.#lineMemory = new LineMemory(parts);
    this.#source = { bytes: memory, view };
    this.#blocks = new Uint32Array(memory.buffer, layout.samples, (layout.maxSamples * layout.sampleBlock) / 4);
    this.#blockRates = new Float64Array(memory.buffer, layout.samples, (layout.maxSamples * layout.sampleBlock) / 8);
    const { numbers, apps = [], addresses } = this.#context.enricher;
    this.#maxAdditions =
      numbers.length * maxNumberAddition +
      apps.reduce((sum, { maxLength }) => sum + maxLength, 0) +
      addresses.reduce((sum, { maxLength }) => sum + 2 * maxLength, 0);
  }

  useListed(steps: ListedSteps): void {
    this.#listedRoom = this.#parts.ends.growth * writeListedSteps(this.#view, steps);
    this.#view.setUint32(layout.listedRoom, this.#room + this.#listedRoom, true);
    this.#isListing = true;
  }

  begin(datagram: Buffer, head: RecordHead, exporter: string, to: DecodeOutput): ByteSource {
    const length = Math.min(datagram.length, maxDatagram);
    const isFull =
      this.#headNumber + 1 === layout.maxSampleHeads || this.#inputEnd + length > layout.input + maxDatagram;
    if (isFull) this.flush();
    const isFirst = this.#count === 0;
    this.#headNumber = isFirst ? 0 : this.#headNumber + 1;
    this.base = isFirst ? layout.input : this.#inputEnd;
    this.#inputEnd = this.base + Math.ceil(length / wordBytes) * wordBytes;
    this.#memory.set(length < datagram.length ? datagram.subarray(0, length) : datagram, this.base);
    this.#useHead(head, isFirst ? exporter : undefined);
    this.#output = to;
    return this.#source;
  }

  add(form: number, at: number, end: number, rate: number | undefined, by: SampleLister): void {
    if (this.#count === layout.maxSamples) this.flush();
    this.#lister = by;
    const blocks = this.#blocks;
    const block = blockOf(this.#count++);
    blocks[block + layout.sampleForm / 4] = form;
    blocks[block + layout.sampleAt / 4] = at;
    blocks[block + layout.sampleEnd / 4] = end;
    blocks[block + layout.sampleHead / 4] = layout.sampleHeads + layout.sampleHeadBytes * this.#headNumber;
    blocks[block + layout.sampleHeadLength / 4] = this.#headLength;
    this.#blockRates[block / 2 + layout.sampleRate / 8] = rate ?? -1;
  }

  setAddresses(source: number, destination: number, length: number): void {
    const block = blockOf(this.#listed);
    this.#blocks[block + layout.sampleSource / 4] = source;
    this.#blocks[block + layout.sampleDestination / 4] = destination;
    this.#blocks[block + layout.sampleAddressLength / 4] = length;
  }

  flush(): void {
    const end = this.#count;
    if (end === 0) return;
    const { steps } = this;
    // Nothing waits any more, whatever the result.
    this.#count = 0;
    steps.clear();
    let first = 0;
    let next = 0;
    while (next < end) {
      if (this.#isListing) {
        next = this.#kernel.listSamples(next, end, layout.stepList + 4 * steps.end);
        steps.end = (this.#view.getUint32(layout.listedSteps, true) - layout.stepList) / 4;
      }
      if (next === end) break;
      if (next > first && !this.#hasRoom(next)) {
        this.#write(first, next);
        first = next;
        steps.clear();
      } else this.#list(next++);
    }
    this.#write(first, end);
    this.#context.done();
    steps.clear();
  }

  /**
   * Takes the head of a datagram.
   *
   * @param address of the exporter; undefined: that of the datagram before, whose samples wait.
   */
  #useHead(fields: RecordHead, address: string | undefined): void {
    const head = this.#heads[this.#headNumber] as LineHead;
    if (!head.use(fields)) throw new TypeError("the head of a line cannot be written");
    this.#headLength = head.length;
    const longestHead = address === undefined ? Math.max(this.#mostHead, head.length) : head.length;
    if (address === undefined && longestHead === this.#mostHead) return;
    if (address !== undefined) this.#beginExporter(address);
    this.#mostHead = longestHead;
    const additions = this.#parts.ends.growth * (this.#maxAdditions + maxRest);
    this.#room = longestHead + this.#context.exporterLength() + additions;
    this.#view.setUint32(layout.listedRoom, this.#room + this.#listedRoom, true);
  }

  #beginExporter(address: string): void {
    this.#context.begin(address);
    this.#context.set({
      exportTime: 0,
      uptime: Number.NaN,
      isHeaderUptime: false,
      rate: -1,
      isRateOfRecord: false,
      hasNames: false,
      nameOrigins: [],
      headLength: 0,
    });
  }

  /** Has a sample listed by the one who reads it. */
  #list(position: number): void {
    const blocks = this.#blocks;
    const { steps } = this;
    const block = blockOf(position);
    this.#listed = position;
    blocks[block + layout.sampleSteps / 4] = layout.stepList + 4 * steps.end;
    blocks[block + layout.sampleAddressLength / 4] = 0;
    this.#lister?.list(
      blocks[block + layout.sampleForm / 4] as number,
      blocks[block + layout.sampleAt / 4] as number,
      blocks[block + layout.sampleEnd / 4] as number,
    );
    blocks[block + layout.sampleStepsEnd / 4] = layout.stepList + 4 * steps.end;
    blocks[block + layout.sampleRoom / 4] = this.#parts.ends.growth * steps.takeRoom() + this.#room;
  }

  #hasRoom(position: number): boolean {
    const block = blockOf(position);
    const end = this.#blocks[block + layout.sampleEnd / 4] as number;
    return this.steps.hasRoom(end - (this.#blocks[block + layout.sampleAt / 4] as number));
  }

  /** Writes the samples from one position up to another one, which are listed. */
  #write(first: number, end: number): void {
    const view = this.#view;
    const counts = this.#counts;
    if (end - first > 1) this.#kernel.prefetchSamples(first, end);
    for (let next = first; next < end;) {
      const chunk = this.#lineMemory.open(this.#blocks[blockOf(next) + layout.sampleRoom / 4] as number);
      const outcome = this.#kernel.writeSamples(next, end, chunk.start, chunk.limit);
      const done = view.getUint32(layout.resultCount, true);
      const written = view.getUint32(layout.resultEnd, true);
      this.#lineMemory.close(chunk, written, view.getUint32(layout.resultLines, true));
      this.#context.takeFiltered();
      counts.compiled += done - next;
      if (done === next && outcome === layout.isFull) {
        throw new RangeError("a line is longer than there is memory for");
      }
      const before = next;
      next = done;
      if (outcome === layout.isLeft) {
        // This comes first: who learns of lines may hand them over, and their memory is written again then.
        counts.interpreted++;
        this.#context.complete(written);
        next++;
      }
      this.#output?.wrote(next - before);
    }
  }
}

function none(): never {
  throw new TypeError("samples have no template");
}
