import { createSocket } from "node:dgram";
import type { Family } from "../../base/ip/index.ts";

/** A socket of one address family on a port of its own, which talks to any number of peers. */
export interface UdpSocket {
  /** Never throws; a datagram that the host refuses to send is reported to `onError`, if at all later. */
  send(datagram: Uint8Array, address: string, port: number, onError: (error: NodeJS.ErrnoException) => void): void;
  close(): void;
}

/** None is called before the call that opens the socket has returned. */
export interface UdpSocketHandlers {
  onMessage(datagram: Uint8Array, address: string, port: number): void;
  /** The socket is of no use any more, for instance because its family is not there. */
  onError(error: NodeJS.ErrnoException): void;
  /** The receive buffer that the kernel granted, in bytes. */
  onReady(receiveBufferBytes: number): void;
}

/** Opens a socket; what is sent before it is ready waits. */
export type OpenUdpSocket = (family: Family, receiveBufferBytes: number, handlers: UdpSocketHandlers) => UdpSocket;

export const openUdpSocket: OpenUdpSocket = (family, receiveBufferBytes, handlers) => {
  const socket = createSocket({
    type: family === 4 ? "udp4" : "udp6",
    ipv6Only: family === 6,
    // Addresses are given as numbers. The default looks each of them up as if it were a name.
    lookup: (host, _options, callback) => callback(null, host, family),
  });
  let isOpen = true;
  const close = (): void => {
    if (isOpen) socket.close();
    isOpen = false;
  };
  socket.on("message", (datagram, { address, port }) => handlers.onMessage(datagram, address, port));
  socket.on("error", (error) => {
    close();
    queueMicrotask(() => handlers.onError(error));
  });
  socket.on("listening", () => {
    // Thousands of devices may answer at once. What exceeds net.core.rmem_max is cut by the kernel silently.
    try {
      socket.setRecvBufferSize(receiveBufferBytes);
    } catch {
      // A host that refuses the size altogether keeps its default, which is what is reported.
    }
    const granted = socket.getRecvBufferSize();
    queueMicrotask(() => handlers.onReady(granted));
  });
  socket.bind(0);
  return {
    send(datagram, address, port, onError) {
      if (!isOpen) return;
      socket.send(datagram, port, address, (error) => {
        if (error !== null) onError(error);
      });
    },
    close,
  };
};
