import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { createMessageReader } from "../session/stream-pool.ts";
import { trapListenError } from "./trap-socket.ts";

/** A port for notifications by TCP (RFC 3430). */
export interface TrapStream {
  readonly port: number;
  /** Connections that are open. */
  readonly connections: number;
  close(): Promise<void>;
}

export interface TrapStreamHandlers {
  onMessage(message: Uint8Array, address: string, reply: (answer: Uint8Array) => void): void;
  /** A connection that is not taken, or was closed because what came is no message. */
  onRefused(reason: "connections" | "malformed"): void;
}

/** Of all senders. */
const maxConnections = 1000;
const maxConnectionsOfHost = 20;
/** A sender that is silent connects again when it has something to say. */
const maxIdleMs = 600_000;

/** @throws Error naming address, port and reason when the port is taken or needs rights. */
export async function openTrapStream(address: string, port: number, handlers: TrapStreamHandlers): Promise<TrapStream> {
  const sockets = new Set<Socket>();
  const byHost = new Map<string, number>();

  const count = (host: string, change: number): void => {
    const left = (byHost.get(host) ?? 0) + change;
    if (left === 0) byHost.delete(host);
    else byHost.set(host, left);
  };

  const server = createServer((socket) => {
    const host = socket.remoteAddress ?? "";
    socket.on("error", () => {});
    if (sockets.size >= maxConnections || (byHost.get(host) ?? 0) >= maxConnectionsOfHost) {
      handlers.onRefused("connections");
      socket.destroy();
      return;
    }
    sockets.add(socket);
    count(host, 1);
    socket.on("close", () => {
      sockets.delete(socket);
      count(host, -1);
    });
    socket.setTimeout(maxIdleMs, () => socket.destroy());
    const read = createMessageReader();
    socket.on("data", (chunk) => {
      try {
        for (const message of read(chunk)) handlers.onMessage(message, host, (answer) => void socket.write(answer));
      } catch {
        handlers.onRefused("malformed");
        socket.destroy();
      }
    });
  });
  server.listen(port, address);
  try {
    await once(server, "listening");
  } catch (error) {
    throw trapListenError("TCP", address, port, error as Error);
  }
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return sockets.size;
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
