import type { Address } from "../../base/ip/index.ts";

/** One direction of one conversation, as an exporter accounts for it. Times are milliseconds since the epoch. */
export interface DemoFlow {
  readonly source: Address;
  readonly destination: Address;
  readonly sourcePort: number;
  readonly destinationPort: number;
  /** 6 is TCP, 17 UDP. */
  readonly protocol: number;
  readonly tcpFlags: number;
  readonly packets: number;
  readonly bytes: number;
  readonly start: number;
  readonly end: number;
  readonly inputInterface: number;
  readonly outputInterface: number;
}
