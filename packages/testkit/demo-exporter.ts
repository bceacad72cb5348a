import type { Socket } from "node:dgram";
import { once } from "node:events";
import { familyBits, type Address, type Family, parseAddress } from "../../src/base/ip/index.ts";
import { type DemoFlow, pick, randomInt, type Random, type DemoStory, type InterfaceCounters } from "./demo-story.ts";
import {
  packetSet,
  type PacketSet,
  netflow9,
  netflow9Templates,
  ipfix,
  ipfixTemplates,
  bindLoopback,
} from "./flow-packets.ts";
import type { Clock, Component } from "../../src/base/report/index.ts";

/** State that an exporter puts into the header of a datagram. Times are milliseconds since the epoch. */
interface ExportState {
  readonly now: number;
  /** When the exporter started; uptimes count from here. */
  readonly bootTime: number;
  /** In the protocol's own unit: v5 and IPFIX count records, v9 counts datagrams. */
  readonly sequence: number;
  /** NetFlow v5 engine id, v9 source id, IPFIX observation domain. */
  readonly domain: number;
}

/** One field of a template: an IANA information element, its length, and how a flow fills it. */
interface TemplateField {
  readonly id: number;
  readonly length: number;
  write(record: Buffer, at: number, flow: DemoFlow, state: ExportState): void;
}

interface Template {
  readonly id: number;
  readonly fields: readonly TemplateField[];
}

type UintOf = (flow: DemoFlow, state: ExportState) => number;

const uint = (id: number, length: number, value: UintOf): TemplateField => ({
  id,
  length,
  write: (record, at, flow, state) => void record.writeUIntBE(value(flow, state), at, length),
});

const uint64 = (id: number, value: (flow: DemoFlow) => number): TemplateField => ({
  id,
  length: 8,
  write: (record, at, flow) => void record.writeBigUInt64BE(BigInt(value(flow)), at),
});

const addressField = (id: number, family: Family, value: (flow: DemoFlow) => Address): TemplateField => {
  const length = familyBits(family) / 8;
  return {
    id,
    length,
    write: (record, at, flow) =>
      void record.write(
        value(flow)
          .value.toString(16)
          .padStart(length * 2, "0"),
        at,
        length,
        "hex",
      ),
  };
};

const addresses = (family: Family): TemplateField[] =>
  family === 4
    ? [addressField(8, 4, (flow) => flow.source), addressField(12, 4, (flow) => flow.destination)]
    : [addressField(27, 6, (flow) => flow.source), addressField(28, 6, (flow) => flow.destination)];

const common: readonly TemplateField[] = [
  uint(7, 2, (flow) => flow.sourcePort),
  uint(11, 2, (flow) => flow.destinationPort),
  uint(4, 1, (flow) => flow.protocol),
  uint(6, 1, (flow) => flow.tcpFlags),
  uint(10, 4, (flow) => flow.inputInterface),
  uint(14, 4, (flow) => flow.outputInterface),
];

/** NetFlow v9: 32-bit counters, times as uptimes (RFC 3954 section 8). */
const netflow9FlowTemplates: Readonly<Record<Family, Template>> = {
  4: { id: 256, fields: [...addresses(4), ...common, ...netflowV9Tail()] },
  6: { id: 257, fields: [...addresses(6), ...common, ...netflowV9Tail()] },
};

/** IPFIX: 64-bit counters, times in milliseconds since the epoch. */
const ipfixFlowTemplates: Readonly<Record<Family, Template>> = {
  4: { id: 256, fields: [...addresses(4), ...common, ...ipfixTail()] },
  6: { id: 257, fields: [...addresses(6), ...common, ...ipfixTail()] },
};

function netflowV9Tail(): TemplateField[] {
  return [
    uint(1, 4, (flow) => flow.bytes),
    uint(2, 4, (flow) => flow.packets),
    uint(22, 4, (flow, state) => (flow.start - state.bootTime) >>> 0),
    uint(21, 4, (flow, state) => (flow.end - state.bootTime) >>> 0),
  ];
}

function ipfixTail(): TemplateField[] {
  return [
    uint64(1, (flow) => flow.bytes),
    uint64(2, (flow) => flow.packets),
    uint64(152, (flow) => flow.start),
    uint64(153, (flow) => flow.end),
  ];
}

