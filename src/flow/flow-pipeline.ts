import type { Enricher, Sink, ShapeLines, AllocateSlab, Workspace } from "../record/index.ts";
import type { SamplingRates, RatesFile } from "./exporters/sampling/manual-rates.ts";
import type { Applications } from "./exporters/options/name-table.ts";
import type { FlowEndsOptions } from "./line/roles/flow-ends.ts";
import type { CustomElement } from "./elements/custom/custom-element.ts";
import type { Protocol } from "./protocol.ts";
import type { SflowSamples } from "./wire/sflow/sflow-decoder.ts";
import type { Limits } from "./exporters/limits/limits.ts";
import type { Filter } from "../filter/index.ts";
import type { Log, Metrics, Clock } from "../report/index.ts";
import type { StateReport, ExporterState } from "./exporters/state/exporter-state.ts";
import type { SharedAnswer } from "./exporters/state/shared-exporters.ts";
import type { SenderStanding } from "./intake/ring/ring-layout.ts";
import type { ExporterView } from "./exporters/exporter-view.ts";
import type { ExporterTraffic } from "./exporters/interface-traffic.ts";

export interface FlowPipelineOptions {
  readonly enricher: Enricher;
  readonly sink: Sink;
  /** Sampling rates by exporter address or CIDR in canonical text; they win over what exporters say. */
  readonly samplingRates?: SamplingRates;
  /** The same from a file that may change; undefined while there is none. */
  readonly samplingFile?: (() => RatesFile | undefined) | undefined;
  /** What the operator says of applications by their ids; undefined while there is nothing. */
  readonly applications?: (() => Applications | undefined) | undefined;
  /** Whether records get `flow.community.id`; it costs about a tenth of a microsecond each. */
  readonly communityId: boolean;
  /** Of sixteen bits. Default 0, as other tools have it. */
  readonly communityIdSeed?: number;
  /** What is said of both ends of a flow together: client and server, identifiers, joined fields. Left out: nothing. */
  readonly ends?: FlowEndsOptions | undefined;
  /** Whether records of options data (interface names, sampling) leave like flows. Default false: they are only read. */
  readonly optionsRecords?: boolean;
  /** Whether the plain names of counters are those of the estimates by the sampling rate. Default true. */
  readonly scaleCounters?: boolean;
  /** Whether a record of both directions of a biflow becomes one of each. Default false: it stays one. */
  readonly splitBiflows?: boolean;
  /** Elements in addition to those of the registries, checked by `readElements`. */
  readonly elements?: readonly CustomElement[];
  /** Protocols whose datagrams are counted and not decoded. Default: none. */
  readonly protocolsOff?: readonly Protocol[];
  /** Which samples of sFlow become records. Default: both. */
  readonly sflowSamples?: SflowSamples;
  readonly limits?: Partial<Limits>;
  /**
   * Whether other collectors are asked about exporters that are new here, come back, or of which data sets wait: the addresses are in what
   * `exportState` gives, which is then to be called several times a second; the answers come by `importShared`. Default false.
   */
  readonly isShared?: boolean;
  /** Addresses and CIDRs in canonical text of senders whose records may name other exporters. Default: none. */
  readonly relays?: readonly string[];
  /** Whether it is added up what passes the interfaces of an exporter, given by its address. Left out: of none. */
  readonly isMeasured?: ((address: string) => boolean) | undefined;
  /** Changes lines before they leave; left out: they stay as they are. */
  readonly shape?: ShapeLines | undefined;
  /** Only records that match it become lines. Left out: all. */
  readonly filter?: Filter | undefined;
  /** Templates that were not received again within this time are forgotten. Default 0: never. */
  readonly templateTtlMs?: number;
  /** Where the lines are to lie: in the workspace, if they are to be written fast. Left out: in memory of their own. */
  readonly allocate?: AllocateSlab;
  /** Where records are decoded, unless the enricher has its tables in one; left out: in one of its own. */
  readonly workspace?: Workspace | undefined;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** From datagrams to lines, without the sockets: everything that one thread needs to decode flows. */
export interface FlowPipeline {
  /**
   * Takes a datagram of any protocol. Whatever its bytes are, this does not throw; what cannot be decoded is counted.
   * The lines of its records are with the sink when the call returns.
   *
   * @param bytes are not kept.
   * @param address of the sender, as a socket gives it.
   * @param receivedAt milliseconds since the epoch; left out: now.
   */
  process(bytes: Buffer, address: string, port: number, receivedAt?: number): void;
  /** The same of one of several datagrams: their lines are with the sink after the next call of {@link FlowPipeline.flush}. */
  take(bytes: Buffer, address: string, port: number, receivedAt?: number): void;
  flush(): void;
  /** How an exporter stands where not all have room. @param address as a socket gives it. */
  standing(address: string): SenderStanding;
  /** Forgets what has become too old: sets that wait, templates, silent exporters. To be called every {@link tidyEveryMs}. */
  tidy(): void;
  /**
   * What exporters said once and what happened to it since the last call: all that a later run needs to decode from
   * its first datagram on.
   *
   * @param which `all`: as if everything had changed.
   */
  exportState(which: "changed" | "all"): StateReport;
  /**
   * Takes what earlier runs knew, before the first datagram. What is known already stands.
   *
   * @param states of the exporters that this pipeline is responsible for.
   */
  importState(states: readonly ExporterState[]): void;
  /** Takes what other collectors know of senders that `exportState` asked about, and decodes what waited for it. */
  importShared(answer: SharedAnswer): void;
  /** All exporters heard of, the one silent for longest first. */
  exporters(): readonly ExporterView[];
  /** What passed the interfaces of those that are measured, by whole minutes. */
  traffic(): readonly ExporterTraffic[];
}

export const tidyEveryMs = 60_000;
