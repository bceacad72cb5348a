import type { Family } from "../../ip/index.ts";
import type { Log } from "../../report/index.ts";
import type { Peer } from "./peer.ts";
import type { SessionCounts } from "./session-metrics.ts";
import type { OpenUdpSocket, UdpSocket } from "./udp-socket.ts";

/** One socket for each address family, opened when something is sent. */
export interface SocketPool {
  /** Never waits. `onError` is called for a datagram that the host refuses to send. */
  send(peer: Peer, datagram: Uint8Array, onError: (error: NodeJS.ErrnoException) => void): void;
  close(): void;
}

export interface SocketPoolOptions {
  readonly counts: SessionCounts;
  readonly log: Log;
  readonly openSocket: OpenUdpSocket;
  readonly receiveBufferBytes: number;
  readonly onMessage: (datagram: Uint8Array, address: string, port: number) => void;
  /** The host has no socket of this family. */
  readonly onUnusable: (family: Family, error: NodeJS.ErrnoException) => void;
}

export function createSocketPool(options: SocketPoolOptions): SocketPool {
  const { counts, log } = options;
  const sockets = new Map<Family, UdpSocket>();

  const open = (family: Family): UdpSocket => {
    let isReady = false;
    const socket = options.openSocket(family, options.receiveBufferBytes, {
      onMessage: options.onMessage,
      onReady: (bytes) => {
        isReady = true;
        counts.receiveBufferBytes = bytes;
      },
      onError: (error) => {
        counts.socketErrors++;
        if (sockets.get(family) === socket) sockets.delete(family);
        log.warn({ family, error }, "SNMP socket closed after an error");
        // A socket that worked is opened again by the next send. One that never did will not do better then.
        if (!isReady) options.onUnusable(family, error);
      },
    });
    sockets.set(family, socket);
    return socket;
  };

  return {
    send(peer, datagram, onError) {
      const socket = sockets.get(peer.family) ?? open(peer.family);
      socket.send(datagram, peer.address, peer.port, (error) => {
        counts.sendErrors++;
        onError(error);
      });
    },
    close() {
      for (const socket of sockets.values()) socket.close();
      sockets.clear();
    },
  };
}
