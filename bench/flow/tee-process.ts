// What passes datagrams on, in a process of its own: a tee, or a bare copy from socket to socket. Asked with the target, then with the end.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { Tee } from "../../src/flow/index.ts";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";

export interface TeeOrder {
  readonly kind: "tee" | "copy";
  readonly targetPort: number;
}

/** What was passed on, and the processor time of it. */
export interface TeeCost {
  readonly received: number;
  readonly cpuMs: number;
}

interface Passing {
  readonly port: number;
  readonly received: () => Promise<number>;
}

const bufferBytes = 8 * 2 ** 20;

process.once("message", ({ kind, targetPort }: TeeOrder) => {
  void (async () => {
    const { port, received } = await (kind === "tee" ? startTee(targetPort) : startCopy(targetPort));
    const cpu = process.cpuUsage();
    process.once("message", () => {
      void (async () => {
        const { user, system } = process.cpuUsage(cpu);
        process.send?.({
          received: await received(),
          cpuMs: (user + system) / 1000,
        } satisfies TeeCost);
        process.exit();
      })();
    });
    process.send?.(port);
  })();
});

async function startTee(port: number): Promise<Passing> {
  const metrics = createMetrics();
  const tee = new Tee({
    ip: "127.0.0.1",
    port: 0,
    targets: [{ name: "target", address: "127.0.0.1", port }],
    maxBytes: 1472,
    maxSenders: 1000,
    receiveBufferBytes: bufferBytes,
    log: silentLog,
    metrics,
    clock: systemClock,
  });
  await tee.start();
  return {
    port: tee.port(),
    async received() {
      const text = await metrics.render();
      const counts = text.matchAll(/^netgloss_tee_datagrams_total\{.*\} (\d+)$/gm);
      return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    },
  };
}

async function startCopy(port: number): Promise<Passing> {
  const from = createSocket({ type: "udp4", recvBufferSize: bufferBytes });
  const to = createSocket({ type: "udp4", lookup: (host, _options, done) => done(null, host, 4) });
  let count = 0;
  from.on("message", (bytes) => {
    count++;
    to.send(bytes, port, "127.0.0.1", () => {});
  });
  from.bind(0, "127.0.0.1");
  await once(from, "listening");
  return { port: from.address().port, received: async () => count };
}
