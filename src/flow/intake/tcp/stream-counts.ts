import type { Labels, Metrics } from "../../../base/report/index.ts";

export const transports = ["tcp", "tls"] as const;
export type Transport = (typeof transports)[number];

/** Why a connection ended, and what the log says of it. */
export const closeReasons = {
  peer: "the exporter closed it",
  cut_message: "the exporter closed it within a message",
  error: "an error of the connection",
  bad_version: "the version of a message is not 10; only IPFIX is received by TCP",
  bad_length: "the length of a message is shorter than its header",
  idle: "nothing came within SVC_FLOW_SERVER_TCP_IDLE_TIMEOUT",
  slow_message: "a message was not complete in time",
  limit: "SVC_FLOW_SERVER_TCP_MAX_CONNECTIONS are open",
  host_limit: "SVC_FLOW_SERVER_TCP_MAX_CONNECTIONS_PER_HOST are open from this host",
  handshake: "the TLS handshake failed",
  thread_restart: "the thread that decodes its flows was started again and does not know its templates",
  stopped: "the collector stops",
} as const;
export type CloseReason = keyof typeof closeReasons;

/** What is counted of the connections of one transport. */
export interface StreamCounts {
  open: number;
  opened: number;
  messages: number;
  pauses: number;
  /** Bytes received and never handed over. */
  lost: number;
  readonly closed: Record<CloseReason, number>;
}

export function createStreamCounts(): Readonly<Record<Transport, StreamCounts>> {
  const create = (): StreamCounts => {
    const closed = Object.fromEntries(Object.keys(closeReasons).map((reason) => [reason, 0]));
    return { open: 0, opened: 0, messages: 0, pauses: 0, lost: 0, closed: closed as StreamCounts["closed"] };
  };
  return { tcp: create(), tls: create() };
}

/** @param held bytes that the connections hold now. */
export function registerStreamMetrics(
  metrics: Metrics,
  counts: Readonly<Record<Transport, StreamCounts>>,
  held: () => number,
): void {
  const each = (read: (of: StreamCounts) => number) => (): (readonly [Labels, number])[] =>
    transports.map((transport) => [{ transport }, read(counts[transport])] as const);
  const counter = (name: string, help: string, read: (of: StreamCounts) => number): void =>
    metrics.counterFrom(name, help, ["transport"], each(read));

  metrics.gaugeFrom(
    "netgloss_flow_stream_connections",
    "Connections of exporters that are open.",
    ["transport"],
    each(({ open }) => open),
  );
  counter("netgloss_flow_stream_connections_total", "Connections accepted.", ({ opened }) => opened);
  counter("netgloss_flow_stream_messages_total", "IPFIX messages received by connections.", (of) => of.messages);
  counter(
    "netgloss_flow_stream_pauses_total",
    "How often a connection was not read because decoding was behind.",
    ({ pauses }) => pauses,
  );
  counter(
    "netgloss_flow_stream_lost_bytes_total",
    "Bytes that were received by connections and are no whole message, or came after a fault.",
    ({ lost }) => lost,
  );
  metrics.gaugeFrom("netgloss_flow_stream_held_bytes", "Bytes received by connections and not handed over.", [], held);
  metrics.counterFrom(
    "netgloss_flow_stream_closed_total",
    "Connections that ended or were refused, by reason.",
    ["transport", "reason"],
    () =>
      transports.flatMap((transport) =>
        Object.entries(counts[transport].closed).map(([reason, count]) => [{ transport, reason }, count] as const),
      ),
  );
}
