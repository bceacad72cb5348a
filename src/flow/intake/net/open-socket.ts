import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { listenFault } from "../../../base/report/index.ts";

/** A flow port cannot be opened; the start fails with it. The message names address, port and reason. */
export class FlowListenError extends Error {
  readonly code = "flow_listen_failed";

  constructor(ip: string, port: number, cause: Error, transport: "UDP" | "TCP" = "UDP") {
    const where = ip === "" ? `${transport} port ${port}` : `${transport} port ${port} of ${ip}`;
    super(`cannot receive flows on ${where}: ${listenFault(cause)}`, { cause });
    this.name = "FlowListenError";
  }
}

/** What a host without IPv6 says of a socket for it. */
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
