import { senderAddress } from "./intake/socket.ts";
import type {
  Enricher,
  LineBuffer,
  RecordFields,
  RenderedFields,
  Sink,
  ShapeLines,
  Workspace,
} from "../record/index.ts";
import type { Clock, Log } from "../base/report/index.ts";
import * as layout from "./kernel/layout.gen.ts";
import type { TrafficMeter } from "./line/traffic-meter.ts";
import type { FlowEnds } from "./line/flow-ends.ts";
import { dropReasons, type DecodeOutput, type Decoder, type Detail, type DropReason } from "./wire/records/decoder.ts";
import type { ExporterTable } from "./exporters/exporter-table.ts";
import type { Exporter } from "./exporters/exporter.ts";
import { noteQuality } from "./exporters/exporter-table.ts";
import type { OpenQuestions } from "./exporters/open-questions.ts";
import type { FlowCounts, ProtocolCounts } from "./flow-metrics.ts";
import { isSessionEnd } from "./intake/socket.ts";
import { protocolOf, protocols, type Protocol } from "./protocol.ts";

/** Turns datagrams into lines: decode, enrich, render, hand over. It waits for nothing and never throws. */
export interface FlowProcessor {
  /**
   * Takes a datagram. Its lines are with the sink after {@link FlowProcessor.flush}.
   *
   * @param address of the sender, as the socket gives it.
   * @param bytes are read before the call returns and not kept.
   * @param port of the sender, with its session where it has one (`sessionPort`).
   * @param receivedAt milliseconds since the epoch; left out: now.
   */
  take(bytes: Buffer, address: string, port: number, receivedAt?: number): void;
  /** Hands over the lines of the datagrams taken. */
  flush(): void;
  /** Decodes the data sets of an exporter that wait and whose templates are known by now. Nothing of it is held any more. */
  release(exporter: Exporter): void;
}

export interface FlowProcessorOptions {
  readonly decoders: Readonly<Partial<Record<Protocol, Decoder>>>;
  /** Protocols that are not to be decoded. Default: none. */
  readonly off?: ReadonlySet<Protocol>;
  readonly exporters: ExporterTable;
  readonly counts: FlowCounts;
  readonly enricher: Enricher;
  readonly lines: LineBuffer;
  readonly sink: Sink;
  readonly ends: FlowEnds;
  /** Where the kernel leaves the flows by which exporters are compared. */
  readonly workspace: Workspace;
  readonly traffic: Pick<TrafficMeter, "at" | "use">;
  /** Whether records of options data leave like flows. */
  readonly optionsRecords: boolean;
  /** Which exporters other collectors are to be asked about; left out: there are none. */
  readonly questions?: OpenQuestions | undefined;
  /** Changes lines before they leave; left out: they stay as they are. */
  readonly shape?: ShapeLines | undefined;
  /** For what a stranger's datagram can cause again and again: limited in rate. */
  readonly log: Log;
  readonly clock: Clock;
}

/** A datagram may hold many short records; their lines leave in pieces of about this size. */
const flushBytes = 1024 * 1024;
/** Lines of several datagrams leave together once they have this size: when memory is full, what has not left is moved. */
const severalBytes = 64 * 1024;

