import {
  dropReasons,
  setKinds,
  templateChanges,
  type DropReason,
  type SetKind,
  type TemplateChange,
} from "./wire/decoder/decoder.ts";
import { protocols, type Protocol } from "./protocol.ts";

/** What happened to the datagrams of one protocol so far. Plain numbers, because counting is part of the hot path. */
export interface ProtocolCounts {
  datagrams: number;
  bytes: number;
  flows: number;
  options: number;
  counters: number;
  /** Records that name another exporter than their sender, which is no relay. */
  claims: number;
  /** Sampling rates that cannot be, with each record that says one. */
  doubtedRates: number;
  readonly sets: Record<SetKind, number>;
  readonly templates: Record<TemplateChange, number>;
  readonly drops: Record<DropReason, number>;
  /** Data sets that came before their template. */
  waited: number;
  /** Data sets that were held until other collectors had been asked. */
  held: number;
  /** Sets that waited and were decoded when their template came. */
  replayed: number;
  /** Units missing by sequence numbers. */
  missing: number;
  /** Of these, units that came late or never were missing. */
  recovered: number;
  late: number;
  /** Samples missing by the numbers of their data sources; of these, samples that came late. */
  samplesMissing: number;
  samplesRecovered: number;
  /** Samples that agents say they dropped. */
  samplerDrops: number;
  resets: number;
}

export type FlowCounts = Readonly<Record<Protocol, ProtocolCounts>>;

export function createFlowCounts(): FlowCounts {
  return zeros(protocols, () => ({
    datagrams: 0,
    bytes: 0,
    flows: 0,
    options: 0,
    counters: 0,
    claims: 0,
    doubtedRates: 0,
    sets: zeros(setKinds, () => 0),
    templates: zeros(templateChanges, () => 0),
    drops: zeros(Object.keys(dropReasons) as DropReason[], () => 0),
    waited: 0,
    held: 0,
    replayed: 0,
    missing: 0,
    recovered: 0,
    late: 0,
    samplesMissing: 0,
    samplesRecovered: 0,
    samplerDrops: 0,
    resets: 0,
  }));
}

function zeros<Name extends string, T>(names: readonly Name[], zero: () => T): Record<Name, T> {
  return Object.fromEntries(names.map((name) => [name, zero()])) as Record<Name, T>;
}
