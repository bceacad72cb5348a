import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { type Metrics, limitLog } from "../../base/report/index.ts";
import { type MemoryBudget, createMemoryBudget } from "../limits.ts";
import { rateRefusals } from "../poller/counter-rates.ts";
import { type RateBudget, createRateBudget } from "../poller/counter-rates.ts";
import type { OctetBudget } from "../poller/interface-states.ts";
import { type LastReadings, createLastReadings } from "../readings/last-readings.ts";
import type { Definitions } from "../definitions/definitions.ts";
import type { DeviceSharing } from "./snmp.ts";
import { DeviceTable } from "./device-table.ts";
import { detailDevice, viewDevice, type DeviceDetail, type DeviceView } from "./device-table.ts";
import { Discoveries } from "./discoveries.ts";
import {
  elsewhereDetail,
  elsewhereView,
  createDeviceTaker,
  rediscoverElsewhere,
  sharedPlans,
} from "./shared-devices.ts";
import { usmCredential } from "../definitions/definitions.ts";
import { createDefinitionsLoader } from "../definitions/load-definitions.ts";
import { createPacer } from "../limits.ts";
import { createPlanStore } from "../discovery/device-plan.ts";
import { registerDeviceMetrics } from "../poller/device-counts.ts";
import type { DevicePoller } from "../poller/device-poller.ts";
import { RecordWriter } from "../poller/record-writer.ts";
import { Schedule } from "../poller/poll-times.ts";
import { peerName } from "../session/peer.ts";
import { createSnmpClient, type SnmpClient } from "../session/snmp-client.ts";
import { SnmpError } from "../session/snmp-error.ts";
import { DefinitionsInUse } from "./apply-definitions.ts";
import { InterfaceDirectory, createInterfaceEnricher } from "./interface-directory.ts";
import { createDeviceSearch } from "./device-search.ts";
import { Neighbours } from "./candidates.ts";
import type { Snmp, SnmpOptions } from "./snmp.ts";
import { prometheusText } from "../readings/last-readings.ts";
import { createTrapListener } from "../traps/trap-listener.ts";
import { createTakeUp } from "./shared-devices.ts";
import { waitFor } from "./discoveries.ts";

/** What is kept of all devices together, each within its bound. */
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

interface DeviceListParts {
  readonly devices: Pick<DeviceTable, "pollers" | "pendingOf">;
  readonly discoveries: Pick<Discoveries, "state">;
  readonly definitions: () => Definitions | undefined;
  readonly sharing: DeviceSharing | undefined;
}

/** The devices as they are shown, those that another collector polls included. */
class DeviceList {
  readonly #devices: Pick<DeviceTable, "pollers" | "pendingOf">;
  readonly #discoveries: Pick<Discoveries, "state">;
  readonly #definitions: () => Definitions | undefined;
  readonly #sharing: DeviceSharing | undefined;
  readonly #pollers: ReadonlyMap<string, DevicePoller>;
  readonly #polledBy: { polledBy?: never } | { polledBy: string };

  constructor({ devices, discoveries, definitions, sharing }: DeviceListParts) {
    this.#devices = devices;
    this.#discoveries = discoveries;
    this.#definitions = definitions;
    this.#sharing = sharing;
    this.#pollers = devices.pollers;
    this.#polledBy = sharing === undefined ? {} : { polledBy: sharing.member };
  }

