import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { limitLog, silentProgress } from "../../report/index.ts";
import type { Definitions, Device } from "../definitions/definitions.ts";
import { deviceCredentials, usmCredential } from "../definitions/device-credentials.ts";
import { createDefinitionsLoader } from "../definitions/load-definitions.ts";
import { createPacer } from "../definitions/pacer.ts";
import { deviceGroupsOf } from "../definitions/reach.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import { createPlanStore } from "../discovery/plan-store.ts";
import { registerDeviceMetrics } from "../poller/device-counts.ts";
import type { DevicePoller } from "../poller/device-poller.ts";
import { createMemoryBudget } from "../discovery/memory-budget.ts";
import { rateRefusals } from "../poller/counter-change.ts";
import { createRateBudget } from "../poller/kept-counters.ts";
import type { OctetBudget } from "../poller/octet-counters.ts";
import { createRecordWriter } from "../poller/record-writer.ts";
import { createSchedule } from "../poller/schedule.ts";
import { formatOid } from "../session/oid.ts";
import { peerName } from "../session/peer.ts";
import { createSnmpClient, type SnmpClient } from "../session/snmp-client.ts";
import { SnmpError } from "../session/snmp-error.ts";
import { createDefinitionsInUse } from "./apply-definitions.ts";
import { createDeviceTable, type DeviceTable } from "./device-table.ts";
import { detailDevice, viewDevice, type DeviceView } from "./device-view.ts";
import { createDiscoveries, type Discoveries } from "./discoveries.ts";
import { createInterfaceDirectory, createInterfaceEnricher } from "./interface-directory.ts";
import { createCandidates, type NamedAddress } from "./candidates.ts";
import { createNeighbours, type Neighbour } from "./neighbours.ts";
import { createNetworkDiscovery } from "./network-discovery.ts";
import {
  createDeviceTaker,
  elsewhereDetail,
  elsewhereView,
  rediscoverElsewhere,
  sharedPlans,
  type TakenUp,
} from "./shared-devices.ts";
import type { Snmp, SnmpOptions } from "./snmp.ts";
import type { PolledIdentity } from "../sweep/settle-found.ts";
import { createLastReadings } from "../readings/last-readings.ts";
import { prometheusText } from "../readings/prometheus-text.ts";
import { createTrapListener } from "../traps/trap-listener.ts";
import { waitFor } from "./wait-for.ts";

/** Work for many devices at once is spread: so much for each, up to a minute. */
const spreadPerDevice = 25;
const maxSpread = 60_000;
/** Polls that were due while nobody ran are made up for within this time. */
const maxCatchUp = 10_000;
/** How long a restart takes that did not say when it stopped. */
const usualRestart = 15_000;

/** Between looks for addresses that neighbours and flows name. */
const usualLookMs = 5000;

/** Of all devices: some 4 000 with 50 interfaces each. */
const maxReadingRows = 400_000;

