import { join, resolve } from "node:path";
import type { TestContext } from "node:test";
import {
  createHealth,
  createMetrics,
  silentLog,
  systemClock,
  type Clock,
  type Log,
} from "../../src/base/report/index.ts";
import {
  Snmp,
  definitionPathsIn,
  type DeviceDetail,
  type DeviceSharing,
  type DiscoverySettings,
} from "../../src/snmp/index.ts";
import { cleanUp } from "./clean-up.ts";
import { DefinitionTree, type Files } from "./definition-tree.ts";
import {
  createFakeNetwork,
  createSnmpAgent,
  octets,
  oidOf,
  type AgentOptions,
  type SnmpAgent,
} from "./snmp-agent/index.ts";
import { smallTable, usmUser } from "./snmp-session-fixture.ts";
import { until } from "./until.ts";

/** The small device with a name for one interface, so that it has a row of ifXTable. */
export const rigTable = smallTable.with([{ oid: oidOf("1.3.6.1.2.1.31.1.1.1.1.1"), value: octets("lo") }]);

const shippedDirectory = resolve(import.meta.dirname, "../../../definitions");

export type SnmpRecord = Readonly<Record<string, unknown>>;

/** The whole SNMP room over a network within the process, with one agent, `r1` at 192.0.2.1:161, to begin with. */
export class SnmpRig {
  readonly network = createFakeNetwork();
  readonly records: SnmpRecord[] = [];
  readonly health = createHealth();
  metrics = createMetrics();
  readonly tree: DefinitionTree;
  readonly clock: Clock;
  persistDirectory = "";
  addsRates = false;
  infersLinks = false;
  /** Whether the definitions are those that are shipped, with the devices of the test. */
  shipped = false;
  /** Set before it starts: searches networks, with the settings of a quick test where none are given. */
  discovery: Partial<DiscoverySettings> | undefined;
  /** Set before it starts: shares the devices. */
  sharing: DeviceSharing | undefined;
  log: Log = silentLog;
  agent: SnmpAgent;
  snmp: Snmp;

  constructor(tree: DefinitionTree, agent: SnmpAgent, clock: Clock) {
    this.tree = tree;
    this.clock = clock;
    this.agent = agent;
    this.network.attachAgent("192.0.2.1", 161, agent);
    this.snmp = this.create();
  }

  /** Where discovery of networks writes device files. */
  get foundDirectory(): string {
    return join(this.tree.directory, "found");
  }

  create(): Snmp {
    this.metrics = createMetrics();
    const own = definitionPathsIn(this.tree.directory);
    const paths = this.shipped ? { ...definitionPathsIn(shippedDirectory), devices: own.devices } : own;
    return new Snmp({
      paths: this.discovery === undefined ? paths : { ...paths, devices: [...paths.devices, this.foundDirectory] },
      ...(this.discovery !== undefined && {
        discovery: { ...quickDiscovery(this.tree.directory, this.foundDirectory), ...this.discovery },
      }),
      persistDirectory: this.persistDirectory,
      enricher: { enrich: (record) => void record.set("enriched", true) },
      sink: {
        write: (lines) => {
          for (const line of Buffer.from(lines).toString().trimEnd().split("\n")) {
            this.records.push(JSON.parse(line) as SnmpRecord);
          }
        },
      },
      clock: this.clock,
      log: this.log,
      metrics: this.metrics,
      health: this.health,
      random: () => 0,
      openSocket: this.network.open,
      addsRates: this.addsRates,
      infersLinks: this.infersLinks,
      linksAfterMs: 100,
      sharing: this.sharing,
    });
  }

  /** Ends this collector and begins another on the same files. */
  async restart(): Promise<void> {
    await this.snmp.stop();
    this.snmp = this.create();
    await this.snmp.start();
  }

  device(id = "192.0.2.1:161"): DeviceDetail {
    const device = this.snmp.device(id);
    if (device === undefined) throw new Error(`no device ${id}`);
    return device;
  }

  count(name: string, labels = { device: "192.0.2.1:161" } as Record<string, string>): Promise<number | undefined> {
    return this.metrics.value(`netgloss_snmp_device_${name}`, labels);
  }

  discoveries(result = "ok"): Promise<number | undefined> {
    return this.count("discoveries_total", { device: "192.0.2.1:161", result });
  }

  of(object: string): SnmpRecord[] {
    return this.records.filter((record) => record["snmp.object.name"] === object);
  }

  /** Waits until the device has been discovered and polled once. */
  async polled(): Promise<void> {
    await until("the first poll", () => this.of("SNMPv2-MIB::system").length > 0);
  }
}

function quickDiscovery(directory: string, devicesDirectory: string): DiscoverySettings {
  return {
    networksPath: join(directory, "networks.yml"),
    devicesDirectory,
    intervalMs: 0,
    maxAddresses: 4096,
    perSecond: 100_000,
    maxInFlight: 300,
    candidates: [],
    lookMs: 50,
  };
}

/** A device polled each second for everything; it gives up on silence after 0.4 s. */
export const quickDevice =
  "r1:\n  ip: 192.0.2.1\n  communities: [public]\n  device_groups: [router]\n  timeout: 400\n  retries: 0\n" +
  "  poll_interval: 1\n  poll_intervals: {dynamic: 1, stable: 1}\n";

/** The same device with a time-out that a busy machine does not reach. */
export const patientDevice = quickDevice.replace("timeout: 400", "timeout: 10000");

export async function startSnmpRig(
  t: TestContext,
  options: {
    readonly files?: Files;
    readonly agent?: Partial<AgentOptions>;
    readonly start?: boolean;
    readonly persist?: string;
    readonly addsRates?: boolean;
    readonly infersLinks?: boolean;
    readonly clock?: Clock;
    readonly discovery?: Partial<DiscoverySettings>;
    readonly sharing?: DeviceSharing;
    readonly log?: Log;
    readonly shipped?: boolean;
  } = {},
): Promise<SnmpRig> {
  const tree = await DefinitionTree.make(t, { "devices/lab.yml": quickDevice, ...options.files });
  const agent = createSnmpAgent({ table: rigTable, users: [usmUser], ...options.agent });
  const rig = new SnmpRig(tree, agent, options.clock ?? systemClock);
  rig.discovery = options.discovery;
  rig.sharing = options.sharing;
  rig.log = options.log ?? silentLog;
  rig.addsRates = options.addsRates === true;
  rig.infersLinks = options.infersLinks === true;
  rig.shipped = options.shipped === true;
  rig.persistDirectory = options.persist ?? "";
  const { persist, addsRates, infersLinks, discovery, sharing, log, shipped } = options;
  if ([persist, addsRates, infersLinks, discovery, sharing, log, shipped].some((option) => option !== undefined)) {
    rig.snmp = rig.create();
  }
  cleanUp(t, () => rig.snmp.stop());
  if (options.start !== false) await rig.snmp.start();
  return rig;
}
