import type { OpenUdpSocket, UdpSocketHandlers } from "../../../src/snmp/session/sockets.ts";
import type { SnmpAgent } from "./snmp-agent.ts";

/** What happens to a datagram that a client sends: datagrams come back, from where it was sent to unless said. */
export interface Answer {
  readonly datagram: Uint8Array;
  readonly address?: string;
  readonly port?: number;
}

/** UDP within the process: agents by address and port, every datagram delivered in a later turn of the event loop. */
export interface FakeNetwork {
  readonly open: OpenUdpSocket;
  /** Puts an agent, or anything that answers datagrams, at an address and port. */
  attach(address: string, port: number, answer: (datagram: Uint8Array) => readonly Answer[]): void;
  attachAgent(address: string, port: number, agent: SnmpAgent): void;
  /** Delivers a datagram to every open socket at once, as from anywhere. */
  inject(datagram: Uint8Array, address: string, port: number): void;
  /** Makes every socket fail. */
  breakSockets(error: NodeJS.ErrnoException): void;
  /** Error that sends fail with, if any. */
  sendError: NodeJS.ErrnoException | undefined;
  /** Error that a socket fails with right after it was opened, if any. */
  openError: NodeJS.ErrnoException | undefined;
  /** Datagrams sent by clients, in order. */
  readonly sent: readonly Uint8Array[];
  /** Sockets opened so far. */
  readonly opened: number;
}

export function createFakeNetwork(): FakeNetwork {
  const hosts = new Map<string, (datagram: Uint8Array) => readonly Answer[]>();
  const sockets = new Set<UdpSocketHandlers>();
  const sent: Uint8Array[] = [];
  let opened = 0;

  const network: FakeNetwork = {
    sendError: undefined,
    openError: undefined,
    sent,
    get opened() {
      return opened;
    },
    attach: (address, port, answer) => void hosts.set(`${address} ${port}`, answer),
    attachAgent(address, port, agent) {
      network.attach(address, port, (datagram) => agent.handle(datagram).map((answer) => ({ datagram: answer })));
    },
    inject(datagram, address, port) {
      for (const socket of sockets) socket.onMessage(datagram, address, port);
    },
    breakSockets(error) {
      for (const socket of sockets) socket.onError(error);
      sockets.clear();
    },
    open(_family, receiveBufferBytes, handlers) {
      opened++;
      sockets.add(handlers);
      const { openError } = network;
      queueMicrotask(() => {
        if (openError === undefined) handlers.onReady(receiveBufferBytes);
        else handlers.onError(openError);
      });
      return {
        send(datagram, address, port, onError) {
          sent.push(datagram);
          const { sendError } = network;
          if (sendError !== undefined) {
            setImmediate(onError, sendError);
            return;
          }
          setImmediate(() => {
            for (const answer of hosts.get(`${address} ${port}`)?.(datagram) ?? []) {
              if (sockets.has(handlers)) {
                handlers.onMessage(answer.datagram, answer.address ?? address, answer.port ?? port);
              }
            }
          });
        },
        close: () => void sockets.delete(handlers),
      };
    },
  };
  return network;
}