/** The data sets of a datagram: one for each family that the flows have. */
function encodeSets(
  templates: Readonly<Record<Family, Template>>,
  flows: readonly DemoFlow[],
  state: ExportState,
): PacketSet[] {
  return ([4, 6] as const).flatMap((family) => {
    const ofFamily = flows.filter((flow) => flow.source.family === family);
    const template = templates[family];
    return ofFamily.length === 0 ? [] : [packetSet(template.id, encodeRecords(template, ofFamily, state))];
  });
}

/** The flows as data records of the template, one after the other. */
function encodeRecords(template: Template, flows: readonly DemoFlow[], state: ExportState): Buffer {
  const length = template.fields.reduce((sum, field) => sum + field.length, 0);
  const records = Buffer.alloc(length * flows.length);
  let at = 0;
  for (const flow of flows) {
    for (const field of template.fields) {
      field.write(records, at, flow, state);
      at += field.length;
    }
  }
  return records;
}

interface Service {
  readonly server: () => Address;
  readonly port: number;
  readonly protocol: number;
}

const tcp = 6;
const udp = 17;
const finishedTcpFlags = 0x1b; // FIN SYN PSH ACK

/**
 * Conversations of a small made-up company, whose addresses (of documentation and private ranges) are those of the
 * sample metadata file. Each call makes one conversation: the way there and the way back.
 *
 * @param hasTenants whether there are a warehouse and a data centre, too. @param now when the conversation ended, milliseconds since the epoch.
 */
function createDemoNetwork(
  random: Random,
  { hasTenants = false }: { readonly hasTenants?: boolean } = {},
): { conversation(family: 4 | 6, now: number): [DemoFlow, DemoFlow] } {
  const host = (prefix: string, from: number, to: number) => (): Address =>
    addressOf(`${prefix}${randomInt(random, from, to)}`);
  const at = (text: string) => (): Address => addressOf(text);

  const clients = {
    4: [
      host("10.10.10.", 10, 60),
      host("10.10.10.", 10, 60),
      host("192.0.2.", 10, 40),
      ...(hasTenants ? [host("10.20.0.", 10, 60)] : []),
    ],
    6: [host("2001:db8:10:10::", 10, 60), host("2001:db8:20::", 10, 40)],
  } as const;
  const tenants: readonly Service[] = [
    { server: host("10.30.1.", 10, 14), port: 443, protocol: tcp },
    { server: host("10.30.2.", 10, 14), port: 443, protocol: udp },
    { server: host("10.30.2.", 20, 22), port: 8443, protocol: tcp },
  ];
  const services: { 4: readonly [Service, ...Service[]]; 6: readonly [Service, ...Service[]] } = {
    4: [
      { server: at("10.10.20.5"), port: 443, protocol: tcp },
      { server: at("10.10.20.9"), port: 5432, protocol: tcp },
      { server: at("10.10.20.53"), port: 53, protocol: udp },
      { server: host("198.51.100.", 10, 20), port: 443, protocol: tcp },
      { server: host("203.0.113.", 1, 8), port: 443, protocol: udp },
      ...(hasTenants ? tenants : []),
    ],
    6: [
      { server: at("2001:db8:10:20::5"), port: 443, protocol: tcp },
      { server: at("2001:db8:10:20::53"), port: 53, protocol: udp },
      { server: host("2001:db8:ffff::", 1, 8), port: 443, protocol: tcp },
    ],
  };

  return {
    conversation(family, now) {
      const client = pick(random, clients[family])();
      const service = pick(random, services[family]);
      const server = service.server();
      const clientPort = randomInt(random, 32_768, 60_999);
      const isDns = service.port === 53;
      const packets = isDns ? 1 : randomInt(random, 4, 400);
      const start = now - (isDns ? randomInt(random, 1, 40) : randomInt(random, 100, 20_000));
      const shared = {
        protocol: service.protocol,
        tcpFlags: service.protocol === tcp ? finishedTcpFlags : 0,
        start,
        end: now,
      };
      const request: DemoFlow = {
        ...shared,
        source: client,
        destination: server,
        sourcePort: clientPort,
        destinationPort: service.port,
        packets,
        bytes: packets * randomInt(random, 60, 200),
        inputInterface: 1,
        outputInterface: 2,
      };
      const response: DemoFlow = {
        ...shared,
        source: server,
        destination: client,
        sourcePort: service.port,
        destinationPort: clientPort,
        packets,
        bytes: packets * randomInt(random, 80, 1400),
        inputInterface: 2,
        outputInterface: 1,
      };
      return [request, response];
    },
  };
}

