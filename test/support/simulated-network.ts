// A /20 of loopback addresses, of which one in twenty is an agent on UDP, for tests and benches of discovery.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createMetrics, Progress, silentLog, systemClock, type Metrics } from "../../src/base/report/index.ts";
import {
  DefinitionsLoader,
  NetworkDiscovery,
  definitionPathsIn,
  type Definitions,
  type DiscoverySettings,
  type UsmCredential,
} from "../../src/snmp/index.ts";
import { createSnmpAgent, listen, octets, oidOf, type AgentOptions, type ListeningAgent } from "./snmp-agent/index.ts";
import { smallTable } from "./snmp-session-fixture.ts";

const user: UsmCredential = {
  version: "3",
  username: "sweeper",
  authenticationProtocol: "sha256",
  authenticationPassphrase: "authentication",
  privacyProtocol: "aes",
  privacyPassphrase: "privacy privacy",
};

const kinds: readonly Omit<AgentOptions, "table">[] = [
  { communities: ["first"], versions: ["2c"] },
  { communities: ["second"], versions: ["1", "2c"] },
  { communities: [], users: [user], versions: ["3"] },
];

export interface SimulatedNetwork {
  /** How many agents answer, each a device. */
  readonly devices: number;
  /** How many further addresses the first of them answer at. */
  readonly duplicates: number;
  readonly discovery: NetworkDiscovery;
  readonly metrics: Metrics;
  close(): Promise<void>;
}

/** @param folder for the file of networks and the devices that are found. */
export async function startSimulatedNetwork(
  folder: string,
  { definitionsFolder, ...settings }: Partial<DiscoverySettings> & { readonly definitionsFolder: string },
): Promise<SimulatedNetwork> {
  const duplicates = 5;
  const agents: ListeningAgent[] = [];
  let port = 0;
  const devices = 200;
  for (let i = 0; i < devices + duplicates; i++) {
    const device = i % devices;
    const engine = Buffer.from(`engine-${String(device).padStart(4, "0")}`);
    const table = smallTable.with([
      { oid: oidOf("1.3.6.1.2.1.1.5.0"), value: octets(`sw-${device}`) },
      { oid: oidOf("1.3.6.1.6.3.10.2.1.1.0"), value: { type: "OctetString", value: engine } },
    ]);
    const agent = createSnmpAgent({ ...kinds[device % kinds.length], table, engineId: engine });
    const host = 19 * i + 5;
    const listening = await listen(agent, `127.16.${host >> 8}.${host & 255}`, port);
    ({ port } = listening);
    agents.push(listening);
  }
  const networksPath = join(folder, "networks.yml");
  writeFileSync(
    networksPath,
    `lab:\n  ranges: [127.16.0.0/20]\n  port: ${port}\n  timeout: 500\n  retries: 0\n  communities: [first, second]\n` +
      "  v3_credentials:\n    - username: sweeper\n      authentication_protocol: sha256\n" +
      "      authentication_passphrase: authentication\n      privacy_protocol: aes\n      privacy_passphrase: privacy privacy\n",
  );
  const devicesDirectory = join(folder, "found");
  const paths = definitionPathsIn(definitionsFolder);
  const loader = new DefinitionsLoader({
    paths: { ...paths, devices: [...paths.devices, devicesDirectory] },
    metrics: createMetrics(),
    clock: systemClock,
  });
  let definitions: Definitions | undefined;
  const load = async (): Promise<string | undefined> => {
    const loaded = await loader.load("apply");
    definitions = loaded.definitions ?? definitions;
    return loaded.definitions === undefined ? loaded.findings[0]?.message : undefined;
  };
  const metrics = createMetrics();
  const discovery = new NetworkDiscovery({
    settings: {
      networksPath,
      devicesDirectory,
      intervalMs: 0,
      maxAddresses: 4096,
      perSecond: 1000,
      maxInFlight: 1024,
      candidates: [],
      ...settings,
    },
    definitions: () => definitions,
    polled: () => [],
    apply: load,
    clock: systemClock,
    log: silentLog,
    metrics,
    progress: new Progress(systemClock),
  });
  await discovery.start();
  await load();
  return {
    devices,
    duplicates,
    discovery,
    metrics,
    async close() {
      await discovery.stop();
      await Promise.all(agents.map((agent) => agent.close()));
    },
  };
}
