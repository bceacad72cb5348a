import type {
  Workspace,
  Enricher,
  LineBuffer,
  RecordFields,
  RenderedFields,
  Sink,
  ShapeLines,
} from "../record/index.ts";
import type { Exporter } from "./exporters/exporter.ts";
import { trafficMinuteMs } from "./exporters/exporter-traffic.ts";
import * as layout from "./kernel/layout.gen.ts";
import { isSessionEnd, senderAddress } from "./datagram.ts";
import type { Clock, Log } from "../base/report/index.ts";
import type { FlowEnds } from "./line/flow-ends.ts";
import { dropReasons, type DecodeOutput, type Decoder, type Detail, type DropReason } from "./wire/records/decoder.ts";
import { noteQuality, type ExporterTable } from "./exporters/exporter-table.ts";
import type { OpenQuestions } from "./exporters/waiting-sets.ts";
import type { FlowCounts, ProtocolCounts } from "./flow-metrics.ts";
import { protocolOf, protocols, type Protocol } from "./datagram.ts";

const wordsOfCell = layout.trafficCell / 8;
/** Between the number of an exporter and the key of its interface. */
const numberUnit = 2 ** layout.trafficKeyShift;
const two32 = 2 ** 32;
const mostWaitedMs = 5 * 60_000;

/** Takes by minute what flows say passed the interfaces of exporters; the kernel adds it up. */
export class TrafficMeter {
  readonly #view: DataView;
  readonly #cells: Float64Array;
  readonly #isMeasured: ((address: string) => boolean) | undefined;
  /** The exporters of this minute: their numbers, 0 where they are not measured. */
  readonly #numbers = new Map<Exporter, number>();
  /** Since when those that are new are measured. */
  #newSince = 0;
  #minute = 0;
  #current: Exporter | undefined;
  #number = 0;
  #lost = 0;

  /** @param isMeasured whether the interfaces of an exporter, given by its address, are measured. Asked once a minute. Undefined: those of none. */
  constructor({ view, memory }: Workspace, isMeasured: ((address: string) => boolean) | undefined) {
    this.#view = view;
    this.#cells = new Float64Array(memory.buffer, layout.trafficTable, layout.trafficCells * wordsOfCell);
    this.#isMeasured = isMeasured;
  }

