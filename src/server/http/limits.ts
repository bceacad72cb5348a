/** Bounds on what a client may take. Times in milliseconds. */
export interface ApiLimits {
  /** From the opening of a connection, or the first byte of a further request, to the end of the header. */
  readonly headersTimeout: number;
  /** From the first byte of a request to the end of its body. */
  readonly requestTimeout: number;
  /** How long a connection without a request is kept. */
  readonly idleTimeout: number;
  /** How long an answer may wait for the client to take a further byte. */
  readonly stallTimeout: number;
  /** How long a request may take in all; the watching of health is free of it. */
  readonly lifetime: number;
  /** How long `stop` waits for what runs before it cuts connections. */
  readonly stopTimeout: number;
  readonly maxConnections: number;
  /** Requests at a time on one HTTP/2 connection. */
  readonly maxStreams: number;
  readonly maxHeaderBytes: number;
  /** Requests at a time of one client, by all of its connections. */
  readonly maxClientRequests: number;
  /** HTTP/2 pings, settings and cancelled requests on one connection in ten seconds. */
  readonly maxControlFrames: number;
  /** The same for all connections of one client. */
  readonly maxClientControlFrames: number;
  /** Request bodies held in memory at a time, as they were sent and unpacked, all clients together; two of the longest in any case. */
  readonly maxHeldBytes: number;
  /** What is made of the lists in them, about: five times the longest body in any case, and room for the largest batch. */
  readonly maxMadeBytes: number;
  /** The longest message of gRPC and gRPC-Web; more than the length in an envelope cannot say. */
  readonly maxMessageBytes: number;
  /** How old the metrics may be that are shown: they are rendered no more often, whoever asks. */
  readonly metricsAge: number;
  /** Clients that watch health at a time. */
  readonly maxWatchers: number;
  /** Bytes of changes of the metadata that clients who follow them, and are behind, have not taken. */
  readonly maxWatchedBytes: number;
}

export const defaultApiLimits: ApiLimits = {
  headersTimeout: 10_000,
  requestTimeout: 120_000,
  idleTimeout: 120_000,
  stallTimeout: 30_000,
  lifetime: 900_000,
  stopTimeout: 5_000,
  maxConnections: 2_000,
  maxStreams: 100,
  maxHeaderBytes: 16_384,
  maxClientRequests: 2_000,
  maxControlFrames: 500,
  maxClientControlFrames: 1_000,
  maxHeldBytes: 134_217_728,
  maxMadeBytes: 335_544_320,
  maxMessageBytes: 0xffff_ffff,
  metricsAge: 1_000,
  maxWatchers: 1_000,
  maxWatchedBytes: 67_108_864,
};
