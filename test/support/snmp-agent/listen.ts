import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { SnmpAgent } from "./snmp-agent.ts";

/** An agent on a UDP port. */
export interface ListeningAgent {
  readonly address: string;
  readonly port: number;
  readonly close: () => Promise<void>;
}

/**
 * Puts an agent on real UDP. Every address of 127.0.0.0/8 is this host's, so thousands may share a port number.
 *
 * @param heard called with each request.
 */
export async function listen(
  agent: SnmpAgent,
  address = "127.0.0.1",
  port = 0,
  heard?: (fromPort: number) => void,
): Promise<ListeningAgent> {
  const family = address.includes(":") ? 6 : 4;
  const socket = createSocket({ type: `udp${family}`, lookup: (host, _options, found) => found(null, host, family) });
  const timers = new Set<NodeJS.Timeout>();
  let isOpen = true;
  const send = (datagram: Uint8Array, toPort: number, to: string): void => {
    if (isOpen) socket.send(datagram, toPort, to);
  };
  socket.on("message", (datagram, { address: to, port: toPort }) => {
    heard?.(toPort);
    for (const answer of agent.handle(datagram)) {
      const { delay = 0 } = agent.faults;
      if (delay <= 0) {
        send(answer, toPort, to);
        continue;
      }
      const timer = setTimeout(() => {
        timers.delete(timer);
        send(answer, toPort, to);
      }, delay);
      timers.add(timer);
    }
  });
  const listening = once(socket, "listening");
  socket.bind(port, address);
  await listening;
  return {
    address,
    port: socket.address().port,
    async close() {
      isOpen = false;
      for (const timer of timers) clearTimeout(timer);
      const closed = once(socket, "close");
      socket.close();
      await closed;
    },
  };
}