  /** In the order of ids. A view is made when it is asked for: a device that went meanwhile is left out. */
  *all(): Iterable<DeviceView> {
    const others = this.#sharing === undefined ? [] : (this.#definitions()?.devices.keys() ?? []);
    for (const id of [...new Set([...this.#pollers.keys(), ...others])].sort()) {
      const view = this.#ownView(id) ?? this.#viewElsewhere(id);
      if (view !== undefined) yield view;
    }
  }

  detail(id: string): DeviceDetail | undefined {
    const poller = this.#pollers.get(id);
    if (poller === undefined) return elsewhereDetail(this.#viewElsewhere(id));
    return {
      ...detailDevice(poller, this.#discoveries.state(id), this.#devices.pendingOf(id), this.#definitions()),
      ...this.#polledBy,
    };
  }

  /** What a request that was about the device answers. */
  stateOf(id: string): Record<string, unknown> {
    return { ...(this.#ownView(id) ?? { device: id, state: "removed" }) };
  }

  #ownView(id: string): DeviceView | undefined {
    const poller = this.#pollers.get(id);
    return (
      poller && { ...viewDevice(poller, this.#discoveries.state(id), this.#devices.pendingOf(id)), ...this.#polledBy }
    );
  }

  #viewElsewhere(id: string): DeviceView | undefined {
    const device = this.#sharing && this.#definitions()?.devices.get(id);
    return device && elsewhereView(device, this.#sharing.memberOf(id));
  }
}

/** Work for many devices at once is spread: this much for each, up to a minute. */
const spreadPerDevice = 25;
const maxSpread = 60_000;
/** How long a restart takes that did not say when it stopped. */
const usualRestart = 15_000;

/** Of all devices: some 4 000 with 50 interfaces each. */
const maxReadingRows = 400_000;

/** How many plans of an earlier run are read at a time when the poller starts. */
const maxBeginning = 32;

/** Rows of all devices whose counters are compared with the next poll. */
const maxCountedRows = 400_000;

/** Interfaces of all devices of which readings of counters are kept: some 10 MB. */
const maxCounted = 20_000;
/** For the rows of all long tables of all devices that are read at the same time. */
const maxRowBytes = 64 * 1024 * 1024;

export function createSnmp(options: SnmpOptions): Snmp {
  const { clock, metrics, health, random = Math.random } = options;
  const log = limitLog(options.log, clock);
  const { sharing } = options;
  const ownPlans = createPlanStore(options.persistDirectory, metrics, log);
  const plans = sharing === undefined ? ownPlans : sharedPlans(ownPlans, sharing);
  const directory = new InterfaceDirectory();
  const interfaceEnricher = createInterfaceEnricher(directory, metrics);
  const { openSocket } = options;
  const sockets = createSnmpClient({
    metrics,
    log: options.log,
    clock,
    ...(openSocket !== undefined && { openSocket }),
  });
  const client: SnmpClient = {
    ...sockets,
    // A discovery that is under way when the collector stops must not go on with the next credential.
    open(target) {
      if (!isRunning) throw new SnmpError("closed", "the collector is stopping");
      return sockets.open(target);
    },
  };
  const schedule = new Schedule(clock);
  let isRunning = false;
  /** When the first work of one of this many devices begins. */
  const spread = (count: number): number => random() * Math.min(maxSpread, count * spreadPerDevice);

  const pacer = createPacer(clock);
  const memory = createMemoryBudget(maxRowBytes);
  const lastReadings = options.keepsReadings === true ? createLastReadings(maxReadingRows) : undefined;
  const rates = createRateBudget(maxCountedRows);
  const octets: OctetBudget = { max: options.keepsCounters === true ? maxCounted : 0, used: 0, leftOut: 0 };
  registerBudgetMetrics(metrics, { memory, readings: lastReadings, rates, octets });

  const neighbours = options.discovery && new Neighbours();
  const devices: DeviceTable = new DeviceTable({
    client,
    schedule,
    writer: new RecordWriter(
      options.enricher,
      options.sink,
      clock,
      pacer,
      lastReadings,
      options.addsRates,
      options.naming,
    ),
    memory,
    octets: octets.max > 0 ? octets : undefined,
    rates,
    comparesAll: options.addsRates === true,
    turn: () => pacer.rest(),
    clock,
    log,
    plans,
    directory,
    rediscover: (deviceId, reason) => discoveries.ask(deviceId, reason),
    answersAgain: (deviceId) => discoveries.answersAgain(deviceId),
    seen: neighbours && ((deviceId, object, polled) => neighbours.see(deviceId, object, polled)),
    removed(deviceId) {
      neighbours?.forget(deviceId);
      discoveries.forget(deviceId);
      lastReadings?.forget(deviceId);
    },
  });
  const discoveries: Discoveries = new Discoveries({
    client,
    devices,
    plans,
    memory,
    definitions: () => inUse.current,
    clock,
    log,
  });
  const inUse = new DefinitionsInUse({
    loader: createDefinitionsLoader({ paths: options.paths, metrics, clock, pacer }),
    devices,
    discoveries,
    isRunning: () => isRunning,
    isOurs: (deviceId) => sharing?.holds(deviceId) ?? true,
    changed: (definitions) => sharing?.offer([...definitions.devices.keys()]),
    spread,
    pacer,
    clock,
    health,
    metrics,
    log,
    findingsLog: options.log,
  });
  const { pollers } = devices;
  const traps =
    options.traps &&
    createTrapListener({
      settings: options.traps,
      definitions: () => inUse.current,
      deviceUsers: () =>
        [...(inUse.current?.devices.values() ?? [])].flatMap(({ v3Credentials }) => v3Credentials.map(usmCredential)),
      senderOf(address) {
        const poller = pollers.get(directory.deviceAt(address) ?? "");
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
      clock,
      log,
      metrics,
      randomBytes,
    });

  const { networks, candidates } = createDeviceSearch(options, {
    inUse,
    pollers,
    directory,
    neighbours: () => neighbours?.list() ?? [],
    log,
  });
  registerStateMetrics(metrics, pollers, discoveries);

  const begin = createTakeUp({ devices, discoveries, plans, spread });
  /** Polls all devices of the definitions, by their plans of an earlier run where there are any. */
  const takeAll = async (definitions: Definitions): Promise<void> => {
    for (const device of definitions.devices.values()) {
      devices.add(device, definitions);
      if (pacer.isDue()) await pacer.rest();
    }
    const since = (await plans.takeStop()) ?? clock.now() - usualRestart;
    const waiting = [...pollers].values();
    const beginSome = async (): Promise<void> => {
      for (const [id, poller] of waiting) {
        await begin(id, poller, definitions, { plan: undefined, since });
        if (pacer.isDue()) await pacer.rest();
      }
    };
    await Promise.all(Array.from({ length: maxBeginning }, beginSome));
  };
  const taker = createDeviceTaker({
    devices,
    discoveries,
    definitions: () => inUse.current,
    begin,
    isRunning: () => isRunning,
    pacer,
    clock,
  });
  const list = new DeviceList({ devices, discoveries, definitions: () => inUse.current, sharing });

  return {
    name: "snmp",
    interfaceEnricher,
    knows: (address) => directory.deviceAt(address) !== undefined,
    counters(address) {
      const device = directory.deviceAt(address) ?? "";
      const poller = pollers.get(device);
      if (poller === undefined) return undefined;
      const interfaces = Array.from(poller.octets(), ([index, kept]) => ({
        index,
        name: poller.interfaces.get(index),
        readings: kept,
      }));
      return { device, interfaces };
    },
    watchInterfaces: (listener) => directory.watch(listener),
    networks,
    candidates,
    async start() {
      await networks?.start();
      const { definitions, isWhole } = await inUse.load();
      isRunning = true;
      if (sharing === undefined) {
        await takeAll(definitions);
      } else {
        sharing.offer([...definitions.devices.keys()]);
        await sharing.start(taker);
      }
      // Devices that were left out because of an error keep their plans.
      if (isWhole) await plans.keepOnly(new Set(definitions.devices.keys()));
      log.info({ devices: pollers.size, revision: definitions.revision }, "SNMP polling");
      candidates?.start();
      await traps?.start();
    },
    async stop() {
      // Others take the devices with the plans that are there now.
      await sharing?.stop();
      isRunning = false;
      await traps?.stop();
      await Promise.all([networks?.stop(), candidates?.stop()]);
      const stoppedAt = clock.now();
      schedule.stop();
      const stopped = devices.stop();
      // Requests that wait for silent devices would keep the process from ending.
      client.close();
      await Promise.all([inUse.idle(), discoveries.stop(), stopped]);
      await plans.noteStop(stoppedAt);
    },
    readings: () => lastReadings && prometheusText(lastReadings),
    trapPort: () => traps?.port(),
    refusedTraps: () => traps?.refused() ?? [],
    applyDefinitions: (forceRediscovery) => inUse.apply(forceRediscovery),
    previewDefinitions: () => inUse.preview(),
    async rediscoverDevice({ ip, port }, wait) {
      const deviceId = peerName(ip, port);
      if (!pollers.has(deviceId)) {
        const device = sharing && inUse.current?.devices.get(deviceId);
        return device && (await rediscoverElsewhere(device, sharing, wait));
      }
      const outcome = discoveries.join(deviceId);
      const ended = wait === undefined ? undefined : await waitFor(outcome, wait.seconds * 1000, wait.signal);
      if (ended === undefined) return { isDone: false, report: list.stateOf(deviceId) };
      const failure = ended.ok ? {} : { error: ended.error };
      return {
        isDone: true,
        report: { result: ended.ok ? "discovered" : "failed", ...failure, ...list.stateOf(deviceId) },
      };
    },
    devices: () => list.all(),
    device: (id) => list.detail(id),
  };
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
