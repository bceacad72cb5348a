import type { Facts } from "../../src/app/doctor/facts.ts";
import type { DeviceCounters } from "../../src/snmp/index.ts";
import {
  dataSet,
  fields,
  ipv4,
  netflow9,
  netflow9Templates,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createFlowRig, type FlowRig } from "../support/flow-rig.ts";

const minute = 60_000;
const minutes = 16;
const device = "192.0.2.254";

export interface MeasuredCase {
  /** Bytes of IP packets that really pass each interface in a minute. Default 600 MB. */
  readonly perMinute?: number;
  /** Of packets, and of their frames. */
  readonly size?: number;
  readonly frame?: number;
  /** One packet in this many is looked at, and what the exporter says of that; undefined: nothing. */
  readonly inForce?: number;
  readonly announced?: number;
  /** What the exporter's counters are wrong by. */
  readonly factor?: number;
  /** Minutes from which on they are right. */
  readonly until?: number;
  /** By element 61 of each report of a flow: 0 ingress, 1 egress, undefined where records do not have it. */
  readonly seen?: readonly (number | undefined)[];
  /** Whether traffic goes both ways. */
  readonly both?: boolean;
  readonly pollMinutes?: number;
}

/** A device with two interfaces, 1 and 2, whose counters are read each minute or two: what passes from 1 to 2, and back. */
export function measuredFacts(of: MeasuredCase, factsOf: (rig: FlowRig, changes: Partial<Facts>) => Facts): Facts {
  const { perMinute = 600e6, size = 1000, frame = size + 18, inForce = of.announced ?? 1, announced } = of;
  const { factor = 1, until = minutes, seen = [0], both = false, pollMinutes = 2 } = of;
  const rig = createFlowRig({ isMeasured: (address) => address === device });
  rig.time -= rig.time % minute;
  const template: PacketTemplate = {
    id: 270,
    fields: fields([8, 4], [12, 4], [4, 1], [10, 4], [14, 4], [1, 8], [2, 8], [34, 4]),
  };
  const directed: PacketTemplate = { id: 271, fields: [...template.fields, ...fields([61, 1])] };
  const ways = both
    ? ([
        [1, 2],
        [2, 1],
      ] as const)
    : ([[1, 2]] as const);
  const start = rig.time;
  for (let sequence = 0; sequence < 2 * minutes; sequence++) {
    const wrong = sequence < 2 * until ? factor : 1;
    const octets = Math.round((wrong * perMinute) / 2 / inForce);
    const records = seen.flatMap((direction) =>
      ways.map(([from, to]) =>
        dataSet(direction === undefined ? template : directed, [
          ipv4("10.0.0.1"),
          ipv4("10.0.0.2"),
          uint(17, 1),
          uint(from, 4),
          uint(to, 4),
          uint(octets, 8),
          uint(Math.round(octets / size), 8),
          uint(announced ?? 1, 4),
          ...(direction === undefined ? [] : [uint(direction, 1)]),
        ]),
      ),
    );
    const seconds = Math.floor(rig.time / 1000);
    rig.send(netflow9([netflow9Templates(template), netflow9Templates(directed), ...records], { sequence, seconds }));
    rig.time += minute / 2;
  }
  const framesPerMinute = (perMinute / size) * frame;
  const reading = (at: number): DeviceCounters["interfaces"][number]["readings"][number] => {
    const counted = 5e12 + ((at - start) / minute) * framesPerMinute;
    return { at, in: counted, out: counted };
  };
  const polls = Math.floor(minutes / pollMinutes);
  const readings = Array.from({ length: polls }, (_, i) => reading(start + i * pollMinutes * minute + 20_000));
  const counters: DeviceCounters = {
    device: `${device}:161`,
    interfaces: ["ge-0/0/1", undefined].map((name, i) => ({ index: i + 1, name, readings })),
  };
  const measured = rig.pipeline.traffic().map((traffic) => ({ traffic, counters }));
  return factsOf(rig, { measured });
}
