import {
  scopedNumber,
  type LineBuffer,
  type LineEnricher,
  type RecordFields,
  type Workspace,
} from "../../../record/index.ts";
import { addIcmp, completeFlow } from "../complete-flow.ts";
import { createExporterAdditions } from "./exporter-additions.ts";
import type { PathCounts } from "../../wire/decoder/flow-reader.ts";
import { canEnrich, createKernelContext } from "./kernel-context.ts";
import { createLineHead } from "./line-head.ts";
import type { RecordFilter } from "./record-filter.ts";
import { createAppWriter } from "../program/app-writer.ts";
import { createRecordSlots } from "../program/record-slots.ts";
import type { FlowEnds } from "../roles/flow-ends.ts";
import type { CounterNames } from "../../elements/mapping/counter-names.ts";
import { maxNumberAddition, writeNumberAddition } from "../program/number-addition.ts";
import { createWriteEstimates } from "./write-estimates.ts";
import { copyText } from "../text/write-values.ts";
import type { Began, DecodeOutput } from "../../wire/decoder/decoder.ts";
import { createKernel, type KernelImports } from "../kernel/kernel.ts";
import { maxDatagram, type SampleLines } from "../../wire/decoder/sample-lines.ts";
import * as layout from "../kernel/layout.ts";
import type { RecordHead } from "../../wire/decoder/record-head.ts";
import { createStepBook, type StepBook } from "../../wire/steps/step-book.ts";
import { createStepList } from "../../wire/steps/step-list.ts";
import type { ByteSource } from "../../wire/steps/step-value.ts";

export interface SampleLinesOptions {
  readonly lines: LineBuffer;
  /** Undefined: records have to become fields. */
  readonly enricher: LineEnricher | undefined;
  readonly communityId: boolean;
  /** Left out: all records are wanted. */
  readonly filter?: RecordFilter | undefined;
  readonly workspace: Workspace;
  readonly ends: FlowEnds;
  /** What the counters are called. */
  readonly counters: CounterNames;
  /** Of the kernel of this workspace and enricher; undefined: records have to become fields. */
  readonly book: StepBook | undefined;
  readonly counts: PathCounts;
}

/** What the kernel gave up, it has looked at the ends of. */
const decided: Began = { hasInitiator: false, isReverse: false, isDecided: true };
/** Lines are handed over in pieces of about this size. */
const flushBytes = 256 * 1024;
/**
 * The rate and its estimates, type and code of ICMP with their names, IP version, VLANs, Community ID, what both ends add together, and
 * bytes that are overwritten.
 */
const maxRest = 1024;

export function createSampleLines(options: SampleLinesOptions): SampleLines {
  const { lines, enricher, workspace, counts } = options;
  const { bytes: memory, view } = workspace;
  const canUse = options.book !== undefined && enricher !== undefined && canEnrich(enricher);
  const kernelLines = canUse ? createKernelLines({ ...options, enricher }) : undefined;
  const book = (canUse ? options.book : undefined) ?? createStepBook(undefined);
  const steps = createStepList(book, kernelLines && workspace);
  const source: ByteSource = { bytes: memory, view };
  const starts = new Uint32Array(layout.maxSamples);
  const ends = new Uint32Array(layout.maxSamples);
  /** What the kernel reads of each sample: little-endian like all processors that Node runs on. */
  const blocks = new Uint32Array(memory.buffer, layout.samples, (layout.maxSamples * layout.sampleBlock) / 4);
  const blockRates = new Float64Array(memory.buffer, layout.samples, (layout.maxSamples * layout.sampleBlock) / 8);
  const rates = new Float64Array(layout.maxSamples);
  let count = 0;
  let headFields: RecordHead = [];
  let output: DecodeOutput | undefined;
  let canWrite = false;

  /** Passes a sample on as a record. */
  const putFields = (position: number, began?: Began): void => {
    const record: RecordFields = new Map(headFields);
    steps.putInto(record, starts[position] as number, ends[position] as number, source);
    addIcmp(record);
    const rate = rates[position] as number;
    completeFlow(record, rate < 0 ? undefined : rate, options.counters);
    counts.interpreted++;
    output?.flow(record, began);
  };

  const flush = (): void => {
    let next = 0;
    if (canWrite && kernelLines !== undefined && count > 0) {
      if (count > 1) kernelLines.kernel.prefetchSamples(count);
      while (next < count) {
        const room = blocks[(layout.sampleBlock * next + layout.sampleRoom) / 4] as number;
        const line = lines.open(room);
        const { buffer, byteOffset, length } = lines.bytes;
        // The lines need more memory than the workspace has in one piece.
        if (buffer !== memory.buffer) break;
        const out = byteOffset + line;
        const limit = Math.min(byteOffset + length, out + Math.max(flushBytes, room));
        const outcome = kernelLines.write(next, count, out, limit);
        const done = view.getUint32(layout.resultCount, true);
        const written = view.getUint32(layout.resultEnd, true);
        if (written > limit) throw new RangeError(`lines of ${written - out} bytes where ${limit - out} were the most`);
        lines.close(written - byteOffset, view.getUint32(layout.resultLines, true));
        kernelLines.takeFiltered();
        counts.compiled += done - next;
        if (done > next) output?.wrote(done - next);
        next = done;
        if (outcome === layout.isLeft) putFields(next++, decided);
      }
    }
    for (; next < count; next++) putFields(next);
    if (canWrite) kernelLines?.done();
    count = 0;
    steps.clear();
  };

  return {
    book,
    steps,
    counters: options.counters,
    base: layout.input,
    begin(datagram, head, exporter, to) {
      count = 0;
      steps.clear();
      memory.set(datagram.length > maxDatagram ? datagram.subarray(0, maxDatagram) : datagram, layout.input);
      headFields = head;
      output = to;
      canWrite = kernelLines?.begin(head, exporter) === true;
      return source;
    },
    reserve(bytes) {
      if (count === layout.maxSamples || !steps.hasRoom(bytes)) flush();
      starts[count] = steps.end;
    },
    end(rate, from, destination, addressLength) {
      const end = steps.end;
      ends[count] = end;
      rates[count] = rate ?? -1;
      const room = options.ends.growth * steps.takeRoom();
      if (canWrite && kernelLines !== undefined) {
        const block = (layout.sampleBlock / 4) * count;
        blocks[block + layout.sampleSteps / 4] = layout.stepList + 4 * (starts[count] as number);
        blocks[block + layout.sampleStepsEnd / 4] = layout.stepList + 4 * end;
        blocks[block + layout.sampleSource / 4] = from;
        blocks[block + layout.sampleDestination / 4] = destination;
        blocks[block + layout.sampleAddressLength / 4] = addressLength;
        blocks[block + layout.sampleRoom / 4] = room + kernelLines.room;
        blockRates[(layout.sampleBlock / 8) * count + layout.sampleRate / 8] = rate ?? -1;
      }
      count++;
    },
    flush,
  };
}