function addressOf(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new TypeError(`not an address: ${text}`);
  return parsed;
}

const headerLength = 24;
const recordLength = 48;

/**
 * A NetFlow v5 datagram (Cisco, "NetFlow Export Datagram Format", version 5). It knows IPv4 only.
 *
 * @param flows 1 to 30 flows of IPv4.
 */
function encodeNetflowV5(flows: readonly DemoFlow[], state: ExportState): Buffer {
  const datagram = Buffer.alloc(headerLength + flows.length * recordLength);
  datagram.writeUInt16BE(5, 0);
  datagram.writeUInt16BE(flows.length, 2);
  datagram.writeUInt32BE(uptime(state.now, state), 4);
  datagram.writeUInt32BE(Math.floor(state.now / 1000), 8);
  datagram.writeUInt32BE((state.now % 1000) * 1_000_000, 12);
  datagram.writeUInt32BE(state.sequence >>> 0, 16);
  datagram.writeUInt8(0, 20);
  datagram.writeUInt8(state.domain & 0xff, 21);
  flows.forEach((flow, i) => writeRecord(datagram, headerLength + i * recordLength, flow, state));
  return datagram;
}

function writeRecord(datagram: Buffer, at: number, flow: DemoFlow, state: ExportState): void {
  datagram.writeUInt32BE(Number(flow.source.value), at);
  datagram.writeUInt32BE(Number(flow.destination.value), at + 4);
  datagram.writeUInt16BE(flow.inputInterface, at + 12);
  datagram.writeUInt16BE(flow.outputInterface, at + 14);
  datagram.writeUInt32BE(flow.packets, at + 16);
  datagram.writeUInt32BE(flow.bytes, at + 20);
  datagram.writeUInt32BE(uptime(flow.start, state), at + 24);
  datagram.writeUInt32BE(uptime(flow.end, state), at + 28);
  datagram.writeUInt16BE(flow.sourcePort, at + 32);
  datagram.writeUInt16BE(flow.destinationPort, at + 34);
  datagram.writeUInt8(flow.tcpFlags, at + 37);
  datagram.writeUInt8(flow.protocol, at + 38);
}

/** Milliseconds since the exporter started, modulo 2^32. */
function uptime(time: number, state: ExportState): number {
  return (time - state.bootTime) >>> 0;
}

/**
 * A NetFlow v9 datagram (RFC 3954).
 *
 * @param withTemplates whether the templates come first; a collector cannot read data before it has them.
 */
function encodeNetflowV9(flows: readonly DemoFlow[], withTemplates: boolean, state: ExportState): Buffer {
  const { now, bootTime, sequence, domain } = state;
  const all = Object.values(netflow9FlowTemplates);
  const sets = encodeSets(netflow9FlowTemplates, flows, state);
  return netflow9(withTemplates ? [netflow9Templates(...all), ...sets] : sets, {
    // The count is of records of all kinds, templates included.
    count: flows.length + (withTemplates ? all.length : 0),
    uptime: (now - bootTime) >>> 0,
    seconds: Math.floor(now / 1000),
    sequence: sequence >>> 0,
    domain,
  });
}

/**
 * An IPFIX message (RFC 7011).
 *
 * @param withTemplates whether the templates come first.
 */
function encodeIpfix(flows: readonly DemoFlow[], withTemplates: boolean, state: ExportState): Buffer {
  const { now, sequence, domain } = state;
  const templates = withTemplates ? [ipfixTemplates(...Object.values(ipfixFlowTemplates))] : [];
  const sets = [...templates, ...encodeSets(ipfixFlowTemplates, flows, state)];
  return ipfix(sets, { seconds: Math.floor(now / 1000), sequence: sequence >>> 0, domain });
}

