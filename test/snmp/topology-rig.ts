import type { TestContext } from "node:test";
import { createMetrics } from "../../src/base/report/index.ts";
import { Pacer } from "../../src/snmp/limits.ts";
import type { PolledObject } from "../../src/snmp/poller/poll-plan.ts";
import { Topology, type LinkView } from "../../src/snmp/topology/topology.ts";
import type { LabDevice } from "./topology-lab.ts";

export type { LinkView, Topology };

/** A topology on its own, with a clock that tests move, and what it writes. */
export interface Rig {
  readonly topology: Topology;
  readonly records: Record<string, unknown>[];
  /** Neighbors and links that the last inference did not look at. */
  readonly leftOut: () => Promise<number>;
  /** @param isWhole false: the polls were cut short. */
  readonly say: (device: LabDevice, isWhole?: boolean, boot?: number) => void;
  /** Lets the links be inferred. */
  readonly pass: (ms: number) => Promise<void>;
}

export function rigOf(t: TestContext): Rig {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 1_800_000_000_000;
  const clock = { now: () => now, monotonic: () => performance.now() };
  const records: Record<string, unknown>[] = [];
  const sink = {
    write(lines: Uint8Array) {
      for (const line of Buffer.from(lines).toString().trim().split("\n")) records.push(JSON.parse(line));
    },
  };
  const metrics = createMetrics();
  const topology = new Topology({ enrich() {} }, sink, new Pacer(clock), { clock, metrics });
  return {
    topology,
    leftOut: async () => Number(/^netgloss_snmp_topology_left_out (\d+)$/m.exec(await metrics.render())?.[1]),
    records,
    say({ id, ip, name, tables }, isWhole = true, boot = 0) {
      for (const [object, rows] of tables) {
        const polled = topology.begin(id, { ip, name, boot }, { id: object, name: object } as PolledObject);
        for (const row of rows) polled?.add(row);
        polled?.end(isWhole);
      }
    },
    async pass(ms) {
      now += ms;
      t.mock.timers.tick(ms);
      await topology.idle();
    },
  };
}

type End = LinkView["a"];
const endText = ({ device, port }: End): string => `${device}|${port?.index ?? "?"}`;
export const linkText = ({ a, b }: LinkView): string => [endText(a), endText(b)].sort().join(" ");
