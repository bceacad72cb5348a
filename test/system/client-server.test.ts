import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess } from "../support/collector-process.ts";
import { untilRecords } from "../support/flow-records.ts";
import { encodePcap, tcpFlags, tcpFrame, udpFrame, type IpPacket, type PcapPacket } from "../support/pcap.ts";
import { runSoftflowd } from "../support/real-exporters.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";

/** One session and who began it. */
interface Session {
  readonly kind: "dns" | "http" | "ssh" | "scan" | "p2p";
  readonly transport: "tcp" | "udp";
  readonly client: readonly [address: string, port: number];
  readonly server: readonly [address: string, port: number];
  /** How a TCP session goes on: with data, refused by RST, or reset by a scanner that found the port open. */
  readonly course: "data" | "refused" | "found";
}

const { fin, syn, rst, psh, ack } = tcpFlags;

/** Pseudo-random whole numbers below a limit, the same in each run. */
function createRandom(): (below: number) => number {
  let state = 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function sessions(): Session[] {
  const random = createRandom();
  const client = (): [string, number] => [`10.0.${random(8)}.${1 + random(250)}`, 32_768 + random(28_000)];
  const many = (count: number, make: (i: number) => Session): Session[] =>
    Array.from({ length: count }, (_, i) => make(i));
  const web = [80, 443, 8080] as const;
  return [
    ...many(400, () => ({
      kind: "dns",
      transport: "udp",
      client: client(),
      server: ["10.1.0.53", 53],
      course: "data",
    })),
    ...many(600, (i) => ({
      kind: "http",
      transport: "tcp",
      client: client(),
      server: [`198.51.100.${1 + random(40)}`, web[i % web.length] ?? 80],
      course: "data",
    })),
    ...many(100, () => ({
      kind: "ssh",
      transport: "tcp",
      client: client(),
      server: [`10.1.1.${1 + random(5)}`, 22],
      course: "data",
    })),
    // As scanners do it: every probe from one port, to the ports of many hosts.
    ...many(1024, (i) => ({
      kind: "scan",
      transport: "tcp",
      client: ["10.0.9.9", 54_321],
      server: [
        `10.1.2.${1 + (i >> 4)}`,
        [21, 22, 23, 25, 80, 110, 139, 143, 443, 445, 993, 3306, 3389, 5432, 8080, 8443][i & 15] ?? 1,
      ],
      course: i % 9 === 0 ? "found" : "refused",
    })),
    ...many(300, (i) => ({
      kind: "p2p",
      transport: i % 3 === 0 ? "udp" : "tcp",
      client: client(),
      server: [`203.0.113.${1 + random(250)}`, 20_000 + random(40_000)],
      course: "data",
    })),
  ];
}

/** What goes over the wire: each packet, and whether the client sends it. */
function packetsOf({
  transport,
  course,
}: Session): readonly (readonly [fromClient: boolean, flags: number, bytes: number])[] {
  if (transport === "udp")
    return [
      [true, 0, 40],
      [false, 0, 120],
    ];
  if (course === "refused")
    return [
      [true, syn, 0],
      [false, rst | ack, 0],
    ];
  if (course === "found")
    return [
      [true, syn, 0],
      [false, syn | ack, 0],
      [true, rst, 0],
    ];
  return [
    [true, syn, 0],
    [false, syn | ack, 0],
    [true, ack, 0],
    [true, psh | ack, 200],
    [false, psh | ack, 900],
    [true, ack, 0],
    [false, fin | ack, 0],
    [true, fin | ack, 0],
    [false, ack, 0],
  ];
}

function capture(all: readonly Session[]): Buffer {
  const random = createRandom();
  const start = Date.now() - 120_000;
  const bytes = (address: string): Buffer => Buffer.from(address.split(".").map(Number));
  const packets = all.flatMap((session): PcapPacket[] => {
    const begin = start + random(60_000);
    return packetsOf(session).map(([fromClient, flags, payloadLength], i) => {
      const [source, destination] = fromClient ? [session.client, session.server] : [session.server, session.client];
      const packet: IpPacket = {
        source: bytes(source[0]),
        destination: bytes(destination[0]),
        sourcePort: source[1],
        destinationPort: destination[1],
        payloadLength,
      };
      return { time: begin + 5 * i, frame: session.transport === "udp" ? udpFrame(packet) : tcpFrame(packet, flags) };
    });
  });
  return encodePcap(packets.toSorted((a, b) => a.time - b.time));
}

const keyOf = (a: readonly unknown[], b: readonly unknown[], transport: string): string =>
  [a.join(" "), b.join(" ")].toSorted().concat(transport).join(" ");

for (const version of ["5", "9", "10"] as const) {
  test(`client and server of softflowd's flows (version ${version}) are those of the labels in 99 of 100 flows that say them`, async (t) => {
    if (requireProgram(t, "softflowd", "apt-get install softflowd") === undefined) return;
    const directory = tempDirectory(t);
    const output = join(directory, "flows.ndjson");
    const file = join(directory, "capture.pcap");
    const byKey = new Map(
      sessions().map((session) => [keyOf(session.client, session.server, session.transport.toUpperCase()), session]),
    );
    writeFileSync(file, capture([...byKey.values()]));
    const collector = await startCollectorProcess({
      settings: {
        SVC_FLOW_SERVER_UDP_ENABLE: "true",
        SVC_OUTPUT_FILE_ENABLE: "true",
        SVC_OUTPUT_FILE_PATH: output,
      },
    });
    cleanUp(t, () => collector.end("SIGKILL"));
    await runSoftflowd({ directory, capture: file, port: collector.flowPort }, version);
    const records = await untilRecords(output, 2 * byKey.size);
    await collector.end();

    const tally = new Map<string, { said: number; right: number; silent: number }>();
    const methods = new Map<string, number>();
    const count = (name: string, said: unknown, right: boolean): void => {
      const of = tally.get(name) ?? { said: 0, right: 0, silent: 0 };
      tally.set(name, of);
      if (said === undefined) of.silent++;
      else {
        of.said++;
        if (right) of.right++;
      }
    };
    for (const record of records) {
      const [source, destination] = ["src", "dst"].map((end) => [
        record[`flow.${end}.ip.addr`],
        record[`flow.${end}.l4.port.id`],
      ]);
      const session = byKey.get(keyOf(source ?? [], destination ?? [], String(record["l4.proto.name"])));
      assert.ok(session !== undefined, JSON.stringify(record));
      const said = record["flow.client.ip.addr"];
      const right = said === session.client[0] && record["flow.server.l4.port.id"] === session.server[1];
      count(session.kind, said, right);
      count("all", said, right);
      const method = String(record["flow.clisrv.method"]);
      methods.set(method, (methods.get(method) ?? 0) + 1);
      // A side is named with its method, and never without.
      assert.equal(said === undefined, record["flow.clisrv.method"] === undefined);
    }
    t.diagnostic(`${JSON.stringify(Object.fromEntries(tally))} ${JSON.stringify(Object.fromEntries(methods))}`);
    const all = tally.get("all") ?? { said: 0, right: 0, silent: 0 };
    assert.ok(all.right >= 0.99 * all.said, `${all.right} of ${all.said}`);
    for (const kind of ["dns", "http", "ssh"]) {
      const { said = 0, right = 0, silent = 1 } = tally.get(kind) ?? {};
      assert.ok(right >= 0.99 * said && silent <= 0.01 * said, `${kind}: ${right} of ${said}, ${silent} say nothing`);
    }
  });
}
