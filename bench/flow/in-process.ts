import { createUdmEnricher } from "../../src/enrich/index.ts";
import { createFlowPipeline } from "../../src/flow/index.ts";
import type { Sink } from "../../src/record/index.ts";
import { createMetrics, silentLog, systemClock } from "../../src/report/index.ts";
import type { UdmStore } from "../../src/udm/index.ts";
import { packetLayout } from "./packet-layouts.ts";
import { createPacketSource, type AddressPool, type PacketSource } from "./packet-source.ts";

export interface InProcessOptions {
  readonly metadata: UdmStore;
  readonly recordsPerPacket: number;
  /** What makes the datagrams; NetFlow v9 unless given. */
  readonly source?: PacketSource;
  readonly pool: AddressPool;
  readonly communityId: boolean;
  /** False: every record becomes fields before it becomes a line. Default true. */
  readonly isCompiled?: boolean;
  /** Records of each of the two rounds. Default 500 000. */
  readonly records?: number;
}

export interface InProcessResult {
  /** CPU time for each record. */
  readonly nanoseconds: number;
  /** One of the lines. */
  readonly line: string;
}

const address = "127.0.0.1";
const port = 2055;

/**
 * From the bytes of a datagram to those of its lines: decoded, source, destination and exporter looked up,
 * rendered. Making the datagrams is measured by itself and taken off.
 */
export async function measureInProcess(options: InProcessOptions): Promise<InProcessResult> {
  const { metadata, recordsPerPacket, pool, communityId, isCompiled = true, records: perRound = 500_000 } = options;
  const common = { metrics: createMetrics(), log: silentLog, clock: systemClock };
  const enricher = createUdmEnricher({
    ...common,
    watch: (listener) => metadata.watch(listener),
    ttlMs: 7_200_000,
    invalidate: true,
    maxCached: 131_072,
  });
  await enricher.start();
  let records = 0;
  let last: Uint8Array = Buffer.of();
  const sink: Sink = {
    write(lines, count) {
      records += count;
      last = lines;
    },
  };
  const pipeline = createFlowPipeline({
    ...common,
    enricher,
    sink,
    communityId,
    ...(!isCompiled && { compileAfter: Number.POSITIVE_INFINITY }),
  });
  const source = options.source ?? createPacketSource(packetLayout("netflow9", recordsPerPacket), 1, pool);
  const templates = source.templates();
  if (templates !== undefined) pipeline.process(templates, address, port);

  const packets = Math.ceil(perRound / recordsPerPacket);
  const round = (take: (packet: Buffer) => void): number => {
    const nanoseconds = cpuNanoseconds(() => {
      for (let i = 0; i < packets; i++) take(source.next());
    });
    return nanoseconds / (packets * recordsPerPacket);
  };
  const decode = (packet: Buffer): void => pipeline.process(packet, address, port);
  round(decode);
  const whole = round(decode);
  if (records !== 2 * packets * recordsPerPacket) throw new Error(`${records} records came out`);
  const making = round(() => {});
  await enricher.stop();
  return { nanoseconds: whole - making, line: Buffer.from(last).toString().split("\n", 1)[0] ?? "" };
}

/** What JSON.stringify alone takes for the record of a line, in nanoseconds. */
export function measureStringify(line: string): number {
  const record: unknown = JSON.parse(line);
  const count = 200_000;
  let length = 0;
  const run = (): void => {
    for (let i = 0; i < count; i++) length += JSON.stringify(record).length;
  };
  run();
  const nanoseconds = cpuNanoseconds(run) / count;
  if (length !== 2 * count * line.length) throw new Error("the line is not what JSON.stringify writes");
  return nanoseconds;
}

function cpuNanoseconds(action: () => void): number {
  const start = process.cpuUsage();
  action();
  const { user, system } = process.cpuUsage(start);
  return (user + system) * 1000;
}
