import { createSocket } from "node:dgram";
import { isIPv6 } from "node:net";
import { listenFault } from "../../base/report/index.ts";

/** A bound socket for notifications. */
export interface TrapSocket {
  readonly port: number;
  send(datagram: Uint8Array, address: string, port: number): void;
  close(): Promise<void>;
}

export type OnDatagram = (datagram: Uint8Array, address: string, port: number) => void;

/** Storms come at once: the kernel keeps what the program has not read yet. */
const receiveBuffer = 4 * 1024 * 1024;

/** @throws Error naming address, port and reason when the port is taken or needs rights. */
export function openTrapSocket(address: string, port: number, onDatagram: OnDatagram): Promise<TrapSocket> {
  const socket = createSocket(isIPv6(address) ? "udp6" : "udp4");
  return new Promise((resolve, reject) => {
    const fail = (cause: Error): void => reject(trapListenError("UDP", address, port, cause));
    socket.once("error", fail);
    socket.bind(port, address, () => {
      socket.off("error", fail);
      // An answer that cannot be sent is asked for again.
      socket.on("error", () => {});
      try {
        socket.setRecvBufferSize(receiveBuffer);
      } catch {
        // A host that refuses the size keeps its default.
      }
      socket.on("message", (datagram, peer) => onDatagram(datagram, peer.address, peer.port));
      resolve({
        port: socket.address().port,
        send: (datagram, to, toPort) => socket.send(datagram, toPort, to, () => {}),
        close: () => new Promise((done) => socket.close(() => done())),
      });
    });
  });
}

/** The error of a port for notifications that cannot be opened. */
export function trapListenError(transport: "UDP" | "TCP", address: string, port: number, cause: Error): Error {
  return new Error(`cannot receive traps on ${transport} port ${port} of ${address}: ${listenFault(cause)}`, { cause });
}
