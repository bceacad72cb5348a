import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { RefusedTraps } from "../traps/sender-limit.ts";
import type { NetworkDiscovery } from "./network-discovery.ts";
import type {
  ApplyOutcome,
  DefinitionsPreview,
  DeviceCounters,
  DeviceSharing,
  RediscoveryOutcome,
  SnmpOptions,
} from "./snmp-options.ts";
import { type Clock, type Component, type Log, type Metrics, limitLog } from "../../base/report/index.ts";
import { MemoryBudget } from "../limits.ts";
import { rateRefusals } from "../poller/counter-rates.ts";
import { RateBudget } from "../poller/counter-rates.ts";
import type { OctetBudget } from "../poller/interface-states.ts";
import { LastReadings } from "../readings/last-readings.ts";
import { DeviceTable } from "./device-table.ts";
import type { DeviceDetail, DeviceView } from "./device-table.ts";
import { Discoveries } from "./discoveries.ts";
import { DeviceList, LocalDevices, rediscoverElsewhere } from "./shared-devices.ts";
import { Topology } from "../topology/topology.ts";
import { usmCredential } from "../definitions/definitions.ts";
import { DefinitionsLoader } from "../definitions/load-definitions.ts";
import { Pacer } from "../limits.ts";
import { PlanStore } from "../discovery/device-plan.ts";
import { registerDeviceMetrics } from "../poller/device-counts.ts";
import { RecordWriter } from "../poller/record-writer.ts";
import { Schedule } from "../poller/poll-times.ts";
import { peerName } from "../session/peer.ts";
import { SnmpClient } from "../session/snmp-client.ts";
import { DefinitionsInUse } from "./apply-definitions.ts";
import { InterfaceDirectory, InterfaceEnricher, type InterfaceChange } from "./interface-directory.ts";
import { DeviceSearch } from "./device-search.ts";
import { Neighbours, type Candidates } from "./candidates.ts";
import { prometheusText } from "../readings/last-readings.ts";
import { TrapListener, type TrapSettings } from "../traps/trap-listener.ts";
import { waitFor } from "./discoveries.ts";

/** The budgets for the data of all devices together. */
interface Budgets {
  readonly memory: MemoryBudget;
  readonly readings: LastReadings | undefined;
  readonly rates: RateBudget;
  readonly octets: OctetBudget;
}

function registerBudgetMetrics(metrics: Metrics, { memory, readings, rates, octets }: Budgets): void {
  metrics.gaugeFrom(
    "netgloss_snmp_long_tables_bytes",
    "Memory of long tables between reading and writing",
    [],
    () => memory.used,
  );
  if (readings !== undefined) {
    metrics.gaugeFrom("netgloss_snmp_readings_rows", "Rows kept for /metrics/snmp", [], () => readings.counts.rows);
    metrics.counterFrom(
      "netgloss_snmp_readings_left_out_total",
      "Rows that are not in /metrics/snmp, because there are so many",
      [],
      () => readings.counts.leftOut,
    );
  }
  metrics.gaugeFrom(
    "netgloss_snmp_rates_rows",
    "Rows of tables whose counters are kept, to compare them with the next poll",
    [],
    () => rates.used,
  );
  metrics.counterFrom(
    "netgloss_snmp_rates_rows_left_out_total",
    "Rows whose counters were not kept for want of room: they have no rates",
    [],
    () => rates.leftOut,
  );
  metrics.counterFrom(
    "netgloss_snmp_rates_refused_total",
    "Counters without a rate between two polls, by reason",
    ["reason"],
    () => rateRefusals.map((reason) => [{ reason }, rates.refused[reason]] as const),
  );
  metrics.gaugeFrom(
    "netgloss_snmp_counted_interfaces",
    "Interfaces whose last counters are kept, to compare them with flows",
    [],
    () => octets.used,
  );
  metrics.counterFrom(
    "netgloss_snmp_counters_left_out_total",
    "Counters of interfaces that were not kept for want of room: `netgloss doctor` does not compare them with flows",
    [],
    () => octets.leftOut,
  );
}

/** Work for many devices at once is spread over this many ms for each device; below, the limit of the whole: a minute. */
const spreadPerDevice = 25;
const maxSpread = 60_000;

