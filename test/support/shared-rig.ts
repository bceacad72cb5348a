import {
  type ExporterState,
  type FlowPipelineOptions,
  readExporterState,
  writeExporterState,
} from "../../src/flow/index.ts";
import { createFlowRig, parseLines, type FlowRig, type Json } from "./flow-rig.ts";

/** A collector of a fleet, without sockets and database. */
export interface SharedCollector {
  readonly rig: FlowRig;
  /** What it wrote so far. */
  readonly records: Json[];
  send(datagram: Buffer, from?: { readonly address?: string; readonly port?: number }): void;
}

export interface SharedRig {
  readonly collectors: readonly SharedCollector[];
  /** What the fleet has been asked so far. */
  readonly asked: string[];
  /** What each collector wrote, by its number and the key of the exporter. */
  readonly rows: Map<string, { readonly by: number; readonly text: string }>;
  /** Lets time pass, in steps in which each collector writes what is new and asks. */
  pass(ms: number): void;
  /** Its rows stay. */
  kill(collector: number): void;
  /** Nobody answers meanwhile. */
  isAway: boolean;
}

export const stepMs = 200;

/** Pipelines that share what exporters say as collectors of a fleet do. */
export function createSharedRig(count: number, options: Partial<FlowPipelineOptions> = {}): SharedRig {
  const asked: string[] = [];
  const rows: SharedRig["rows"] = new Map();
  const killed = new Set<number>();
  const collectors = Array.from({ length: count }, (): SharedCollector => {
    const records: Json[] = [];
    const sink = { write: (lines: Uint8Array) => void records.push(...parseLines(lines)) };
    const rig = createFlowRig({ ...options, isShared: true, sink });
    return { rig, records, send: (datagram, from) => void rig.send(datagram, from) };
  });
  const stateOf = (text: string): readonly ExporterState[] => {
    const state = readExporterState(JSON.parse(text));
    return state === undefined ? [] : [state];
  };
  const share = (collector: SharedCollector, by: number): void => {
    const { pipeline } = collector.rig;
    const report = pipeline.exportState("changed");
    if (!shared.isAway) {
      for (const key of report.forgotten) rows.delete(`${by} ${key}`);
      for (const state of report.changed) rows.set(`${by} ${state.address}`, { by, text: writeExporterState(state) });
      for (const [key, lastSeen] of report.heard) {
        const row = rows.get(`${by} ${key}`);
        if (row === undefined) continue;
        const text = writeExporterState({ ...(stateOf(row.text)[0] as ExporterState), lastSeen });
        rows.set(`${by} ${key}`, { by, text });
      }
    }
    if (report.asked.length === 0) return;
    asked.push(...report.asked);
    const states = [...rows.values()].flatMap(({ text }) => stateOf(text));
    const found = shared.isAway ? [] : states.filter(({ address, relay }) => report.asked.includes(relay ?? address));
    pipeline.importShared({ asked: report.asked, states: found });
  };
  const shared: SharedRig = {
    collectors,
    asked,
    rows,
    isAway: false,
    kill: (collector) => void killed.add(collector),
    pass(ms) {
      for (let passed = 0; passed < ms; passed += stepMs) {
        for (const { rig } of collectors) rig.time += stepMs;
        collectors.forEach((collector, by) => !killed.has(by) && share(collector, by));
      }
    },
  };
  return shared;
}