/** So many plans of an earlier run are read at a time when the poller starts. */
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
  const directory = createInterfaceDirectory();
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
  const schedule = createSchedule(clock);
  let isRunning = false;
  /** When the first work of one of so many devices begins. */
  const spread = (count: number): number => random() * Math.min(maxSpread, count * spreadPerDevice);

  const pacer = createPacer(clock);
  const memory = createMemoryBudget(maxRowBytes);
  metrics.gaugeFrom(
    "netgloss_snmp_long_tables_bytes",
    "Memory of long tables between reading and writing",
    [],
    () => memory.used,
  );

  const lastReadings = options.keepsReadings === true ? createLastReadings(maxReadingRows) : undefined;
  if (lastReadings !== undefined) {
    metrics.gaugeFrom("netgloss_snmp_readings_rows", "Rows kept for /metrics/snmp", [], () => lastReadings.counts.rows);
    metrics.counterFrom(
      "netgloss_snmp_readings_left_out_total",
      "Rows that are not in /metrics/snmp, because there are so many",
      [],
      () => lastReadings.counts.leftOut,
    );
  }
  const rates = createRateBudget(maxCountedRows);
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
  const octets: OctetBudget = { max: options.keepsCounters === true ? maxCounted : 0, used: 0, leftOut: 0 };
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

  const neighbours = options.discovery && createNeighbours();
  const devices: DeviceTable = createDeviceTable({
    client,
    schedule,
    writer: createRecordWriter(options.enricher, options.sink, clock, pacer, lastReadings, options.addsRates),
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
  const discoveries: Discoveries = createDiscoveries({
    client,
    devices,
    plans,
    memory,
    definitions: () => inUse.current,
    clock,
    log,
  });
  const inUse = createDefinitionsInUse({
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

  const networks =
    options.discovery &&
    createNetworkDiscovery({
      settings: options.discovery,
      definitions: () => inUse.current,
      polled: () => polledIdentities(pollers, inUse.current),
      leads: sharing && (() => sharing.leads()),
      async apply() {
        const applied = await inUse.apply(false);
        return applied.ok ? undefined : applied.findings.map(({ place, message }) => `${place}: ${message}`).join("; ");
      },
      clock,
      log,
      metrics,
      progress: options.progress ?? silentProgress,
      openSocket,
    });

  const candidates =
    options.discovery &&
    networks &&
    createCandidates({
      discovery: networks,
      async named() {
        const exporters = (await options.exporters?.()) ?? [];
        return namedAddresses(neighbours?.list() ?? [], exporters, pollers);
      },
      devices() {
        const polled = new Set(Array.from(inUse.current?.devices.values() ?? [], ({ ip }) => ip));
        return (address) => polled.has(address) || directory.deviceAt(address) !== undefined;
      },
      sources: options.discovery.candidates,
      lookMs: options.discovery.lookMs ?? usualLookMs,
      clock,
      log,
      metrics,
    });

  registerDeviceMetrics(metrics, () => pollers.values());
  metrics.gaugeFrom("netgloss_snmp_devices", "Devices by state", ["state"], () => {
    const counts = { undiscovered: 0, up: 0, down: 0 };
    for (const { state } of pollers.values()) counts[state]++;
    return Object.entries(counts).map(([state, count]) => [{ state }, count] as const);
  });
  metrics.gaugeFrom("netgloss_snmp_discoveries", "Discoveries by state", ["state"], () =>
    Object.entries(discoveries.counts()).map(([state, count]) => [{ state }, count] as const),
  );

  /** Takes up a plan of an earlier run, and discovers what there is none for, or one for other definitions. */
  async function begin(id: string, poller: DevicePoller, definitions: Definitions, given: TakenUp): Promise<void> {
    const own = await plans.load(id);
    const plan = given.plan === undefined || (own?.discoveredAt ?? 0) > given.plan.discoveredAt ? own : given.plan;
    if (pollers.get(id) !== poller) return;
    const isUsable = plan !== undefined && fits(plan, poller.device, definitions);
    if (isUsable) poller.resume(plan, { since: given.since, delayMs: Math.min(maxCatchUp, spread(pollers.size)) });
    if (!isUsable || plan.revision !== definitions.revision) discoveries.require(id, spread(pollers.size));
  }

  const taker = createDeviceTaker({
    devices,
    discoveries,
    definitions: () => inUse.current,
    begin,
    isRunning: () => isRunning,
    pacer,
    clock,
  });
  const polledBy = sharing === undefined ? {} : { polledBy: sharing.member };
  const view = (deviceId: string, poller: DevicePoller): DeviceView => ({
    ...viewDevice(poller, discoveries.state(deviceId), devices.pendingOf(deviceId)),
    ...polledBy,
  });
  /** Devices of the definitions that are not polled here. */
  const elsewhere = (): DeviceView[] =>
    sharing === undefined
      ? []
      : [...(inUse.current?.devices.values() ?? [])]
          .filter(({ id }) => !pollers.has(id))
          .map((device) => elsewhereView(device, sharing.memberOf(device.id)));
  const stateOf = (deviceId: string): Record<string, unknown> => {
    const poller = pollers.get(deviceId);
    return poller === undefined ? { device: deviceId, state: "removed" } : { ...view(deviceId, poller) };
  };

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
      if (ended === undefined) return { isDone: false, report: stateOf(deviceId) };
      const failure = ended.ok ? {} : { error: ended.error };
      return { isDone: true, report: { result: ended.ok ? "discovered" : "failed", ...failure, ...stateOf(deviceId) } };
    },
    devices: () =>
      [...Array.from(pollers, ([id, poller]) => view(id, poller)), ...elsewhere()].sort((a, b) =>
        a.device < b.device ? -1 : 1,
      ),
    device(id) {
      const poller = pollers.get(id);
      if (poller === undefined) return elsewhereDetail(elsewhere().find(({ device }) => device === id));
      return { ...detailDevice(poller, discoveries.state(id), devices.pendingOf(id), inUse.current), ...polledBy };
    },
  };
}

/** Who names which address, in words. */
function* namedAddresses(
  neighbours: Iterable<Neighbour>,
  exporters: readonly string[],
  pollers: ReadonlyMap<string, DevicePoller>,
): Generator<NamedAddress> {
  for (const { address, protocol, deviceId, port } of neighbours) {
    const poller = pollers.get(deviceId);
    if (poller === undefined) continue;
    const name = protocol === "lldp" ? poller.lldpPort(port) : poller.interfaces.get(port);
    const reason = `${protocol.toUpperCase()} neighbour of ${poller.device.name}, port ${name ?? port}`;
    yield { address, source: protocol, reason };
  }
  for (const address of exporters) yield { address, source: "flow", reason: "an exporter of flows" };
}

/** Of a device that another collector polls the address is known. */
function polledIdentities(
  pollers: ReadonlyMap<string, DevicePoller>,
  definitions: Definitions | undefined,
): PolledIdentity[] {
  const others = [...(definitions?.devices.values() ?? [])].filter(({ id }) => !pollers.has(id));
  return [
    ...Array.from(pollers.values(), polledIdentity),
    ...others.map(({ id, ip }) => ({
      id,
      serial: undefined,
      sysObjectId: undefined,
      sysName: undefined,
      addresses: [ip],
    })),
  ];
}

function polledIdentity({ id, plan, addresses }: DevicePoller): PolledIdentity {
  return {
    id,
    serial: plan?.facts.get("serial"),
    sysObjectId: plan?.sysObjectId && formatOid(plan.sysObjectId),
    sysName: plan?.sysName,
    addresses,
  };
}

/** Whether a plan of an earlier run still says how this device is asked, and for what. */
function fits(plan: DevicePlan, device: Device, definitions: Definitions): boolean {
  return (
    plan.credential < deviceCredentials(device).length &&
    JSON.stringify([...deviceGroupsOf(definitions, device, plan.sysObjectId)].sort()) ===
      JSON.stringify(plan.deviceGroups)
  );
}
