import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { MessageReader } from "../../../src/snmp/session/sockets.ts";
import type { SnmpAgent } from "./snmp-agent.ts";

/** An agent on a TCP port. */
export interface StreamAgent {
  readonly port: number;
  /** Connections since the start. */
  readonly connections: number;
  /** Closes those that stand. */
  cut(): void;
  close(): Promise<void>;
}

/** @param piece octets of an answer that are sent at a time; default all. */
export async function listenTcp(agent: SnmpAgent, piece = Infinity): Promise<StreamAgent> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    socket.setNoDelay(true);
    const reader = new MessageReader();
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (chunk) => {
      for (const request of reader.read(chunk))
        for (const answer of agent.handle(request))
          for (let at = 0; at < answer.length; at += piece) socket.write(answer.subarray(at, at + piece));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    cut,
    async close() {
      cut();
      const closed = once(server, "close");
      server.close();
      await closed;
    },
  };
}
