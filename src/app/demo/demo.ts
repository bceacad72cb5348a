import type { Socket } from "node:dgram";
import { once } from "node:events";
import { type Component, type Clock, startComponents, stopComponents, type Log } from "../../base/report/index.ts";
import {
  compareOids,
  decodeMessage,
  encodeCommunityMessage,
  errorStatus,
  readPduRest,
  type Oid,
  type Pdu,
  type VarBind,
  parseOid,
} from "../../snmp/index.ts";
import {
  bindLoopback,
  type InterfaceCounters,
  createInterfaceCounters,
  createDemoStory,
  createRandom,
  createDemoExporter,
} from "../../../packages/testkit/index.ts";
import type { Collector } from "../collector.ts";
import { curlLine } from "../service/quickstart.ts";
import { type RecentRecords, interfaceTable, recordTable } from "./recent-records.ts";

interface DemoAgent extends Component {
  /** Returns the address at which it answers; known once it is started. */
  address(): { readonly ip: string; readonly port: number };
}

const version2c = 1;
const maxBulkValues = 40;

/**
 * Creates an SNMP agent of version 2c on a loopback address, at a port that the system chooses. It answers Get, GetNext and
 * GetBulk (RFC 3416 section 4.2). It ignores other requests and other communities.
 *
 * @param values returns all current instances in order.
 */
function createDemoAgent(ip: string, community: string, values: () => readonly VarBind[]): DemoAgent {
  let socket: Socket | undefined;
  let bound = { ip, port: 0 };

  const answer = (datagram: Uint8Array): Uint8Array | undefined => {
    const message = decodeMessage(datagram);
    if (message.version !== version2c || !Buffer.from(community).equals(message.community)) return undefined;
    return encodeCommunityMessage(version2c, message.community, respond(readPduRest(message.pdu), values()));
  };

  return {
    name: `demo agent ${ip}`,
    async start() {
      const opened = await bindLoopback(ip);
      opened.on("message", (datagram, from) => {
        try {
          const response = answer(datagram);
          // An answer that the kernel does not take is lost like any other.
          if (response !== undefined) opened.send(response, from.port, from.address, () => {});
        } catch {
          // RFC 3412 section 7.2: drop messages that cannot be decoded.
        }
      });
      socket = opened;
      const { address, port } = opened.address();
      bound = { ip: address, port };
    },
    async stop() {
      if (socket === undefined) return;
      const closed = once(socket, "close");
      socket.close();
      await closed;
    },
    address: () => bound,
  };
}

function respond(request: Pdu, values: readonly VarBind[]): Pdu {
  const oids = request.varbinds.map(({ oid }) => oid);
  const response = { ...request, type: "response", errorStatus: 0, errorIndex: 0 } as const;
  switch (request.type) {
    case "get":
      return { ...response, varbinds: oids.map((oid) => getOne(values, oid)) };
    case "getNext":
      return { ...response, varbinds: oids.map((oid) => nextOne(values, oid)) };
    case "getBulk":
      // These two fields of a GetBulk are where other requests have error-status and error-index.
      return { ...response, varbinds: bulk(values, oids, request.errorStatus, request.errorIndex) };
    case "set":
    case "response":
    case "trap":
    case "inform":
    case "report":
      break;
  }
  return { ...response, errorStatus: errorStatus.genErr };
}

function getOne(values: readonly VarBind[], oid: Oid): VarBind {
  const found = values.find((value) => compareOids(value.oid, oid) === 0);
  return found ?? { oid, type: "noSuchInstance", value: null };
}

function nextOne(values: readonly VarBind[], oid: Oid): VarBind {
  const found = values.find((value) => compareOids(value.oid, oid) > 0);
  return found ?? { oid, type: "endOfMibView", value: null };
}

function bulk(values: readonly VarBind[], oids: readonly Oid[], nonRepeaters: number, repetitions: number): VarBind[] {
  const single = Math.max(nonRepeaters, 0);
  const varbinds = oids.slice(0, single).map((oid) => nextOne(values, oid));
  let row = oids.slice(single);
  for (let i = 0; i < repetitions && row.length > 0 && varbinds.length < maxBulkValues; i++) {
    const next = row.map((oid) => nextOne(values, oid));
    varbinds.push(...next);
    row = next.map(({ oid }) => oid);
  }
  return varbinds;
}

const community = "public";
const pollSeconds = 2;

const devices = [
  { name: "edge-1", ip: "127.0.1.5", interfaces: ["ge-0/0/1", "ge-0/0/2"] },
  { name: "edge-2", ip: "127.0.1.9", interfaces: ["xe-1/0/0", "xe-1/0/1"] },
] as const;

/** Creates agents for two of the exporters, so that their flows carry the names of the interfaces. */
function createDemoDevices(clock: Clock, counters: InterfaceCounters): readonly DemoAgent[] {
  const startedAt = clock.monotonic();
  const uptime = (): number => (clock.monotonic() - startedAt) / 1000;
  return devices.map(({ name, ip, interfaces }) =>
    createDemoAgent(ip, community, () =>
      deviceValues(name, interfaces, uptime(), (index) => counters.bytes(ip, index)),
    ),
  );
}

/** Returns a file of device definitions that names the started agents. */
function deviceDefinitions(agents: readonly DemoAgent[]): string {
  return agents
    .map((agent, i) => {
      const { ip, port } = agent.address();
      const login = `version: 2c, communities: [${community}]`;
      const name = devices[i]?.name ?? ip;
      return `${name}: {ip: ${ip}, port: ${port}, ${login}, poll_intervals: {dynamic: ${pollSeconds}}}\n`;
    })
    .join("");
}

