import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { runProgram } from "../../src/app/index.ts";
import { framings, ipPacketWith, pcapFile } from "./capture-file.ts";
import { createFakeTerminal } from "./fake-terminal.ts";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  ipv4,
  netflow9,
  netflow9Templates,
  uint,
  counterSample,
  sflow,
  structure,
} from "../../packages/testkit/index.ts";
import { mmdbFile } from "./mmdb-file.ts";
import { tempDirectory } from "./temp-directory.ts";

/** What a migrated collector is to show: a field, and a value by which dashboards of NetObserv filter or colour. */
export type DashboardFact = readonly [field: string, value: string | number | boolean];

/** Filters of its flow dashboards and detectors in its own schema (public; collected 2026-11). */
export const codexFacts: readonly DashboardFact[] = [
  ["l4.proto.name", "TCP"],
  ["l4.proto.name", "UDP"],
  ["flow.export.type", "ipfix"],
  ["flow.export.type", "netflow"],
  ["flow.locality", "private"],
  ["flow.locality", "public"],
  ["flow.src.as.org", "PRIVATE"],
  ["flow.dst.as.org", "PRIVATE"],
  ["flow.client.as.org", "PRIVATE"],
  ["flow.server.as.org", "PRIVATE"],
  ["l4.session.established", false],
  ["l4.session.established", true],
  ["tcp.flags.bits", 2],
  ["flow.dst.l4.port.id", 123],
  ["flow.src.l4.port.id", 53],
  ["flow.server.l4.port.id", 22],
];

/** The same with the names of the Elastic Common Schema. */
export const ecsFacts: readonly DashboardFact[] = [
  ["network.transport", "tcp"],
  ["network.transport", "udp"],
  ["network.type", "ipv4"],
  ["event.dataset", "ipfix"],
  ["event.dataset", "netflow"],
  ["flow.locality", "private"],
  ["source.as.organization.name", "PRIVATE"],
  ["destination.as.organization.name", "PRIVATE"],
  ["client.as.organization.name", "PRIVATE"],
  ["server.as.organization.name", "PRIVATE"],
  ["l4.session.established", false],
  ["tcp.flags.bits", 2],
  ["destination.port", 123],
  ["server.port", 22],
];

/** Fields that nothing fills here: the attack matrix of a reputation service. */
export const unfilledFields = ["mitre.attack.tactic.name", "mitre.attack.technique.name"];

/**
 * A Compose file as people have it, with variables that are not filled in, among them those of the licence, and without a port; only the
 * port of the store stands in the file `.env` beside it.
 */
const composeFile = (directory: string, isEcs: boolean): string => `services:
  collector:
    image: example/flow-collector:\${COLLECTOR_VERSION}
    network_mode: host
    environment:
      EF_LICENSE_ACCEPTED: 'true'
      EF_ACCOUNT_ID: '\${COLLECTOR_ACCOUNT_ID}'
      EF_LICENSE_KEY: '\${COLLECTOR_LICENSE_KEY}'
      EF_LICENSE_FLOW_RECORDS_PER_SECOND: '\${COLLECTOR_RECORDS}'
      #EF_API_PORT: 8080
      EF_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: 'true'
      EF_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: '${directory}/ipaddrs.yml'
      EF_PROCESSOR_ENRICH_IPADDR_DNS_USERDEF_PATH: '${directory}/user_defined.yml'
      EF_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_ENABLE: 'true'
      EF_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_PATH: '${directory}/asn.mmdb'
      EF_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_ENABLE: 'true'
      EF_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_PATH: '${directory}/city.mmdb'
      EF_PROCESSOR_ENRICH_NETIF_METADATA_ENABLE: 'true'
      EF_PROCESSOR_ENRICH_NETIF_METADATA_USERDEF_PATH: '${directory}/netifs.yml'
      EF_PROCESSOR_ENRICH_APP_IPPORT_ENABLE: 'true'
      EF_PROCESSOR_ENRICH_APP_IPPORT_PATH: '${directory}/ipport.yml'
      EF_OUTPUT_ELASTICSEARCH_ENABLE: 'true'
      EF_OUTPUT_ELASTICSEARCH_ECS_ENABLE: '${String(isEcs)}'
      EF_OUTPUT_ELASTICSEARCH_TSDS_ENABLE: 'false'
      EF_OUTPUT_ELASTICSEARCH_ADDRESSES: '127.0.0.1:\${STORE_PORT:-9200}'
      EF_OUTPUT_ELASTICSEARCH_PASSWORD: '\${STORE_PASSWORD:-}'
      EF_OUTPUT_ELASTICSEARCH_INDEX_TEMPLATE_REFRESH_INTERVAL: '1s'
      EF_OUTPUT_OPENSEARCH_ENABLE: 'false'
`;

const [inside, host, outside, resolver] = ["10.1.0.1", "10.1.0.2", "198.51.100.7", "203.0.113.53"] as const;

