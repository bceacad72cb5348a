import { netflow5 } from "../../packages/testkit/index.ts";

export interface NetflowV5Record {
  readonly source: string;
  readonly destination: string;
  readonly packets?: number;
  readonly bytes?: number;
}

const noRoute = { as: [0, 0], prefixes: [0, 0], interfaces: [0, 0], nextHop: "0.0.0.0" } as const;

/** A NetFlow v5 datagram of UDP flows from port 1000 to port 53, made at `now` seconds. */
export function netflowV5Datagram(records: readonly NetflowV5Record[], sequence = 0, now = 1_700_000_000): Buffer {
  const flows = records.map(({ packets = 1, bytes = 100, ...addresses }) => ({
    ...addresses,
    packets,
    bytes,
    protocol: 17,
    tcpFlags: 0,
    ports: [1000, 53] as const,
    route: noRoute,
  }));
  return netflow5(flows, { sequence, seconds: now });
}