/** Returns the system group, ifTable and ifXTable (RFC 3418, RFC 2863) of a device with an uptime in seconds. */
function deviceValues(
  name: string,
  interfaces: readonly string[],
  uptime: number,
  bytes: (index: number) => ReturnType<InterfaceCounters["bytes"]>,
): VarBind[] {
  const system: VarBind[] = [
    octets("1.3.6.1.2.1.1.1.0", "a simulated router"),
    // The enterprise number for documentation (RFC 5612).
    { oid: oidOf("1.3.6.1.2.1.1.2.0"), type: "ObjectIdentifier", value: oidOf("1.3.6.1.4.1.32473.1") },
    { oid: oidOf("1.3.6.1.2.1.1.3.0"), type: "TimeTicks", value: Math.floor(uptime * 100) % 2 ** 32 },
    octets("1.3.6.1.2.1.1.5.0", name),
  ];
  const rows = interfaces.flatMap((interfaceName, i): VarBind[] => {
    const index = i + 1;
    const entry = (column: number): Oid => oidOf(`1.3.6.1.2.1.2.2.1.${column}.${index}`);
    const extended = (column: number): Oid => oidOf(`1.3.6.1.2.1.31.1.1.1.${column}.${index}`);
    const { into, outOf } = bytes(index);
    return [
      { oid: entry(1), type: "Integer32", value: index },
      { oid: entry(2), type: "OctetString", value: Buffer.from(interfaceName) },
      { oid: entry(3), type: "Integer32", value: 6 },
      { oid: entry(4), type: "Integer32", value: 1500 },
      { oid: entry(5), type: "Gauge32", value: 1_000_000_000 },
      { oid: entry(7), type: "Integer32", value: 1 },
      { oid: entry(8), type: "Integer32", value: 1 },
      { oid: entry(10), type: "Counter32", value: into % 2 ** 32 },
      { oid: entry(16), type: "Counter32", value: outOf % 2 ** 32 },
      { oid: extended(1), type: "OctetString", value: Buffer.from(interfaceName) },
      { oid: extended(6), type: "Counter64", value: BigInt(into) },
      { oid: extended(10), type: "Counter64", value: BigInt(outOf) },
      { oid: extended(15), type: "Gauge32", value: 1000 },
    ];
  });
  return [...system, ...rows].toSorted((a, b) => compareOids(a.oid, b.oid));
}

function octets(instance: string, text: string): VarBind {
  return { oid: oidOf(instance), type: "OctetString", value: Buffer.from(text) };
}

function oidOf(text: string): Oid {
  const parsed = parseOid(text);
  if (parsed === undefined) throw new TypeError(`not an object identifier: ${text}`);
  return parsed;
}

/** An address of the sample metadata that occurs often in the demonstration's flows. */
const featured = "10.10.20.5";
const rowsOfEach = 2;
const firstTableMs = 1000;
const seed = 1;
const sendMs = 200;

export interface DemoOptions {
  readonly collector: Collector;
  /** The sink of the collector that keeps the records to show. */
  readonly recent: RecentRecords;
  /** Scheme, host and port of the API once the collector runs. */
  readonly apiBase: () => string;
  /** Writes the definitions of the devices, before the collector starts. */
  readonly defineDevices: (text: string) => void;
  /** Writes to the terminal. */
  readonly out: (text: string) => void;
  /** The interval at which records are shown, milliseconds. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Creates a collector, exporters that send to it and SNMP agents that it polls. Shows the newest records as a table at intervals. */
export function createDemo(options: DemoOptions): Component {
  const { collector, recent, apiBase, defineDevices, out, intervalMs, clock, log } = options;
  let running: Component[] = [];
  let timer: NodeJS.Timeout | undefined;

  const show = (): void => {
    const records = recent.latest(rowsOfEach, featured);
    out(records.length === 0 ? "\nno records yet\n" : `\n${recordTable(records)}`);
    const interfaces = recent.interfaces();
    if (interfaces.length > 0) out(`\nInterfaces, polled by SNMP:\n${interfaceTable(interfaces)}`);
    timer = setTimeout(show, intervalMs);
  };

  return {
    name: "demo",
    async start() {
      const counters = createInterfaceCounters();
      const agents = createDemoDevices(clock, counters);
      await startComponents(agents, log);
      running = [...agents];
      let port = 0;
      try {
        defineDevices(deviceDefinitions(agents));
        await startComponents([collector], log);
        running = [...agents, collector];
        port = collector.flowPorts()[0] ?? 0;
        const random = createRandom(seed);
        const story = createDemoStory(random, clock.now());
        const exporter = createDemoExporter({
          port,
          random,
          clock,
          intervalMs: sendMs,
          conversations: 2,
          story,
          counters,
        });
        await startComponents([exporter], log);
        running = [...agents, collector, exporter];
      } catch (error) {
        await stopComponents(running, log);
        throw error;
      }
      out(introduction(apiBase(), port));
      timer = setTimeout(show, firstTableMs);
    },
    async stop() {
      clearTimeout(timer);
      await stopComponents(running, log);
    },
  };
}

function introduction(apiBase: string, port: number): string {
  const rename = { udm: { key: featured, name: "web-shop" }, update_mask: "name" };
  return `${apiBase}/

Open that in a browser. Three exporters (NetFlow v5, NetFlow v9, IPFIX) send
flows of a small company to UDP port ${port}; two of them are polled by SNMP.
Names come from metadata. Below are the newest flows, by name.

Records of two days before are made up, too. Three things are wrong in this
network, and one is new. Can you find them?
  - a host scans the servers of the tenants
  - a backup fills a link
  - an exporter loses datagrams
  - a tenant sends far more than the day before

${featured} is called web-1. Give it another name from a second terminal and see
it in the next table:

  ${curlLine(apiBase, "UpdateUdm", rename)}

Ctrl-C ends it; nothing is kept.
`;
}