export function createFlowProcessor(options: FlowProcessorOptions): FlowProcessor {
  const { decoders, off = new Set(), exporters, counts, enricher, ends, workspace, lines, sink, log, clock } = options;
  const { traffic } = options;

  const rendered: RenderedFields[] = [];

  const handOver = (): void => {
    if (options.shape !== undefined && lines.count > 0) lines.shape(options.shape);
    const { count } = lines;
    if (count > 0) sink.write(lines.take(), count);
  };
  const append = (record: RecordFields): void => {
    lines.append(record, rendered);
    if (lines.byteLength >= flushBytes) handOver();
  };
  const emit = (record: RecordFields): void => {
    rendered.length = 0;
    enricher.enrich(record, rendered);
    append(record);
  };
  let faults = 0;
  const drop = (of: ProtocolCounts, reason: DropReason, detail: Detail): void => {
    faults++;
    of.drops[reason]++;
    log.warn(detail, dropReasons[reason]);
  };

  const createOutput = (protocol: Protocol): DecodeOutput => {
    const of = counts[protocol];
    return {
      from(exporter) {
        settle(of);
        source = exporter;
        traffic.use(exporter);
      },
      claimed: (records) => void (of.claims += records),
      wrote(flows) {
        of.flows += flows;
        if (lines.byteLength >= flushBytes) handOver();
      },
      options(record) {
        of.options++;
        if (options.optionsRecords) emit(record);
      },
      counters(record) {
        of.counters++;
        emit(record);
      },
      doubt(said, taken) {
        of.doubtedRates++;
        // With each record, perhaps.
        if (source === undefined || source.doubtedRate === said) return;
        source.doubtedRate = said;
        log.warn({ protocol, exporter: source.address, said, taken: taken ?? "none" }, "flow sampling rate doubted");
      },
      set: (kind) => void of.sets[kind]++,
      template: (change) => void of.templates[change]++,
      problem: (reason, detail) => drop(of, reason, { protocol, ...detail }),
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
  };
  const outputs = Object.fromEntries(protocols.map((protocol) => [protocol, createOutput(protocol)])) as Record<
    Protocol,
    DecodeOutput
  >;

  /** Whose records are read, and how many there were before. */
  let source: Exporter | undefined;
  let settled = 0;
  const noteSeen: NoteFlow = (hash, directions) => source?.noteSeen(hash, directions);
  /** Gives the exporter at hand its records. */
  function settle(of: ProtocolCounts): void {
    takeSeen(workspace, noteSeen);
    if (source !== undefined) source.records += of.flows - settled;
    settled = of.flows;
  }

  const decode = (protocol: Protocol, exporter: Exporter, run: (output: DecodeOutput) => void): void => {
    const of = counts[protocol];
    source = exporter;
    settled = of.flows;
    traffic.use(exporter);
    attempt(protocol, exporter, run);
    settle(of);
  };

  const attempt = (protocol: Protocol, exporter: Exporter, run: (output: DecodeOutput) => void): void => {
    try {
      run(outputs[protocol]);
    } catch (error) {
      faults++;
      counts[protocol].drops.internal++;
      log.error({ protocol, exporter: exporter.address, error }, dropReasons.internal);
    }
  };

  /** Who sent the datagrams taken last, and what was counted before them. */
  let sender: Exporter | undefined;
  const before = { records: 0, faults: 0 };
  const recordsOf = ({ flows, options: said, counters }: ProtocolCounts): number => flows + said + counters;
  const judge = (of: ProtocolCounts): void => {
    if (sender !== undefined) noteQuality(sender, recordsOf(of) > before.records && faults === before.faults);
  };

  /** Of the datagrams taken last: their decoder may hold some of them back for more of the same exporter. */
  let holding: Decoder | undefined;
  let heldProtocol: Protocol = "unknown";

  const passOn = (): void => {
    if (holding === undefined || source === undefined) return;
    const decoder = holding;
    holding = undefined;
    attempt(heldProtocol, source, () => decoder.flush?.());
    settle(counts[heldProtocol]);
    judge(counts[heldProtocol]);
  };

  return {
    take(bytes, address, port, receivedAt = clock.now()) {
      if (isSessionEnd(bytes, port)) {
        exporters.find(senderAddress(address))?.endSession(port);
        return;
      }
      const protocol = protocolOf(bytes);
      const of = counts[protocol];
      of.datagrams++;
      of.bytes += bytes.length;
      const decoder = off.has(protocol) ? undefined : decoders[protocol];
      if (decoder === undefined) {
        // No exporter is made of a sender that was not understood.
        const reason = protocol === "unknown" ? "unknown_protocol" : off.has(protocol) ? "disabled" : "unsupported";
        drop(of, reason, { protocol, exporter: senderAddress(address), bytes: bytes.length });
        return;
      }
      const exporter = exporters.get(senderAddress(address), receivedAt);
      if (holding !== undefined && (holding !== decoder || source !== exporter)) passOn();
      traffic.at(receivedAt);
      options.questions?.heard(exporter, receivedAt);
      exporter.lastSeen = receivedAt;
      exporter.datagrams++;
      ends.begin(receivedAt);
      if (holding === undefined) {
        sender = exporter;
        before.records = recordsOf(of);
        before.faults = faults;
      }
      decode(protocol, exporter, (output) => decoder.decode({ bytes, port, receivedAt }, exporter, output));
      if (decoder.flush === undefined) judge(of);
      else {
        holding = decoder;
        heldProtocol = protocol;
      }
      if (lines.byteLength >= severalBytes) handOver();
    },
    flush() {
      passOn();
      handOver();
    },
    release(exporter) {
      exporter.heldUntil = 0;
      if (!exporter.isWaiting()) return;
      passOn();
      const now = clock.now();
      traffic.at(now);
      ends.begin(now);
      for (const protocol of protocols) {
        const decoder = decoders[protocol];
        if (decoder?.replay !== undefined)
          decode(protocol, exporter, (output) => decoder.replay?.(exporter, output, now));
      }
      handOver();
    },
  };
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
