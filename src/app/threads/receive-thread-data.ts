import type { RingHandle, StreamOptions } from "../../flow/index.ts";
import type { LogLevel } from "../../base/report/index.ts";

/** What the receiving thread is given. */
export interface ReceiveThreadData {
  readonly ip: string;
  readonly ports: readonly number[];
  readonly receiveBufferBytes: number;
  /** Connections of exporters; absent: none. */
  readonly streams: StreamOptions | undefined;
  /** By the number of the decoding thread. */
  readonly rings: readonly RingHandle[];
  readonly logLevel: LogLevel;
}

/** What the receiving thread answers to its start. */
export interface OpenPorts {
  readonly ports: readonly number[];
  readonly streamPorts: readonly number[];
}

/** The receiving thread says that a decoding thread, which sleeps, has something in its ring. */
export interface WakeNote {
  readonly wake: number;
}
