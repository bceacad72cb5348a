// Sends flow datagrams to a port of this host at a given rate and for a given time; its parent tells it by message what to
// send and gets back what was sent.
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { hostsOf } from "../enrich/address-plan.ts";
import { addressPools, createDatagramPool, type DatagramPool } from "./datagram-pool.ts";
import { protocols, type BenchProtocol } from "./packet-layout.ts";

/** What to send. */
export interface GeneratorOrder {
  readonly port: number;
  /** One protocol, or all of them in turn, from one exporter after the other. */
  readonly protocol: BenchProtocol | "mix";
  readonly recordsPerSecond: number;
  readonly seconds: number;
  /** Each has an address of its own in 127.0.0.0/8. At most 15 000, as many sockets are opened. */
  readonly exporters: number;
  /** Of each exporter. */
  readonly templates: number;
  /**
   * `all`: hardly any address is met again while a cache of the usual size has it. `hosts`: those of `enrich/address-plan.ts`, which come
   * again after 160 000 others. Default: `traffic`.
   */
  readonly addresses?: keyof typeof addressPools | "hosts";
}

/** What was sent. */
export interface GeneratorResult {
  readonly datagrams: number;
  readonly records: number;
  readonly seconds: number;
  /** CPU time of the generator while it sent, in seconds. */
  readonly cpu: number;
}

interface Exporter {
  readonly socket: Socket;
  readonly pool: DatagramPool;
  sequence: number;
  /** Which datagram of the pool comes next. */
  turn: number;
}

/** No burst is longer than what is due in this time, whatever has held the generator up before. */
const maxBurstMs = 20;
/** Templates go out at this rate, which any collector can take. */
const templatesPerMs = 20;
const maxExporters = 15_000;
/** With addresses that are all new: more than a million records before the first comes again. */
const freshDatagrams = 40_000;
const freshPools = new Map<string, DatagramPool>();

if (process.send !== undefined) {
  process.on("message", (order: GeneratorOrder) => {
    void generate(order).then((result) => process.send?.(result));
  });
}

async function generate(order: GeneratorOrder): Promise<GeneratorResult> {
  if (order.exporters > maxExporters) throw new RangeError(`more than ${maxExporters} exporters`);
  const used = order.protocol === "mix" ? protocols : [order.protocol];
  const pools = used.map((protocol) => poolOf(protocol, order));
  const exporters: Exporter[] = [];
  for (let i = 0; i < order.exporters; i++) {
    const pool = pools[i % pools.length] as DatagramPool;
    // New addresses must not come from one exporter soon after another.
    const isFresh = (order.addresses ?? "traffic") !== "traffic";
    const turn = isFresh ? Math.floor((i * pool.datagrams.length) / order.exporters) : 17 * i;
    exporters.push({ socket: await open(order.port, i), pool, sequence: 0, turn });
  }
  let refused = 0;
  for (const { socket } of exporters) socket.on("error", () => refused++);
  await sendTemplates(exporters);
  const cpu = process.cpuUsage();
  const sent = await sendAtRate(exporters, order);
  const { user, system } = process.cpuUsage(cpu);
  for (const { socket } of exporters) socket.close();
  if (refused > 0) throw new Error(`${refused} datagrams were refused`);
  return { ...sent, cpu: (user + system) / 1e6 };
}

function poolOf(protocol: BenchProtocol, { templates, addresses = "traffic" }: GeneratorOrder): DatagramPool {
  if (addresses === "traffic") return createDatagramPool({ protocol, templates });
  const name = `${protocol} ${addresses}`;
  const pool =
    freshPools.get(name) ??
    (addresses === "hosts"
      ? hostsPool(protocol, templates)
      : createDatagramPool({ protocol, templates, addresses: addressPools.all, count: freshDatagrams }));
  freshPools.set(name, pool);
  return pool;
}

function hostsPool(protocol: BenchProtocol, templates: number): DatagramPool {
  const hosts = hostsOf();
  let next = 0;
  const nextAddress = (): number => hosts[next++ % hosts.length] as number;
  const { records } = createDatagramPool({ protocol, count: 1 });
  return createDatagramPool({ protocol, templates, nextAddress, count: Math.floor(hosts.length / 2 / records) });
}

async function open(port: number, i: number): Promise<Socket> {
  const socket = createSocket("udp4");
  socket.bind(0, `127.${1 + (i >> 14)}.${(i >> 7) & 127}.${1 + (i & 127)}`);
  await once(socket, "listening");
  socket.connect(port, "127.0.0.1");
  await once(socket, "connect");
  return socket;
}

async function sendTemplates(exporters: readonly Exporter[]): Promise<void> {
  let count = 0;
  for (const exporter of exporters) {
    for (const datagram of exporter.pool.templates) {
      exporter.pool.stamp(datagram, exporter.sequence, Math.floor(Date.now() / 1000));
      exporter.sequence += exporter.pool.templateStep;
      exporter.socket.send(datagram);
      if (++count % templatesPerMs === 0) await pause(1);
    }
  }
  // Time for the templates to be read, so that none comes to a full buffer.
  await pause(100);
}

/**
 * Without a callback: the kernel takes a datagram of loopback at once, and what it drops it counts at the receiver.
 * Datagrams are asked for by the millisecond, so that a turn of the event loop sends many.
 */
function sendAtRate(
  exporters: readonly Exporter[],
  { recordsPerSecond, seconds }: GeneratorOrder,
): Promise<Omit<GeneratorResult, "cpu">> {
  return new Promise((resolve) => {
    let datagrams = 0;
    let records = 0;
    const start = performance.now();
    let last = start;
    let due = 0;
    const turn = (): void => {
      const now = performance.now();
      if (now - start >= seconds * 1000) {
        resolve({ datagrams, records, seconds: (now - start) / 1000 });
        return;
      }
      due += (Math.min(now - last, maxBurstMs) * recordsPerSecond) / 1000;
      last = now;
      const time = Math.floor(Date.now() / 1000);
      while (records < due) {
        const exporter = exporters[datagrams % exporters.length] as Exporter;
        const { pool, socket } = exporter;
        const datagram = pool.datagrams[exporter.turn++ % pool.datagrams.length] as Buffer;
        pool.stamp(datagram, exporter.sequence, time);
        exporter.sequence += pool.step;
        socket.send(datagram);
        datagrams++;
        records += pool.records;
      }
      setTimeout(turn, 1);
    };
    turn();
  });
}
