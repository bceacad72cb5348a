import { enrichmentImports } from "./enrichment-imports.ts";
import type { RecordFilter } from "./record-filter.ts";
import type { FlowEnds } from "../roles/flow-ends.ts";
import type { CounterNames } from "../../elements/mapping/counter-names.ts";
import type { LineEnricher, Workspace } from "../../../record/index.ts";
import { createKernelContext } from "./kernel-context.ts";
import { createRecordSlots } from "../program/record-slots.ts";
import { createAppWriter } from "../program/app-writer.ts";
import { createExporterAdditions } from "./exporter-additions.ts";
import * as layout from "../kernel/layout.ts";
import { createLineHead, type LineHead } from "./line-head.ts";
import { createWriteEstimates } from "./write-estimates.ts";
import { type KernelImports, createKernel } from "../kernel/kernel.ts";
import { maxNumberAddition } from "../program/number-addition.ts";
import { copyText } from "../text/write-values.ts";
import type { ListedSteps } from "../../wire/decoder/sample-lines.ts";
import type { RecordHead } from "../../wire/decoder/record-head.ts";
import type { Step } from "../../wire/steps/step-book.ts";

export interface KernelSampleLinesOptions {
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
export function createKernelSampleLines(options: KernelSampleLinesOptions) {
  const { enricher, workspace, communityId, filter, ends, counters } = options;
  const { bytes: memory, view } = workspace;
  const context = createKernelContext(workspace, enricher, communityId, filter, counters);
  const values = createRecordSlots(workspace, context.slots, context.nameBits);
  const apps = createAppWriter(workspace, enricher, values);
  const exporter = createExporterAdditions(enricher);
  const { numberTables } = exporter;
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

  /** @returns whether lines of its flows can be written. */
  const beginExporter = (address: string): boolean => {
    if (!exporter.use(address)) return false;
    context.setNumberTables(numberTables);
    apps.begin();
    const [text] = exporter.texts;
    if (text !== undefined) copyText(view, layout.exporterText, text.text, 0, text.length);
    context.set({
      exportTime: 0,
      uptime: Number.NaN,
      isHeaderUptime: false,
      rate: -1,
      isRateOfRecord: false,
      hasNames: false,
      isBare: false,
      headLength: 0,
      exporterLength: exporter.length(),
    });
    return true;
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
     * @returns whether its lines can be written.
     */
    begin(fields: RecordHead, number: number, address: string | undefined): boolean {
      const head = heads[number] as LineHead;
      if (!head.use(fields)) return false;
      kernelLines.headLength = head.length;
      const longestHead = address === undefined ? Math.max(mostHead, head.length) : head.length;
      if (address === undefined && longestHead === mostHead) return true;
      if (address !== undefined && !beginExporter(address)) return false;
      mostHead = longestHead;
      kernelLines.room = longestHead + exporter.length() + ends.growth * (maxAdditions + maxRest);
      view.setUint32(layout.listedRoom, kernelLines.room + listedRoom, true);
      return true;
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
