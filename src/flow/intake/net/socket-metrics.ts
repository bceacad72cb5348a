import { readKernelSockets, type KernelPort, type Labels, type Metrics } from "../../../base/report/index.ts";

/** A port that is open for flows. */
export interface OpenPort {
  readonly port: number;
  /** Bytes that the kernel granted. */
  readonly receiveBuffer: number;
}

/** @param open the ports that are open now. */
export function registerSocketMetrics(metrics: Metrics, open: () => readonly OpenPort[]): void {
  const fromKernel = (read: (socket: KernelPort) => number) => (): (readonly [Labels, number])[] => {
    const ports = open();
    const sockets = ports.length === 0 ? undefined : readKernelSockets();
    return ports.flatMap(({ port }) => {
      const socket = sockets?.get(port);
      return socket === undefined ? [] : [[{ port }, read(socket)] as const];
    });
  };
  metrics.gaugeFrom("netgloss_flow_receive_buffer_bytes", "Receive buffer that the kernel granted.", ["port"], () =>
    open().map(({ port, receiveBuffer }) => [{ port }, receiveBuffer] as const),
  );
  metrics.counterFrom(
    "netgloss_flow_kernel_drops_total",
    "Datagrams that the kernel dropped because the receive buffer was full.",
    ["port"],
    fromKernel(({ drops }) => drops),
  );
  metrics.gaugeFrom(
    "netgloss_flow_receive_queue_bytes",
    "Memory of datagrams received and not read yet.",
    ["port"],
    fromKernel(({ queued }) => queued),
  );
}
