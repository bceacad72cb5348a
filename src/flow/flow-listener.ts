import type { Socket } from "node:dgram";
import { once } from "node:events";
import { limitLog, type Component, type Health } from "../report/index.ts";
import type { ExporterView } from "./exporter/exporter-view.ts";
import { createFlowPipeline, type FlowPipelineOptions } from "./flow-pipeline.ts";
import { openSocket } from "./net/open-socket.ts";
import { askReceiveBuffer } from "./net/receive-buffer.ts";
import { registerSocketMetrics, type OpenPort } from "./net/socket-metrics.ts";

export interface FlowListenerOptions extends FlowPipelineOptions {
  /** The address to bind; empty is all: `::` for both families, `0.0.0.0` on a host without IPv6. */
  readonly ip: string;
  /** Each takes every protocol. 0 lets the system choose. */
  readonly ports: readonly number[];
  /** The receive buffer asked for on each port. */
  readonly receiveBufferBytes: number;
  readonly health: Health;
}

export interface FlowListener extends Component {
  /** The ports that are open, in the order given. */
  ports(): readonly number[];
  /** All exporters heard of, the one silent for longest first. */
  exporters(): readonly ExporterView[];
}

const checkName = "flow";
const tidyEveryMs = 60_000;

interface Listening extends OpenPort {
  readonly socket: Socket;
}

/**
 * Receives NetFlow v5, v9 and IPFIX by UDP and writes a line for every flow to the sink. Its start fails with a
 * FlowListenError when a port cannot be opened.
 */
export function createFlowListener(options: FlowListenerOptions): FlowListener {
  const { ip, ports, receiveBufferBytes, metrics, clock, health, log } = options;
  const pipeline = createFlowPipeline(options);
  const limited = limitLog(log, clock);
  const open: Listening[] = [];
  let timer: NodeJS.Timeout | undefined;

  health.set({ name: checkName, ready: false, detail: "not listening yet" });
  registerSocketMetrics(metrics, () => open);
  const socketErrors = metrics.counter("netgloss_flow_socket_errors_total", "Errors on the sockets of flow ports.");

  const listen = async (wanted: number): Promise<void> => {
    const socket = await openSocket(ip, wanted);
    const { port, address } = socket.address();
    socket.on("message", (bytes, sender) => pipeline.process(bytes, sender.address, sender.port));
    socket.on("error", (error) => {
      socketErrors.add();
      limited.error({ port, error }, "error on the socket of a flow port");
    });
    const receiveBuffer = askReceiveBuffer(socket, receiveBufferBytes, log);
    open.push({ socket, port, receiveBuffer });
    log.info({ address, port, receiveBuffer }, "receiving flows");
  };

  const close = async (): Promise<void> => {
    clearInterval(timer);
    await Promise.all(
      open.splice(0).map(({ socket }) => {
        const closed = once(socket, "close");
        socket.close();
        return closed;
      }),
    );
  };

  return {
    name: "flow listener",
    async start() {
      try {
        for (const port of ports) await listen(port);
      } catch (error) {
        await close();
        throw error;
      }
      timer = setInterval(() => pipeline.tidy(), tidyEveryMs);
      timer.unref();
      health.set({ name: checkName, ready: true });
    },
    async stop() {
      health.set({ name: checkName, ready: false, detail: "stopped" });
      await close();
    },
    ports: () => open.map(({ port }) => port),
    exporters: () => pipeline.exporters(),
  };
}
