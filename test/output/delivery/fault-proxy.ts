import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { cleanUp } from "../../support/clean-up.ts";

/**
 * What a fault proxy does to connections:
 *
 * - `pass`: nothing. `away`: connections are closed as they come, those that are open are reset.
 * - `silent`: what comes is swallowed. `slow`: each piece waits for 20 ms.
 * - `cutRequest`: the connection is reset after some bytes of the request. `cutAnswer`: the request passes, and the answer
 *   is cut after some bytes.
 * - `busy` and `unavailable`, for HTTP: the request is swallowed and answered with 429 or 503.
 */
export type Fault = "pass" | "away" | "silent" | "slow" | "cutRequest" | "cutAnswer" | "busy" | "unavailable";
export const faults: readonly Fault[] = ["pass", "away", "silent", "slow", "cutRequest", "cutAnswer"];
export const httpFaults: readonly Fault[] = [...faults, "busy", "unavailable"];

const statuses: Partial<Record<Fault, string>> = {
  busy: "429 Too Many Requests",
  unavailable: "503 Service Unavailable",
};

const swallows = (fault: Fault): boolean => fault === "silent" || statuses[fault] !== undefined;

export interface FaultProxy {
  readonly port: number;
  fault: Fault;
  /** Resets all connections. */
  cut(): void;
  close(): Promise<void>;
}

/**
 * Resets a connection. One that is about to end cannot be reset: Node would leave its handle open, and the process would never end.
 */
function reset(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy();
  else socket.resetAndDestroy();
}

/** A TCP proxy on the loopback that has faults. It listens on a free port, if none is given. */
export async function startFaultProxy(t: TestContext, host: string, port: number, listen = 0): Promise<FaultProxy> {
  const sockets = new Set<Socket>();
  const track = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    return socket;
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    track(client);
    if (proxy.fault === "away") {
      reset(client);
      return;
    }
    const upstream = track(connect({ port, host, allowHalfOpen: true }));
    client.on("close", () => upstream.destroy());
    upstream.on("close", (hadError) => (hadError ? reset(client) : client.destroySoon()));
    client.on("data", (bytes) => refuse(client, bytes));
    pass(client, upstream, "cutRequest", 2000);
    pass(upstream, client, "cutAnswer", 40);
  });

  /** Answers a request as it begins. */
  const refuse = (client: Socket, bytes: Buffer): void => {
    const status = statuses[proxy.fault];
    if (status === undefined || !/^[A-Z]+ .* HTTP\/1/.test(bytes.toString("latin1", 0, 1000)) || !client.writable)
      return;
    client.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
    // The rest of the request is read, or the client would see a reset before the answer.
    setTimeout(() => client.destroy(), 200);
  };

  const pass = (from: Socket, to: Socket, cut: Fault, cutAfter: number): void => {
    let passed = 0;
    // What follows a gap must not pass, either: a connection never skips bytes.
    let hasGap = false;
    // Pieces stay in their order when the fault changes.
    let last = Promise.resolve();
    let waiting = 0;
    const inTurn = (action: () => void): void => {
      if (proxy.fault !== "slow" && waiting === 0) {
        action();
        return;
      }
      const pause = proxy.fault === "slow" ? sleep(20) : undefined;
      waiting++;
      last = last
        .then(() => pause)
        .then(action)
        .finally(() => waiting--);
    };
    from.on("end", () => {
      if (!hasGap && !swallows(proxy.fault)) inTurn(() => to.end());
    });
    from.on("data", (bytes) => {
      const { fault } = proxy;
      hasGap ||= swallows(fault);
      if (hasGap) return;
      const isCut = fault === cut && passed + bytes.length > cutAfter;
      const piece = isCut ? bytes.subarray(0, Math.max(0, cutAfter - passed)) : bytes;
      passed += bytes.length;
      const send = (): void => {
        if (to.writable) to.write(piece);
        if (!isCut) return;
        to.destroySoon();
        reset(from);
      };
      inTurn(send);
    });
  };

  await new Promise<void>((resolve) => server.listen(listen, "127.0.0.1", resolve));
  const proxy: FaultProxy = {
    port: (server.address() as AddressInfo).port,
    fault: "pass",
    cut() {
      for (const socket of sockets) reset(socket);
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  cleanUp(t, () => proxy.close());
  return proxy;
}
