import type { Socket } from "node:dgram";
import { once } from "node:events";
import { limitLog, type Clock, type Component, type Log, type Metrics } from "../../base/report/index.ts";
import { openSocket } from "./socket.ts";
import { askReceiveBuffer } from "./socket.ts";
import { registerSocketMetrics, type OpenPort } from "./socket.ts";
import type { OfferMessage } from "./tcp-session.ts";
import { createStreamReceiver, type StreamLimits, type StreamPort, type StreamReceiver } from "./stream-receiver.ts";

/** Connections by which exporters send IPFIX. */
export interface StreamOptions extends StreamLimits {
  readonly ports: readonly StreamPort[];
}

export interface FlowReceiverOptions {
  /** The address to bind; empty is all: `::` for both families, `0.0.0.0` on a host without IPv6. */
  readonly ip: string;
  /** Each takes every protocol. 0 lets the system choose. */
  readonly ports: readonly number[];
  /** The receive buffer asked for on each port. */
  readonly receiveBufferBytes: number;
  /** Takes a datagram with its sender's address and port as the socket gives them. Must not throw. */
  readonly take: (bytes: Buffer, address: string, port: number) => void;
  /** Ports for TCP and TLS; left out: none. */
  readonly streams?: StreamOptions | undefined;
  /** Takes a message of a connection, or has it wait. Must not throw. */
  readonly offer: OfferMessage;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

export interface FlowReceiver extends Component, Pick<StreamReceiver, "closeSessions" | "setCredentials"> {
  /** The ports of UDP that are open, in the order given. */
  ports(): readonly number[];
  /** Those of TCP and TLS. */
  streamPorts(): readonly number[];
}

interface Listening extends OpenPort {
  readonly socket: Socket;
}

/** The sockets and connections of the flow ports. Its start fails with a FlowListenError when a port cannot be opened. */
export function createFlowReceiver(options: FlowReceiverOptions): FlowReceiver {
  const { ip, ports, receiveBufferBytes, take, metrics, log } = options;
  const limited = limitLog(log, options.clock);
  const open: Listening[] = [];
  const streams = createStreamReceiver({
    ports: options.streams?.ports ?? [],
    limits: options.streams ?? { maxConnections: 0, maxPerHost: 0, idleMs: 0 },
    offer: options.offer,
    limited,
    log,
    metrics,
    clock: options.clock,
  });

  registerSocketMetrics(metrics, () => open);
  const socketErrors = metrics.counter("netgloss_flow_socket_errors_total", "Errors on the sockets of flow ports.");

  const listen = async (wanted: number): Promise<void> => {
    const socket = await openSocket(ip, wanted);
    const { port, address } = socket.address();
    socket.on("message", (bytes, sender) => take(bytes, sender.address, sender.port));
    socket.on("error", (error) => {
      socketErrors.add();
      limited.error({ port, error }, "error on the socket of a flow port");
    });
    const receiveBuffer = askReceiveBuffer(socket, receiveBufferBytes, log);
    open.push({ socket, port, receiveBuffer });
    log.info({ address, port, receiveBuffer }, "receiving flows");
  };

  const close = async (): Promise<void> => {
    const sockets = open.splice(0).map(({ socket }) => {
      const closed = once(socket, "close");
      socket.close();
      return closed;
    });
    await Promise.all([...sockets, streams.stop()]);
  };

  return {
    name: "flow receiver",
    async start() {
      try {
        for (const port of ports) await listen(port);
        await streams.start();
      } catch (error) {
        await close();
        throw error;
      }
    },
    stop: close,
    ports: () => open.map(({ port }) => port),
    streamPorts: () => streams.ports(),
    closeSessions: (which) => streams.closeSessions(which),
    setCredentials: (credentials) => streams.setCredentials(credentials),
  };
}
