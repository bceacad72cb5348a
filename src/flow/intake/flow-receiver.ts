import type { Socket } from "node:dgram";
import { once } from "node:events";
import { limitLog, type Clock, type Component, type Log, type Metrics } from "../../report/index.ts";
import { openSocket } from "./net/open-socket.ts";
import { askReceiveBuffer } from "./net/receive-buffer.ts";
import { registerSocketMetrics, type OpenPort } from "./net/socket-metrics.ts";

export interface FlowReceiverOptions {
  /** The address to bind; empty is all: `::` for both families, `0.0.0.0` on a host without IPv6. */
  readonly ip: string;
  /** Each takes every protocol. 0 lets the system choose. */
  readonly ports: readonly number[];
  /** The receive buffer asked for on each port. */
  readonly receiveBufferBytes: number;
  /** Takes a datagram with its sender's address and port as the socket gives them. Must not throw. */
  readonly take: (bytes: Buffer, address: string, port: number) => void;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

export interface FlowReceiver extends Component {
  /** The ports that are open, in the order given. */
  ports(): readonly number[];
}

interface Listening extends OpenPort {
  readonly socket: Socket;
}

/** The sockets of the flow ports. Its start fails with a FlowListenError when a port cannot be opened. */
export function createFlowReceiver(options: FlowReceiverOptions): FlowReceiver {
  const { ip, ports, receiveBufferBytes, take, metrics, log } = options;
  const limited = limitLog(log, options.clock);
  const open: Listening[] = [];

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
    await Promise.all(
      open.splice(0).map(({ socket }) => {
        const closed = once(socket, "close");
        socket.close();
        return closed;
      }),
    );
  };

  return {
    name: "flow receiver",
    async start() {
      try {
        for (const port of ports) await listen(port);
      } catch (error) {
        await close();
        throw error;
      }
    },
    stop: close,
    ports: () => open.map(({ port }) => port),
  };
}
