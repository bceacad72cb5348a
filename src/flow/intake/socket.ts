import { type Socket, createSocket } from "node:dgram";
import { once } from "node:events";
import {
  type Log,
  readKernelSockets,
  type KernelPort,
  type Labels,
  type Metrics,
  listenFault,
} from "../../base/report/index.ts";

/**
 * Asks the kernel for a receive buffer and reads back what it gave, because it clamps the size silently.
 *
 * @returns bytes of datagrams that the buffer takes.
 */
export function askReceiveBuffer(socket: Socket, bytes: number, log: Log): number {
  const { port } = socket.address();
  try {
    socket.setRecvBufferSize(bytes);
  } catch (error) {
    log.warn({ port, error }, "receive buffer of the flow port could not be set");
  }
  const granted = usable(socket.getRecvBufferSize());
  if (granted < bytes) {
    log.warn(
      { port, asked: bytes, granted, hint: `sysctl -w net.core.rmem_max=${bytes}` },
      "the kernel granted a smaller receive buffer than asked for; bursts of flows may be lost",
    );
  }
  return granted;
}

/** Linux doubles what is asked for, to have room for its own bookkeeping, and reports the double. */
function usable(reported: number): number {
  return process.platform === "linux" ? reported / 2 : reported;
}

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

/** A flow port cannot be opened; the start fails with it. The message names address, port and reason. */
export class FlowListenError extends Error {
  readonly code = "flow_listen_failed";

  constructor(ip: string, port: number, cause: Error, transport: "UDP" | "TCP" = "UDP") {
    const where = ip === "" ? `${transport} port ${port}` : `${transport} port ${port} of ${ip}`;
    super(`cannot receive flows on ${where}: ${listenFault(cause)}`, { cause });
    this.name = "FlowListenError";
  }
}

/** The errors of a socket for IPv6 on a host without it. */
const withoutIpv6: ReadonlySet<string | undefined> = new Set(["EAFNOSUPPORT", "EADDRNOTAVAIL", "EINVAL"]);

/**
 * Opens a UDP socket.
 *
 * @param ip the address to bind; empty is all: `::` for both families, `0.0.0.0` on a host without IPv6.
 * @throws FlowListenError naming address and port.
 */
export function openSocket(ip: string, port: number): Promise<Socket> {
  return bindAnyFamily(ip, port, "UDP", bind);
}

/**
 * Binds an address, or all where it is empty.
 *
 * @param open opens the port on an address.
 * @throws FlowListenError naming address and port.
 */
export async function bindAnyFamily<T>(
  ip: string,
  port: number,
  transport: "UDP" | "TCP",
  open: (address: string, port: number) => Promise<T>,
): Promise<T> {
  try {
    return await open(ip === "" ? "::" : ip, port);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (ip !== "" || !withoutIpv6.has(code)) throw new FlowListenError(ip, port, error as Error, transport);
  }
  try {
    return await open("0.0.0.0", port);
  } catch (error) {
    throw new FlowListenError(ip, port, error as Error, transport);
  }
}

async function bind(address: string, port: number): Promise<Socket> {
  const socket = createSocket({ type: address.includes(":") ? "udp6" : "udp4", ipv6Only: false });
  try {
    socket.bind({ address, port, exclusive: true });
    await once(socket, "listening");
    return socket;
  } catch (error) {
    socket.close();
    throw error;
  }
}
