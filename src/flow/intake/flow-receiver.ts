import type { Socket } from "node:dgram";
import { once } from "node:events";
import { limitLog, type Clock, type Component, type Counter, type Log, type Metrics } from "../../base/report/index.ts";
import { askReceiveBuffer, openSocket, registerSocketMetrics, type OpenPort } from "./socket.ts";
import { StreamReceiver, type StreamCredentials, type StreamLimits, type StreamPort } from "./stream-receiver.ts";
import type { OfferMessage } from "./tcp-session.ts";

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

/** The sockets and connections of the flow ports. Its start fails with a FlowListenError when a port cannot be opened. */
export class FlowReceiver implements Component {
  readonly name = "flow receiver";
  readonly #options: FlowReceiverOptions;
  readonly #limited: Log;
  readonly #open: (OpenPort & { readonly socket: Socket })[] = [];
  readonly #streams: StreamReceiver;
  readonly #socketErrors: Counter;

  constructor(options: FlowReceiverOptions) {
    const { metrics, log, clock, offer, streams } = options;
    this.#options = options;
    this.#limited = limitLog(log, clock);
    this.#streams = new StreamReceiver({
      ports: streams?.ports ?? [],
      limits: streams ?? { maxConnections: 0, maxPerHost: 0, idleMs: 0 },
      offer,
      limited: this.#limited,
      log,
      metrics,
      clock,
    });
    registerSocketMetrics(metrics, () => this.#open);
    this.#socketErrors = metrics.counter("netgloss_flow_socket_errors_total", "Errors on the sockets of flow ports.");
  }

  async start(): Promise<void> {
    try {
      for (const port of this.#options.ports) await this.#listen(port);
      await this.#streams.start();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    const sockets = this.#open.splice(0).map(({ socket }) => {
      const closed = once(socket, "close");
      socket.close();
      return closed;
    });
    await Promise.all([...sockets, this.#streams.stop()]);
  }

  /** The ports of UDP that are open, in the order given. */
  ports(): readonly number[] {
    return this.#open.map(({ port }) => port);
  }

  /** Those of TCP and TLS. */
  streamPorts(): readonly number[] {
    return this.#streams.ports();
  }

  /** Closes connections whose templates were lost, so that their exporters connect and send them again. */
  closeSessions(which: (address: string) => boolean): void {
    this.#streams.closeSessions(which);
  }

  /** For handshakes from now on, on all ports of TLS. */
  setCredentials(credentials: StreamCredentials): void {
    this.#streams.setCredentials(credentials);
  }

  async #listen(wanted: number): Promise<void> {
    const { ip, take, receiveBufferBytes, log } = this.#options;
    const socket = await openSocket(ip, wanted);
    const { port, address } = socket.address();
    socket.on("message", (bytes, sender) => take(bytes, sender.address, sender.port));
    socket.on("error", (error) => {
      this.#socketErrors.add();
      this.#limited.error({ port, error }, "error on the socket of a flow port");
    });
    const receiveBuffer = askReceiveBuffer(socket, receiveBufferBytes, log);
    this.#open.push({ socket, port, receiveBuffer });
    log.info({ address, port, receiveBuffer }, "receiving flows");
  }
}