function writeFiles(directory: string): void {
  const write = (name: string, content: string | Buffer): void => writeFileSync(join(directory, name), content);
  write(
    "ipaddrs.yml",
    `10.1.0.0/16: {name: lan, internal: true, vlan: 12}\n192.0.2.7: {name: exporter}\n${outside}: {metadata: {.sec.threat.name: scanner}}\n`,
  );
  write("user_defined.yml", [inside, host, outside, resolver, "192.0.2.7"].map((one, i) => `${one}: h${i}\n`).join(""));
  const interfaceOf = (name: string): string => `{ifName: ${name}, ifAlias: a, ifSpeed: 1000, ifType: 6}`;
  write("netifs.yml", `192.0.2.7:\n  3: ${interfaceOf("ge-0/0/3")}\n  4: ${interfaceOf("ge-0/0/4")}\n`);
  write("ipport.yml", `10.1.0.0/16:\n  22: {name: shell, category: admin, subcategory: cli}\n`);
  const country = { iso_code: "NL", names: { en: "Netherlands" } };
  const location = { latitude: 52.4, longitude: 4.9, time_zone: "Europe/Amsterdam" };
  const place = { city: { names: { en: "Amsterdam" } }, country, location };
  const system = { autonomous_system_number: 64_500, autonomous_system_organization: "Example" };
  const networks = ["198.51.100.0/24", "203.0.113.0/24"];
  write("city.mmdb", mmdbFile(Object.fromEntries(networks.map((network) => [network, place]))));
  write("asn.mmdb", mmdbFile(Object.fromEntries(networks.map((network) => [network, system]))));
}

interface Flow {
  readonly from: string;
  readonly to: string;
  readonly protocol: number;
  readonly ports: readonly [number, number];
  readonly flags?: number;
  readonly icmp?: number;
}

const flows: readonly Flow[] = [
  { from: inside, to: host, protocol: 6, ports: [40_000, 22], flags: 0x1b },
  { from: outside, to: host, protocol: 6, ports: [40_001, 22], flags: 0x02 },
  { from: inside, to: outside, protocol: 6, ports: [40_002, 443], flags: 0x1b },
  { from: inside, to: resolver, protocol: 17, ports: [40_003, 53] },
  { from: resolver, to: inside, protocol: 17, ports: [53, 40_003] },
  { from: inside, to: outside, protocol: 17, ports: [40_004, 123] },
  { from: inside, to: outside, protocol: 1, ports: [0, 0], icmp: 0x0800 },
  { from: outside, to: inside, protocol: 1, ports: [0, 0], icmp: 0x0303 },
];

/** Flows of an exporter by IPFIX and by NetFlow v9, and counters of a switch by sFlow. */
function writeCapture(path: string): void {
  const template = {
    id: 256,
    fields: fields(
      [8, 4],
      [12, 4],
      [4, 1],
      [7, 2],
      [11, 2],
      [6, 1],
      [32, 2],
      [5, 1],
      [60, 1],
      [10, 4],
      [14, 4],
      [58, 2],
      [59, 2],
      [2, 4],
      [1, 4],
      [61, 1],
      [128, 4],
      [129, 4],
    ),
  };
  const optional = {
    id: 257,
    fields: fields([8, 4], [12, 4], [4, 1], [7, 2], [11, 2], [209, 8], [6, 1], [1, 4], [2, 4]),
  };
  const records = flows.map(({ from, to, protocol, ports, flags = 0, icmp = 0 }) => {
    const ends = [ipv4(from), ipv4(to), uint(protocol, 1), uint(ports[0], 2), uint(ports[1], 2)];
    const head = [uint(flags, 1), uint(icmp, 2), uint(0xb8, 1), uint(4, 1)];
    const way = [uint(3, 4), uint(4, 4), uint(12, 2), uint(13, 2)];
    const counters = [uint(2, 4), uint(200, 4), uint(0, 1), uint(64_501, 4), uint(64_502, 4)];
    return [ends, head, way, counters].flat();
  });
  const withOptions = [
    ipv4(inside),
    ipv4(host),
    uint(6, 1),
    uint(40_005, 2),
    uint(22, 2),
    uint(1n << 61n, 8),
    uint(2, 1),
    uint(60, 4),
    uint(1, 4),
  ];
  const datagrams = [
    ipfix([ipfixTemplates(template), dataSet(template, ...records)]),
    ipfix([ipfixTemplates(optional), dataSet(optional, withOptions)], { sequence: records.length }),
    netflow9([netflow9Templates(template), dataSet(template, ...records)]),
    sflow([counterSample([structure(1, Buffer.alloc(88))])]),
  ];
  const frame = framings[0]?.[2] ?? ((packet: Buffer) => packet);
  const time = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  const packets = datagrams.map((datagram, i) => ({
    time: time + i,
    bytes: frame(ipPacketWith(datagram, [192, 0, 2, i === 2 ? 8 : 7], [40_000, 2055])),
  }));
  writeFileSync(path, pcapFile(packets, { linkType: 1 }));
}

/**
 * Migrates a Compose file of NetObserv that is not edited, and replays a capture through the migrated settings to a store like Elasticsearch.
 *
 * @returns what the commands said.
 */
export async function replayMigrated(
  t: TestContext,
  port: number,
  isEcs: boolean,
): Promise<{ readonly migrated: string; readonly summary: string; readonly replayed: string; readonly code: number }> {
  const directory = tempDirectory(t);
  const project = join(directory, "project");
  mkdirSync(project);
  writeFiles(directory);
  writeFileSync(join(project, "docker-compose.yml"), composeFile(directory, isEcs));
  writeFileSync(join(project, ".env"), `STORE_PORT=${port}\n`);
  const capture = join(directory, "flows.pcap");
  writeCapture(capture);
  const run = async (...argv: string[]) => {
    const terminal = createFakeTerminal(argv);
    const code = await runProgram(terminal);
    return { code, ...terminal.written };
  };
  const { out: migrated, err: summary } = await run("config", "migrate", join(project, "docker-compose.yml"));
  const settings = join(directory, "netgloss.yml");
  writeFileSync(settings, migrated);
  const { code, err: replayed } = await run("replay", "--config", settings, "--outputs", capture);
  return { migrated, summary, replayed, code };
}