/** The most rows of all devices with readings: some 4 000 devices with 50 interfaces each. */
const maxReadingRows = 400_000;

/** The most rows of all devices whose counters are compared with the next poll. */
const maxCountedRows = 400_000;

/** The most interfaces of all devices with kept readings of counters: some 10 MB. */
const maxCounted = 20_000;
/** The most bytes for the rows of all long tables that are read at the same time. */
const maxRowBytes = 64 * 1024 * 1024;

/** The SNMP part of the collector. */
export class Snmp implements Component {
  readonly name = "snmp";
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #log: Log;
  readonly #sharing: DeviceSharing | undefined;
  readonly #plans: PlanStore;
  /** The links between devices; undefined if they are not inferred. */
  readonly topology: Topology | undefined;
  readonly #directory = new InterfaceDirectory();
  /** Adds the names of their exporter's interfaces to flow records. */
  readonly interfaceEnricher: InterfaceEnricher;
  readonly #client: SnmpClient;
  readonly #schedule: Schedule;
  #isRunning = false;
  readonly #pacer: Pacer;
  readonly #lastReadings: LastReadings | undefined;
  readonly #devices: DeviceTable;
  readonly #discoveries: Discoveries;
  readonly #inUse: DefinitionsInUse;
  readonly #pollers: DeviceTable["pollers"];
  readonly #traps: TrapListener | undefined;
  /** The discovery of networks; undefined if none are searched. */
  readonly networks: NetworkDiscovery | undefined;
  /** The addresses that tables or flows mention and that are no devices; undefined if no networks are searched. */
  readonly candidates: Candidates | undefined;
  readonly #local: LocalDevices;
  readonly #list: DeviceList;

