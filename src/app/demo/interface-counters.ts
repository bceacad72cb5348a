import type { DemoFlow } from "./demo-flow.ts";

/** What the interfaces of the simulated routers carried: as SNMP says it, so that it agrees with their flows. */
export interface InterfaceCounters {
  /** Counts what an exporter accounts for, also where its datagram is lost. */
  add(exporter: string, flows: readonly DemoFlow[]): void;
  /** Bytes into and out of an interface since the start. */
  bytes(exporter: string, index: number): { readonly into: number; readonly outOf: number };
}

export function createInterfaceCounters(): InterfaceCounters {
  const into = new Map<string, number>();
  const outOf = new Map<string, number>();
  const add = (sums: Map<string, number>, key: string, bytes: number): void =>
    void sums.set(key, (sums.get(key) ?? 0) + bytes);
  return {
    add(exporter, flows) {
      for (const { bytes, inputInterface, outputInterface } of flows) {
        add(into, `${exporter} ${inputInterface}`, bytes);
        add(outOf, `${exporter} ${outputInterface}`, bytes);
      }
    },
    bytes(exporter, index) {
      const key = `${exporter} ${index}`;
      return { into: into.get(key) ?? 0, outOf: outOf.get(key) ?? 0 };
    },
  };
}