export interface DemoExporterOptions {
  /** The port of this host that the datagrams go to. */
  readonly port: number;
  readonly random: Random;
  readonly clock: Clock;
  /** The interval between datagrams of each of the three exporters, in milliseconds. Default 500. */
  readonly intervalMs?: number;
  /** The number of conversations of each family in a datagram. Default 1. */
  readonly conversations?: number;
  /** Further sites and tenants, and what goes wrong there. */
  readonly story?: DemoStory;
  /** Counts what went through the interfaces. */
  readonly counters?: InterfaceCounters;
}

type Encode = (flows: readonly DemoFlow[], withTemplates: boolean, state: ExportState) => Buffer;

interface Protocol {
  /** The exporter's own address on the loopback network, which the sample metadata names. */
  readonly address: string;
  readonly encode: Encode;
  readonly families: readonly (4 | 6)[];
  /** The unit that the sequence number counts. */
  readonly counts: "records" | "datagrams";
}

const protocols: readonly Protocol[] = [
  {
    address: "127.0.1.5",
    encode: (flows, _, state) => encodeNetflowV5(flows, state),
    families: [4, 4],
    counts: "records",
  },
  { address: "127.0.1.9", encode: encodeNetflowV9, families: [4, 6], counts: "datagrams" },
  { address: "127.0.1.10", encode: encodeIpfix, families: [4, 6], counts: "records" },
];

const templateEvery = 20;

/** A datagram of one of the exporters. */
interface DemoDatagram {
  /** The place of the exporter among the three. */
  readonly exporter: number;
  readonly address: string;
  readonly bytes: Buffer;
}

/** Makes what the exporters send at a time, milliseconds since the epoch; the first one is when they began. */
type DemoDatagrams = (now: number) => readonly DemoDatagram[];

/** Three exporters, one each for NetFlow v5, v9 and IPFIX: a datagram of a few flows of each, but for those that get lost. */
export function createDemoDatagrams(
  options: Omit<DemoExporterOptions, "port" | "clock" | "intervalMs">,
): DemoDatagrams {
  const { random, conversations = 1, story, counters } = options;
  const network = createDemoNetwork(random, { hasTenants: story !== undefined });
  const sequences = protocols.map(() => 0);
  let bootTime: number | undefined;
  let round = 0;

  return (now) => {
    const withTemplates = round++ % templateEvery === 0;
    bootTime ??= now - 60_000;
    const booted = bootTime;
    return protocols.flatMap((protocol, i): readonly DemoDatagram[] => {
      const { address } = protocol;
      const families = Array.from({ length: conversations }, () => protocol.families).flat();
      const usual = families.flatMap((family): DemoFlow[] => network.conversation(family, now));
      const flows = [...usual.map((flow) => story?.shaped?.(flow, now) ?? flow), ...(story?.flows(i, now) ?? [])];
      counters?.add(address, flows);
      const sequence = sequences[i] ?? 0;
      const state = { now, bootTime: booted, sequence, domain: i + 1 };
      sequences[i] = sequence + (protocol.counts === "records" ? flows.length : 1);
      if (story?.loses(i, round) === true) return [];
      return [{ exporter: i, address, bytes: protocol.encode(flows, withTemplates, state) }];
    });
  };
}

/**
 * Sends the datagrams of the three exporters at a fixed interval over the loopback network. Where only 127.0.0.1 exists (not on Linux), all
 * send from there.
 */
export function createDemoExporter(options: DemoExporterOptions): Component {
  const { port, clock, intervalMs = 500 } = options;
  const datagrams = createDemoDatagrams(options);
  const sockets: Socket[] = [];
  let timer: NodeJS.Timeout | undefined;

  const send = (): void => {
    // A datagram that the kernel does not take is lost like any other.
    for (const { exporter, bytes } of datagrams(clock.now()))
      sockets[exporter]?.send(bytes, port, "127.0.0.1", () => {});
  };

  return {
    name: "demo exporter",
    async start() {
      for (const { address } of protocols) sockets.push(await bindLoopback(address));
      send();
      timer = setInterval(send, intervalMs);
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(sockets.splice(0).map(close));
    },
  };
}

async function close(socket: Socket): Promise<void> {
  socket.close();
  await once(socket, "close");
}
