import { createSocket, type Socket } from "node:dgram";

/** Where datagrams are passed on to. */
export interface TeeTarget {
  /** As the operator wrote it. */
  readonly name: string;
  /** An address of IPv4 or IPv6. */
  readonly address: string;
  readonly port: number;
}

/** The sockets of one sender: a port of its own towards the targets, so that they can tell senders apart. */
export interface SenderSockets {
  /** Another number than that of any other. */
  readonly generation: number;
  usedAt: number;
  readonly byFamily: Map<"udp4" | "udp6", Socket>;
}

export interface SenderSocketTable {
  /** Those of a sender, opened on first sight. Beyond the limit the ones not used for longest are closed. */
  of(sender: string, now: number): SenderSockets;
  send(sockets: SenderSockets, bytes: Uint8Array, target: TeeTarget): void;
  /** Closes those that were not used since a time. */
  closeIdle(before: number): void;
  count(): number;
  /** Resolves when everything is sent, or after a second, and closes all. */
  stop(): Promise<void>;
}

export interface SenderSocketOptions {
  readonly maxSenders: number;
  readonly sent: (target: TeeTarget) => void;
  readonly dropped: (target: TeeTarget, reason: "queue" | "send", error?: Error) => void;
}

/** Datagrams that may wait in one socket. */
const maxQueued = 1000;
const stopWithinMs = 1000;

export function createSenderSockets({ maxSenders, sent, dropped }: SenderSocketOptions): SenderSocketTable {
  const senders = new Map<string, SenderSockets>();
  let generations = 0;
  let pending = 0;
  let idle = (): void => {};

  const close = (key: string, { byFamily }: SenderSockets): void => {
    senders.delete(key);
    for (const socket of byFamily.values()) socket.close();
  };
  const socketFor = (sockets: SenderSockets, target: TeeTarget): Socket => {
    const type = target.address.includes(":") ? "udp6" : "udp4";
    let socket = sockets.byFamily.get(type);
    if (socket === undefined) {
      const family = type === "udp6" ? 6 : 4;
      // Targets are addresses: nothing is looked up, so that order is kept.
      socket = createSocket({ type, lookup: (host, _options, done) => done(null, host, family) });
      socket.on("error", (error) => dropped(target, "send", error));
      sockets.byFamily.set(type, socket);
    }
    return socket;
  };

  return {
    of(key, now) {
      let sockets = senders.get(key);
      if (sockets === undefined) {
        if (senders.size >= maxSenders) {
          for (const [oldest, unused] of senders) {
            close(oldest, unused);
            break;
          }
        }
        sockets = { generation: generations++, usedAt: now, byFamily: new Map() };
      } else senders.delete(key);
      // The order of insertion is the order of use.
      senders.set(key, sockets);
      sockets.usedAt = now;
      return sockets;
    },
    send(sockets, bytes, target) {
      const socket = socketFor(sockets, target);
      if (socket.getSendQueueCount() >= maxQueued) {
        dropped(target, "queue");
        return;
      }
      pending++;
      socket.send(bytes, target.port, target.address, (error) => {
        pending--;
        if (error === null) sent(target);
        else dropped(target, "send", error);
        if (pending === 0) idle();
      });
    },
    closeIdle(before) {
      for (const [key, sockets] of senders) {
        if (sockets.usedAt >= before) break;
        close(key, sockets);
      }
    },
    count: () => senders.size,
    async stop() {
      if (pending > 0) {
        let timer: NodeJS.Timeout | undefined;
        await new Promise<void>((resolve) => {
          idle = resolve;
          timer = setTimeout(resolve, stopWithinMs);
        });
        clearTimeout(timer);
      }
      for (const [key, sockets] of senders) close(key, sockets);
    },
  };
}