  /** Ends a minute that is over. To be called before each datagram, and before what was measured is read. @param now milliseconds since the epoch. */
  at(now: number): void {
    if (this.#isMeasured === undefined) return;
    // Datagrams may have waited: a little earlier counts as now. A clock that was set back does not.
    if (now >= this.#minute + trafficMinuteMs || now < this.#minute - mostWaitedMs) this.#endMinute(now);
  }

  /** Says whose flows come next. */
  use(exporter: Exporter): void {
    if (this.#isMeasured === undefined || exporter === this.#current) return;
    this.#current = exporter;
    let known = this.#numbers.get(exporter);
    if (known === undefined) {
      known = this.#isMeasured(exporter.address) ? this.#numbers.size + 1 : 0;
      this.#numbers.set(exporter, known);
    }
    if (known !== this.#number) this.#view.setUint32(layout.trafficExporter, known, true);
    this.#number = known;
  }

  /** @returns how many additions there was no room for. */
  lost(): number {
    return this.#lost + this.#view.getUint32(layout.trafficLost, true);
  }

  #endMinute(now: number): void {
    const missed = this.#view.getUint32(layout.trafficLost, true);
    this.#view.setUint32(layout.trafficLost, 0, true);
    this.#lost += missed;
    const isPartial = missed > 0;
    const rows = this.#numbers.size === 0 ? new Map<number, number[]>() : this.#takeRows();
    for (const [exporter, of] of this.#numbers) {
      if (of === 0) continue;
      const since = Math.max(this.#newSince, exporter.firstSeen);
      exporter.recent.add({ start: this.#minute, isPartial, rows: Float64Array.from(rows.get(of) ?? []) }, since);
    }
    this.#numbers.clear();
    this.#current = undefined;
    this.#minute = now - (now % trafficMinuteMs);
    this.#newSince = now;
  }

  /** Takes all that was added up, by the numbers of exporters, and empties the cells. */
  #takeRows(): ReadonlyMap<number, number[]> {
    const rows = new Map<number, number[]>();
    for (let cell = 0; cell < layout.trafficCells; cell++) {
      const at = layout.trafficTable + layout.trafficCell * cell;
      const key = this.#view.getUint32(at + 4, true) * two32 + this.#view.getUint32(at, true);
      if (key === 0) continue;
      const [, bytes = 0, raw = 0, packets = 0] = this.#cells.subarray(wordsOfCell * cell, wordsOfCell * (cell + 1));
      const of = Math.floor(key / numberUnit);
      const taken = rows.get(of) ?? [];
      rows.set(of, taken);
      taken.push(key - of * numberUnit, bytes, raw, packets);
    }
    this.#cells.fill(0);
    return rows;
  }
}

interface FlowProcessorOptions {
  readonly decoders: Readonly<Partial<Record<Protocol, Decoder>>>;
  /** Protocols that are not to be decoded. Default: none. */
  readonly off?: ReadonlySet<Protocol>;
  readonly exporters: ExporterTable;
  readonly counts: FlowCounts;
  readonly enricher: Enricher;
  readonly lines: LineBuffer;
  readonly sink: Sink;
  readonly ends: FlowEnds;
  /** The workspace in which the kernel leaves the flows by which exporters are compared. */
  readonly workspace: Workspace;
  readonly traffic: Pick<TrafficMeter, "at" | "use">;
  /** True if records of options data leave like flows. */
  readonly optionsRecords: boolean;
  /** The exporters that other collectors are to be asked about; left out: there are none. */
  readonly questions?: OpenQuestions | undefined;
  /** Changes lines before they leave; left out: they stay as they are. */
  readonly shape?: ShapeLines | undefined;
  /** For what a stranger's datagram can cause again and again: limited in rate. */
  readonly log: Log;
  readonly clock: Clock;
}

/** A datagram may hold many short records; their lines leave in chunks of about this size. */
const flushBytes = 1024 * 1024;
/** Lines of several datagrams leave together once they have this size: when memory is full, what has not left is moved. */
const severalBytes = 64 * 1024;

/** Turns datagrams into lines: decode, enrich, render, hand over. It waits for nothing and never throws. */
export class FlowProcessor {
  readonly #parts: FlowProcessorOptions;
  readonly #decoders: FlowProcessorOptions["decoders"];
  readonly #off: ReadonlySet<Protocol>;
  readonly #counts: FlowCounts;
  readonly #lines: LineBuffer;
  readonly #outputs: Readonly<Record<Protocol, DecodeOutput>>;
  readonly #rendered: RenderedFields[] = [];
  readonly #sketchFlow: NoteFlow = (hash, directions) => this.#source?.sketchFlow(hash, directions);
  #faults = 0;
  /** Whose records are read, and how many there were before. */
  #source: Exporter | undefined;
  #flowsBefore = 0;
  /** The sender of the datagrams taken last, and what was counted before them. */
  #sender: Exporter | undefined;
  readonly #before = { records: 0, faults: 0 };
  /** The decoder of the datagrams taken last: it may hold some of them back for more of the same exporter. */
  #holding: Decoder | undefined;
  #heldProtocol: Protocol = "unknown";

  constructor(parts: FlowProcessorOptions) {
    this.#parts = parts;
    this.#decoders = parts.decoders;
    this.#off = parts.off ?? new Set();
    this.#counts = parts.counts;
    this.#lines = parts.lines;
    this.#outputs = Object.fromEntries(protocols.map((protocol) => [protocol, this.#createOutput(protocol)])) as Record<
      Protocol,
      DecodeOutput
    >;
  }

  /**
   * Takes a datagram. Its lines are with the sink after {@link FlowProcessor.flush}.
   *
   * @param address of the sender, as the socket gives it.
   * @param bytes are read before the call returns and not kept.
   * @param port of the sender, with its session where it has one (`sessionPort`).
   * @param receivedAt milliseconds since the epoch; left out: now.
   */
  take(bytes: Buffer, address: string, port: number, receivedAt = this.#parts.clock.now()): void {
    const { exporters, questions, traffic, ends } = this.#parts;
    if (isSessionEnd(bytes, port)) {
      exporters.find(senderAddress(address))?.endSession(port);
      return;
    }
    const protocol = protocolOf(bytes);
    const of = this.#counts[protocol];
    of.datagrams++;
    of.bytes += bytes.length;
    const isOff = this.#off.has(protocol);
    const decoder = isOff ? undefined : this.#decoders[protocol];
    if (decoder === undefined) {
      // No exporter is made of a sender that was not understood.
      const reason = protocol === "unknown" ? "unknown_protocol" : isOff ? "disabled" : "unsupported";
      this.#drop(of, reason, { protocol, exporter: senderAddress(address), bytes: bytes.length });
      return;
    }
    const exporter = exporters.get(senderAddress(address), receivedAt);
    if (this.#holding !== undefined && (this.#holding !== decoder || this.#source !== exporter)) this.#passOn();
    traffic.at(receivedAt);
    questions?.heard(exporter, receivedAt);
    exporter.lastSeen = receivedAt;
    exporter.datagrams++;
    ends.begin(receivedAt);
    if (this.#holding === undefined) {
      this.#sender = exporter;
      this.#before.records = recordsOf(of);
      this.#before.faults = this.#faults;
    }
    this.#begin(of, exporter);
    try {
      decoder.decode({ bytes, port, receivedAt }, exporter, this.#outputs[protocol]);
    } catch (error) {
      this.#fail(protocol, exporter, error);
    }
    this.#credit(of);
    if (decoder.flush === undefined) this.#judge(of);
    else {
      this.#holding = decoder;
      this.#heldProtocol = protocol;
    }
    if (this.#lines.byteLength >= severalBytes) this.#handOver();
  }

  /** Hands over the lines of the datagrams taken. */
  flush(): void {
    this.#passOn();
    this.#handOver();
  }

  /** Decodes the data sets of an exporter that wait and whose templates are known by now. Nothing of it is held any more. */
  release(exporter: Exporter): void {
    exporter.heldUntil = 0;
    if (!exporter.isWaiting()) return;
    this.#passOn();
    const now = this.#parts.clock.now();
    this.#parts.traffic.at(now);
    this.#parts.ends.begin(now);
    for (const protocol of protocols) {
      const decoder = this.#decoders[protocol];
      if (decoder?.replay === undefined) continue;
      this.#begin(this.#counts[protocol], exporter);
      try {
        decoder.replay(exporter, this.#outputs[protocol], now);
      } catch (error) {
        this.#fail(protocol, exporter, error);
      }
      this.#credit(this.#counts[protocol]);
    }
    this.#handOver();
  }

  #createOutput(protocol: Protocol): DecodeOutput {
    const of = this.#counts[protocol];
    const { log, traffic, optionsRecords } = this.#parts;
    return {
      from: (exporter) => {
        this.#credit(of);
        this.#source = exporter;
        traffic.use(exporter);
      },
      claimed: (records) => void (of.claims += records),
      wrote: (flows) => {
        of.flows += flows;
        if (this.#lines.byteLength >= flushBytes) this.#handOver();
      },
      options: (record) => {
        of.options++;
        if (optionsRecords) this.#emit(record);
      },
      counters: (record) => {
        of.counters++;
        this.#emit(record);
      },
      doubt: (said, taken) => {
        of.doubtedRates++;
        // With each record, perhaps.
        const source = this.#source;
        if (source === undefined || source.doubtedRate === said) return;
        source.doubtedRate = said;
        log.warn({ protocol, exporter: source.address, said, taken: taken ?? "none" }, "flow sampling rate doubted");
      },
      set: (kind) => void of.sets[kind]++,
      template: (change) => void of.templates[change]++,
      problem: (reason, detail) => this.#drop(of, reason, { protocol, ...detail }),
      waiting(detail) {
        of.waited++;
        log.info({ protocol, ...detail }, "flow set waits for its template");
      },
      held: () => void of.held++,
      replayed: (sets) => void (of.replayed += sets),
      sample({ missing, recovered, drops }) {
        of.samplesMissing += missing;
        of.samplesRecovered += recovered;
        of.samplerDrops += drops;
      },
      sequence({ missing, recovered, event }) {
        of.missing += missing;
        of.recovered += recovered;
        if (event === "late") of.late++;
        else if (event === "reset") of.resets++;
      },
    };
  }

  #handOver(): void {
    const { shape, sink } = this.#parts;
    if (shape !== undefined && this.#lines.count > 0) this.#lines.shape(shape);
    const { count } = this.#lines;
    if (count > 0) sink.write(this.#lines.take(), count);
  }

  #emit(record: RecordFields): void {
    this.#rendered.length = 0;
    this.#parts.enricher.enrich(record, this.#rendered);
    this.#lines.append(record, this.#rendered);
    if (this.#lines.byteLength >= flushBytes) this.#handOver();
  }

  #drop(of: ProtocolCounts, reason: DropReason, detail: Detail): void {
    this.#faults++;
    of.drops[reason]++;
    this.#parts.log.warn(detail, dropReasons[reason]);
  }

  /** Gives the exporter at hand its records. */
  #credit(of: ProtocolCounts): void {
    takeSeen(this.#parts.workspace, this.#sketchFlow);
    if (this.#source !== undefined) this.#source.records += of.flows - this.#flowsBefore;
    this.#flowsBefore = of.flows;
  }

  /** From here on flows are counted for an exporter. */
  #begin(of: ProtocolCounts, exporter: Exporter): void {
    this.#source = exporter;
    this.#flowsBefore = of.flows;
    this.#parts.traffic.use(exporter);
  }

  #fail(protocol: Protocol, exporter: Exporter, error: unknown): void {
    this.#faults++;
    this.#counts[protocol].drops.internal++;
    this.#parts.log.error({ protocol, exporter: exporter.address, error }, dropReasons.internal);
  }

  #judge(of: ProtocolCounts): void {
    const { records, faults } = this.#before;
    if (this.#sender !== undefined) noteQuality(this.#sender, recordsOf(of) > records && faults === this.#faults);
  }

  #passOn(): void {
    const decoder = this.#holding;
    const source = this.#source;
    if (decoder === undefined || source === undefined) return;
    const of = this.#counts[this.#heldProtocol];
    this.#holding = undefined;
    try {
      decoder.flush?.();
    } catch (error) {
      this.#fail(this.#heldProtocol, source, error);
    }
    this.#credit(of);
    this.#judge(of);
  }
}

function recordsOf({ flows, options, counters }: ProtocolCounts): number {
  return flows + options + counters;
}

/** Takes a flow that the kernel chose. @param hash of 32 bits, of addresses, protocol and ports. @param directions 1: ingress, 2: egress, 0: not known. */
type NoteFlow = (hash: number, directions: number) => void;

/** Hands over the flows that the kernel chose since the last call. */
function takeSeen({ view }: Pick<Workspace, "view">, note: NoteFlow): void {
  const count = view.getUint32(layout.seenCount, true);
  if (count === 0) return;
  view.setUint32(layout.seenCount, 0, true);
  for (let i = 0; i < count; i++) {
    const at = layout.seenFlows + layout.seenBytes * i;
    note(view.getUint32(at, true), view.getUint32(at + 4, true));
  }
}
