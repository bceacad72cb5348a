import type { Socket } from "node:dgram";
import { once } from "node:events";
import { createLineBuffer, type Enricher, type Sink } from "../record/index.ts";
import { limitLog, type Clock, type Component, type Health, type Log, type Metrics } from "../report/index.ts";
import { createDecoders } from "./decoders.ts";
import { createExporterTable } from "./exporter/exporter-table.ts";
import { viewExporter, type ExporterView } from "./exporter/exporter-view.ts";
import { defaultLimits, type Limits } from "./exporter/limits.ts";
import { createFlowCounts } from "./flow-counts.ts";
import { registerFlowMetrics } from "./flow-metrics.ts";
import { createFlowProcessor } from "./flow-processor.ts";
import { readKernelSockets } from "./net/kernel-socket.ts";
import { openSocket } from "./net/open-socket.ts";
import { askReceiveBuffer } from "./net/receive-buffer.ts";

export interface FlowListenerOptions {
  /** The address to bind; empty is all: `::` for both families, `0.0.0.0` on a host without IPv6. */
  readonly ip: string;
  /** Each takes every protocol. 0 lets the system choose. */
  readonly ports: readonly number[];
  /** The receive buffer asked for on each port. */
  readonly receiveBufferBytes: number;
  readonly enricher: Enricher;
  readonly sink: Sink;
  /** Sampling rates by exporter address in canonical text; they win over what exporters say. */
  readonly samplingRates?: ReadonlyMap<string, number>;
  /** Whether records get `flow.community.id`; it costs about a microsecond each. */
  readonly communityId: boolean;
  /** Whether records of options data (interface names, sampling) leave like flows. Default false: they are only read. */
  readonly optionsRecords?: boolean;
  readonly limits?: Partial<Limits>;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly health: Health;
}

export interface FlowListener extends Component {
  /** The ports that are open, in the order given. */
  ports(): readonly number[];
  /** All exporters heard of, the one silent for longest first. */
  exporters(): readonly ExporterView[];
}

const checkName = "flow";
const dropWaitingEveryMs = 60_000;
/** Exporters send their templates every half hour at the latest; after that a number may mean another template. */
const waitingMaxAgeMs = 30 * 60_000;

interface OpenPort {
  readonly socket: Socket;
  readonly port: number;
  readonly receiveBuffer: number;
}

/** Receives NetFlow v5, v9 and IPFIX by UDP and writes a line for every flow to the sink. */
export function createFlowListener(options: FlowListenerOptions): FlowListener {
  const { ip, ports, receiveBufferBytes, enricher, sink, metrics, clock, health, log } = options;
  const limits: Limits = { ...defaultLimits, ...options.limits };
  const counts = createFlowCounts();
  const exporters = createExporterTable(limits, options.samplingRates ?? new Map());
  const limited = limitLog(log, clock);
  const processor = createFlowProcessor({
    decoders: createDecoders(limits.fieldsPerTemplate),
    exporters,
    counts,
    enricher,
    lines: createLineBuffer(),
    sink,
    communityId: options.communityId,
    optionsRecords: options.optionsRecords ?? false,
    log: limited,
    clock,
  });
  const open: OpenPort[] = [];
  let socketErrors = 0;
  let timer: NodeJS.Timeout | undefined;

  health.set({ name: checkName, ready: false, detail: "not listening yet" });
  registerFlowMetrics(metrics, counts, exporters);
  registerSocketMetrics(metrics, open, () => socketErrors);

  const listen = async (wanted: number): Promise<void> => {
    const socket = await openSocket(ip, wanted);
    const { port, address } = socket.address();
    socket.on("message", (bytes, sender) => processor.process(bytes, sender.address, sender.port));
    socket.on("error", (error) => {
      socketErrors++;
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
      timer = setInterval(() => exporters.dropWaiting(clock.now() - waitingMaxAgeMs), dropWaitingEveryMs);
      timer.unref();
      health.set({ name: checkName, ready: true });
    },
    async stop() {
      health.set({ name: checkName, ready: false, detail: "stopped" });
      await close();
    },
    ports: () => open.map(({ port }) => port),
    exporters: () => Array.from(exporters.all(), viewExporter),
  };
}

function registerSocketMetrics(metrics: Metrics, open: readonly OpenPort[], socketErrors: () => number): void {
  metrics.gaugeFrom("netgloss_flow_receive_buffer_bytes", "Receive buffer that the kernel granted.", ["port"], () =>
    open.map(({ port, receiveBuffer }) => [{ port }, receiveBuffer] as const),
  );
  metrics.counterFrom(
    "netgloss_flow_kernel_drops_total",
    "Datagrams that the kernel dropped because the receive buffer was full.",
    ["port"],
    () => {
      const sockets = open.length === 0 ? undefined : readKernelSockets();
      return open.flatMap(({ port }) => {
        const socket = sockets?.get(port);
        return socket === undefined ? [] : [[{ port }, socket.drops] as const];
      });
    },
  );
  metrics.gaugeFrom("netgloss_flow_receive_queue_bytes", "Bytes received and not read yet.", ["port"], () => {
    const sockets = open.length === 0 ? undefined : readKernelSockets();
    return open.flatMap(({ port }) => {
      const socket = sockets?.get(port);
      return socket === undefined ? [] : [[{ port }, socket.queued] as const];
    });
  });
  metrics.counterFrom("netgloss_flow_socket_errors_total", "Errors on the sockets of flow ports.", [], socketErrors);
}