function createKernelLines({
  enricher,
  workspace,
  communityId,
  filter,
  ends,
  counters,
}: SampleLinesOptions & { readonly enricher: LineEnricher }) {
  const { bytes: memory, view } = workspace;
  const context = createKernelContext(workspace, enricher, communityId, filter, counters);
  const values = createRecordSlots(workspace, context.slots, context.nameBits);
  const apps = createAppWriter(workspace, enricher, values);
  const exporter = createExporterAdditions(enricher);
  const { numberTables } = exporter;
  const head = createLineHead(memory, layout.sampleHead, layout.headTextBytes);
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
    judgeLine: (start, end) => (filter?.matches(memory, start, end) === false ? 0 : 1),
    writeEstimates(at, rate) {
      const octets = values.counter(layout.octetsSlot);
      return writeEstimates(view, at, rate, octets, values.counter(layout.packetsSlot));
    },
    addNumber(index, at, value, scope) {
      const table = numberTables[index];
      if (table === undefined) return at;
      const isScoped = enricher.numbers[index]?.scope !== undefined;
      return writeNumberAddition(view, at, table, isScoped ? scopedNumber(scope, value) : value);
    },
    locate: enricher.addresses[0]?.table?.locate ?? (() => 0),
  };
  const kernel = createKernel(workspace, kernelImports, counters);
  const maxAdditions =
    enricher.numbers.length * maxNumberAddition +
    (enricher.apps ?? []).reduce((sum, { maxLength }) => sum + maxLength, 0) +
    enricher.addresses.reduce((sum, { maxLength }) => sum + 2 * maxLength, 0);
  let room = 0;

  return {
    kernel,
    takeFiltered: () => context.takeFiltered(),
    /** What a line takes besides its steps. */
    get room() {
      return room;
    },
    write: (first: number, end: number, out: number, limit: number): number =>
      kernel.writeSamples(first, end, layout.sampleHead, head.length, out, limit),
    /** @returns whether lines of a datagram can be written. */
    begin(fields: RecordHead, address: string): boolean {
      if (!head.use(fields) || !exporter.use(address)) {
        head.forget();
        return false;
      }
      context.setNumberTables(numberTables);
      apps.begin();
      const [text] = exporter.texts;
      if (text !== undefined) copyText(view, layout.exporterText, text.text, 0, text.length);
      const exporterLength = exporter.length();
      context.set({
        exportTime: 0,
        uptime: Number.NaN,
        isHeaderUptime: false,
        rate: -1,
        isRateOfRecord: false,
        hasNames: false,
        isBare: false,
        headLength: head.length,
        exporterLength,
      });
      room = head.length + exporterLength + ends.growth * (maxAdditions + maxRest);
      return true;
    },
    done() {
      context.takeNumbersAdded(exporter.numbersAdded);
      apps.done();
      exporter.done();
    },
  };
}