  constructor(options: SnmpOptions) {
    const { clock, metrics, health, random = Math.random } = options;
    this.#clock = clock;
    this.#random = random;
    this.#log = limitLog(options.log, clock);
    this.#sharing = options.sharing;
    this.#plans = new PlanStore(options.persistDirectory, metrics, this.#log);
    this.interfaceEnricher = new InterfaceEnricher(this.#directory, metrics);
    this.#client = new SnmpClient(options, options.openSocket);
    this.#schedule = new Schedule(clock);
    this.#pacer = new Pacer(clock);
    const memory = new MemoryBudget(maxRowBytes);
    this.#lastReadings = options.keepsReadings === true ? new LastReadings(maxReadingRows) : undefined;
    const { enricher, sink } = options;
    this.topology =
      options.infersLinks === true
        ? new Topology(enricher, sink, this.#pacer, { clock, metrics }, options.linksAfterMs)
        : undefined;
    const neighbours = options.discovery && new Neighbours();
    this.#devices = this.#createDevices(options, memory, neighbours);
    this.#discoveries = new Discoveries({
      client: this.#client,
      devices: this.#devices,
      plans: this.#plans,
      sharing: options.sharing,
      memory,
      definitions: () => this.#inUse.current,
      clock,
      log: this.#log,
    });
    this.#inUse = new DefinitionsInUse({
      loader: new DefinitionsLoader({ paths: options.paths, metrics, clock, pacer: this.#pacer }),
      devices: this.#devices,
      discoveries: this.#discoveries,
      isRunning: () => this.#isRunning,
      isOurs: (deviceId) => options.sharing?.holds(deviceId) ?? true,
      changed: (definitions) => options.sharing?.offer([...definitions.devices.keys()]),
      spread: (count) => this.#spread(count),
      pacer: this.#pacer,
      clock,
      health,
      metrics,
      log: this.#log,
      findingsLog: options.log,
    });
    this.#pollers = this.#devices.pollers;
    this.#traps = options.traps && this.#createTraps(options, options.traps);
    if (options.discovery !== undefined && neighbours !== undefined) {
      const search = new DeviceSearch(options.discovery, options, {
        inUse: this.#inUse,
        pollers: this.#pollers,
        directory: this.#directory,
        neighbours,
        log: this.#log,
      });
      this.networks = search.networks;
      this.candidates = search.candidates;
    }
    registerStateMetrics(metrics, this.#pollers, this.#discoveries);
    this.#local = new LocalDevices({
      devices: this.#devices,
      discoveries: this.#discoveries,
      definitions: () => this.#inUse.current,
      plans: this.#plans,
      spread: (count) => this.#spread(count),
      isRunning: () => this.#isRunning,
      pacer: this.#pacer,
      clock,
    });
    this.#list = new DeviceList({
      devices: this.#devices,
      discoveries: this.#discoveries,
      definitions: () => this.#inUse.current,
      sharing: options.sharing,
    });
  }

  /** Reports whether an address belongs to a device: the one at which it is polled, or one of its own. */
  knows(address: string): boolean {
    return this.#directory.deviceAt(address) !== undefined;
  }

  /** Returns the counters of bytes of the device with this address; undefined if there is no such device. */
  counters(address: string): DeviceCounters | undefined {
    const device = this.#directory.deviceAt(address) ?? "";
    const poller = this.#pollers.get(device);
    if (poller === undefined) return undefined;
    const interfaces = Array.from(poller.octets(), ([index, kept]) => ({
      index,
      name: poller.interfaces.get(index),
      readings: kept,
    }));
    return { device, interfaces };
  }

  /** Reports all facts to the directory of interfaces in another thread, then each change. @returns a function that ends it. */
  watchInterfaces(listener: (change: InterfaceChange) => void): () => void {
    return this.#directory.watch(listener);
  }

  async start(): Promise<void> {
    await this.networks?.start();
    const { definitions, isWhole } = await this.#inUse.load();
    this.#isRunning = true;
    if (this.#sharing === undefined) {
      await this.#local.takeAll(definitions);
    } else {
      this.#sharing.offer([...definitions.devices.keys()]);
      await this.#sharing.start(this.#local);
    }
    // Devices that were left out because of an error keep their plans.
    if (isWhole) await this.#plans.keepOnly(new Set(definitions.devices.keys()));
    this.#log.info({ devices: this.#pollers.size, revision: definitions.revision }, "SNMP polling");
    this.candidates?.start();
    await this.#traps?.start();
  }

  async stop(): Promise<void> {
    // The other collectors take the devices with their current plans.
    await this.#sharing?.stop();
    this.#isRunning = false;
    // A running discovery must not continue with the next credential.
    this.#client.endOpening();
    await this.#traps?.stop();
    await Promise.all([this.networks?.stop(), this.candidates?.stop(), this.topology?.stop()]);
    const stoppedAt = this.#clock.now();
    this.#schedule.stop();
    const stopped = this.#devices.stop();
    // Waiting requests to silent devices would delay the end of the process.
    this.#client.close();
    await Promise.all([this.#inUse.idle(), this.#discoveries.stop(), stopped]);
    await this.#plans.noteStop(stoppedAt);
  }

  /** Returns the last readings in the Prometheus text format, in chunks; undefined if they are not kept. */
  readings(): Iterable<string> | undefined {
    return this.#lastReadings && prometheusText(this.#lastReadings);
  }

  /** Returns the port for traps and informs; undefined while none are received. */
  trapPort(): number | undefined {
    return this.#traps?.port();
  }

  /** Returns the traps that were refused because of their credentials or their time, by sender and reason. */
  refusedTraps(): readonly RefusedTraps[] {
    return this.#traps?.refused() ?? [];
  }

  /**
   * Reads all definitions again and puts them to use, or none of them if there is an error. Polls continue meanwhile. One call runs at
   * a time; a call joins one that waits.
   */
  applyDefinitions(forceRediscovery: boolean): Promise<ApplyOutcome> {
    return this.#inUse.apply(forceRediscovery);
  }

  /** Reads all definitions and returns the effects of applying them now. Changes nothing. */
  previewDefinitions(): Promise<DefinitionsPreview> {
    return this.#inUse.preview();
  }

  /** Begins a discovery or joins the running one. @returns undefined if there is no such device. */
  async rediscoverDevice(
    { ip, port }: { readonly ip: string; readonly port: number },
    wait?: { readonly seconds: number; readonly signal: AbortSignal },
  ): Promise<RediscoveryOutcome | undefined> {
    const deviceId = peerName(ip, port);
    if (!this.#pollers.has(deviceId)) {
      const device = this.#sharing && this.#inUse.current?.devices.get(deviceId);
      return device && (await rediscoverElsewhere(device, this.#sharing, wait));
    }
    const outcome = this.#discoveries.join(deviceId);
    const ended = wait === undefined ? undefined : await waitFor(outcome, wait.seconds * 1000, wait.signal);
    if (ended === undefined) return { isDone: false, report: this.#list.stateOf(deviceId) };
    const failure = ended.ok ? {} : { error: ended.error };
    return {
      isDone: true,
      report: { result: ended.ok ? "discovered" : "failed", ...failure, ...this.#list.stateOf(deviceId) },
    };
  }

  /** Returns the devices in the order of ids. Each view is made when it is read, so a device that was removed meanwhile is left out. */
  devices(): Iterable<DeviceView> {
    return this.#list.all();
  }

  device(id: string): DeviceDetail | undefined {
    return this.#list.detail(id);
  }

  #createDevices(options: SnmpOptions, memory: MemoryBudget, neighbours: Neighbours | undefined): DeviceTable {
    const rates = new RateBudget(maxCountedRows);
    const octets: OctetBudget = { max: options.keepsCounters === true ? maxCounted : 0, used: 0, leftOut: 0 };
    registerBudgetMetrics(options.metrics, { memory, readings: this.#lastReadings, rates, octets });
    return new DeviceTable({
      client: this.#client,
      schedule: this.#schedule,
      writer: new RecordWriter(
        options.enricher,
        options.sink,
        this.#clock,
        this.#pacer,
        [this.#lastReadings, this.topology].filter((reader) => reader !== undefined),
        options.addsRates,
        options.naming,
      ),
      memory,
      octets: octets.max > 0 ? octets : undefined,
      rates,
      comparesAll: options.addsRates === true,
      turn: () => this.#pacer.rest(),
      clock: this.#clock,
      log: this.#log,
      plans: this.#plans,
      directory: this.#directory,
      rediscover: (deviceId, reason) => this.#discoveries.ask(deviceId, reason),
      answersAgain: (deviceId) => this.#discoveries.answersAgain(deviceId),
      seen: neighbours && ((deviceId, object, polled) => neighbours.see(deviceId, object, polled)),
      removed: (deviceId) => {
        neighbours?.forget(deviceId);
        this.#discoveries.forget(deviceId);
        this.#lastReadings?.forget(deviceId);
        this.topology?.forget(deviceId);
      },
    });
  }

  #createTraps(options: SnmpOptions, settings: TrapSettings): TrapListener {
    return new TrapListener({
      settings,
      definitions: () => this.#inUse.current,
      deviceUsers: () =>
        [...(this.#inUse.current?.devices.values() ?? [])].flatMap(({ v3Credentials }) =>
          v3Credentials.map(usmCredential),
        ),
      senderOf: (address) => {
        const poller = this.#pollers.get(this.#directory.deviceAt(address) ?? "");
        return (
          poller && {
            name: poller.plan?.sysName ?? poller.device.name,
            interfaceName: (index) => poller.interfaces.get(index),
            pollInterfaces: () => poller.pollInterfaces(),
          }
        );
      },
      hostName: hostname(),
      enricher: options.enricher,
      sink: options.sink,
      clock: this.#clock,
      log: this.#log,
      metrics: options.metrics,
      randomBytes,
    });
  }

  /** Returns the delay of the first work for one of this many devices. */
  #spread(count: number): number {
    return this.#random() * Math.min(maxSpread, count * spreadPerDevice);
  }
}

function registerStateMetrics(
  metrics: Metrics,
  pollers: DeviceTable["pollers"],
  discoveries: Pick<Discoveries, "counts">,
): void {
  registerDeviceMetrics(metrics, () => pollers.values());
  metrics.gaugeFrom("netgloss_snmp_devices", "Devices by state", ["state"], () => {
    const counts = { undiscovered: 0, up: 0, down: 0 };
    for (const { state } of pollers.values()) counts[state]++;
    return Object.entries(counts).map(([state, count]) => [{ state }, count] as const);
  });
  metrics.gaugeFrom("netgloss_snmp_discoveries", "Discoveries by state", ["state"], () =>
    Object.entries(discoveries.counts()).map(([state, count]) => [{ state }, count] as const),
  );
}
