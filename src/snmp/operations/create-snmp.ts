import type { Enricher, Sink } from "../../record/index.ts";
import { limitLog, type Clock, type Component, type Health, type Log, type Metrics } from "../../report/index.ts";
import type { DefinitionPaths } from "../definitions/definition-files.ts";
import type { Definitions, Device } from "../definitions/definitions.ts";
import { diffDefinitions } from "../definitions/diff-definitions.ts";
import { formatFinding, type Finding } from "../definitions/finding.ts";
import { createDefinitionsLoader } from "../definitions/load-definitions.ts";
import { deviceGroupsOf } from "../definitions/reach.ts";
import { deviceCredentials } from "../definitions/device-credentials.ts";
import { discover } from "../discovery/discover.ts";
import { createDiscoveryQueue, type DiscoveryOutcome, type DiscoveryQueue } from "../discovery/discovery-queue.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import { createPlanStore } from "../discovery/plan-store.ts";
import { registerDeviceMetrics } from "../poller/device-counts.ts";
import { createDevicePoller, type DevicePoller } from "../poller/device-poller.ts";
import { createRecordWriter } from "../poller/record-writer.ts";
import { createSchedule, type Schedule } from "../poller/schedule.ts";
import { peerName } from "../session/peer.ts";
import { createSnmpClient, type SnmpClient } from "../session/snmp-client.ts";
import { SnmpError } from "../session/snmp-error.ts";
import type { OpenUdpSocket } from "../session/udp-socket.ts";
import { applyReport, planEffects } from "./apply-plan.ts";
import { detailDevice, viewDevice, type DeviceDetail, type DeviceView } from "./device-view.ts";
import { createInterfaceDirectory, createInterfaceEnricher, type InterfaceChange } from "./interface-directory.ts";

export interface SnmpOptions {
  readonly paths: DefinitionPaths;
  /** Where plans are kept over a restart; empty: nowhere. */
  readonly persistDirectory: string;
  readonly enricher: Enricher;
  readonly sink: Sink;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly health: Health;
  /** 0 to below 1; default Math.random. */
  readonly random?: () => number;
  readonly openSocket?: OpenUdpSocket;
}

export type ApplyOutcome =
  | { readonly ok: true; readonly report: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly findings: readonly ApplyFinding[] };

export interface ApplyFinding {
  /** `file:line:column` */
  readonly place: string;
  readonly id: string;
  readonly message: string;
}

export interface RediscoveryOutcome {
  readonly isDone: boolean;
  readonly report: Readonly<Record<string, unknown>>;
}

/** The SNMP half of the collector. */
export interface Snmp extends Component {
  /**
   * Reads all definitions again and puts them to use, or, with any error, none of them. Polls go on throughout.
   * Calls run one after another.
   */
  applyDefinitions(forceRediscovery: boolean): Promise<ApplyOutcome>;
  /** Begins a discovery or joins the one under way. @returns undefined when there is no such device. */
  rediscoverDevice(
    device: { readonly ip: string; readonly port: number },
    wait?: { readonly seconds: number; readonly signal: AbortSignal },
  ): Promise<RediscoveryOutcome | undefined>;
  /** By `ip:port`, in the order of ids. */
  devices(): DeviceView[];
  device(id: string): DeviceDetail | undefined;
  /** Gives flow records the names of their exporter's interfaces. */
  readonly interfaceEnricher: Enricher;
  /** Tells another thread's directory of interfaces all that is known, then each change. @returns a function that ends it. */
  watchInterfaces(listener: (change: InterfaceChange) => void): () => void;
}

/** Discoveries at the same time; most of their time is waiting for devices. */
const maxDiscoveries = 128;
/** Work for many devices at once is spread: so much for each, up to a minute. */
const spreadPerDevice = 25;
const maxSpread = 60_000;
/** Nothing is asked again sooner than this because of what a device says of itself. */
const rediscoverEveryMs = 60_000;

const checkName = "snmp definitions";

export function createSnmp(options: SnmpOptions): Snmp {
  const { clock, metrics, health, random = Math.random } = options;
  const log = limitLog(options.log, clock);
  const loader = createDefinitionsLoader({ paths: options.paths, metrics, clock });
  const plans = createPlanStore(options.persistDirectory, metrics, log);
  const directory = createInterfaceDirectory();
  const interfaceEnricher = createInterfaceEnricher(directory, metrics);
  const writer = createRecordWriter(options.enricher, options.sink, clock);
  const pollers = new Map<string, DevicePoller>();
  const pending = new Map<string, readonly string[]>();
  const lastAsked = new Map<string, number>();
  const stopping = new Set<Promise<void>>();
  const sockets = createSnmpClient({
    metrics,
    log: options.log,
    clock,
    ...(options.openSocket !== undefined && { openSocket: options.openSocket }),
  });
  const client: SnmpClient = {
    ...sockets,
    // A discovery that is under way when the collector stops must not go on with the next credential.
    open(target) {
      if (!isRunning) throw new SnmpError("closed", "the collector is stopping");
      return sockets.open(target);
    },
  };
  const schedule: Schedule = createSchedule(clock);
  const discoveries: DiscoveryQueue = createDiscoveryQueue(runDiscovery, () => clock.monotonic(), maxDiscoveries);
  let definitions: Definitions | undefined;
  let applying: Promise<unknown> = Promise.resolve();
  let isRunning = false;

  registerDeviceMetrics(metrics, () => pollers.values());
  metrics.gaugeFrom("netgloss_snmp_devices", "Devices by state", ["state"], () =>
    (["undiscovered", "up", "down"] as const).map((state) => {
      const count = Array.from(pollers.values()).filter((poller) => poller.state === state).length;
      return [{ state }, count] as const;
    }),
  );
  metrics.gaugeFrom("netgloss_snmp_discoveries", "Discoveries by state", ["state"], () =>
    Object.entries(discoveries.counts()).map(([state, count]) => [{ state }, count] as const),
  );
  const stateChanges = metrics.counter("netgloss_snmp_applies_total", "Definitions applied again, by result", [
    "result",
  ]);

  /** When the first work of one of so many devices begins. */
  const spread = (devices: number): number => random() * Math.min(maxSpread, devices * spreadPerDevice);

  async function runDiscovery(deviceId: string): Promise<DiscoveryOutcome> {
    const poller = pollers.get(deviceId);
    const current = definitions;
    if (poller === undefined || current === undefined) return { ok: false, error: "the device was removed" };
    const { device } = poller;
    const waited = pending.get(deviceId);
    try {
      const plan = await discover(client, device, current, () => clock.now());
      if (pollers.get(deviceId) !== poller) return { ok: false, error: "the device was removed" };
      poller.counts.discoveries++;
      poller.adopt(plan, 0);
      if (pending.get(deviceId) === waited) pending.delete(deviceId);
      await plans.save(plan);
      log.info({ device: deviceId, groups: plan.deviceGroups, objects: plan.objects.size }, "SNMP device discovered");
      return { ok: true };
    } catch (error) {
      poller.counts.failedDiscoveries++;
      const message = error instanceof Error ? error.message : String(error);
      poller.discoveryFailed(message);
      if (error instanceof SnmpError) log.warn({ device: deviceId, error: message }, "SNMP discovery failed");
      else log.error({ device: deviceId, error }, "SNMP discovery failed by a fault of the collector");
      return { ok: false, error: message };
    }
  }

  function rediscover(deviceId: string, reason: string): void {
    const now = clock.monotonic();
    const last = lastAsked.get(deviceId);
    // A device whose values change at every poll must not be discovered at every poll.
    if (last !== undefined && now - last < rediscoverEveryMs && reason !== "it answers again") return;
    lastAsked.set(deviceId, now);
    log.info({ device: deviceId, reason }, "an SNMP device is discovered again");
    void discoveries.request(deviceId, 0, false);
  }

  function addPoller(device: Device, current: Definitions): DevicePoller {
    const poller = createDevicePoller(
      {
        client,
        schedule,
        writer,
        clock,
        log,
        rediscover,
        learnt: ({ id, device: { ip }, addresses, interfaces }) =>
          directory.change({ deviceId: id, known: { ip, addresses, names: interfaces } }),
      },
      device,
      current,
    );
    pollers.set(device.id, poller);
    return poller;
  }

  function removePoller(deviceId: string): void {
    const poller = pollers.get(deviceId);
    if (poller === undefined) return;
    pollers.delete(deviceId);
    pending.delete(deviceId);
    lastAsked.delete(deviceId);
    directory.change({ deviceId });
    discoveries.cancel(deviceId);
    const stopped = poller.stop().then(() => plans.remove(deviceId));
    stopping.add(stopped);
    void stopped.finally(() => stopping.delete(stopped));
  }

  /** Whether a plan of an earlier run still says how this device is asked, and for what. */
  const fits = (plan: DevicePlan, device: Device, current: Definitions): boolean =>
    plan.credential < deviceCredentials(device).length &&
    JSON.stringify([...deviceGroupsOf(current, device, plan.sysObjectId)].sort()) === JSON.stringify(plan.deviceGroups);

  function report(findings: readonly Finding[], current: Definitions): void {
    const errors = findings.filter(({ severity }) => severity === "error");
    const [first] = errors;
    const detail =
      first === undefined
        ? `revision ${current.revision.slice(0, 12)}, ${current.devices.size} devices`
        : `${errors.length} errors, what is wrong is left out: ${formatFinding(first)}`;
    health.set({ name: checkName, ready: true, detail });
    for (const finding of errors) options.log.error({ finding: formatFinding(finding) }, "SNMP definition left out");
  }

  async function applyNow(forceRediscovery: boolean): Promise<ApplyOutcome> {
    const start = clock.monotonic();
    const outcome = await loader.load("apply");
    const { definitions: next, findings } = outcome;
    if (next === undefined) {
      stateChanges.add(1, { result: "rejected" });
      const errors = findings.filter(({ severity }) => severity === "error");
      const [first] = errors.map(formatFinding);
      const detail = `revision ${definitions?.revision.slice(0, 12)} stays: the files have ${errors.length} errors: ${first}`;
      health.set({ name: checkName, ready: true, detail });
      log.warn({ errors: errors.length, first }, "SNMP definitions not applied: the old set stays in use");
      return { ok: false, findings: errors.map(applyFinding) };
    }
    const old = definitions as Definitions;
    const diff = diffDefinitions(old, next, (set, device) =>
      deviceGroupsOf(set, device, pollers.get(device.id)?.plan?.sysObjectId),
    );
    const effects = planEffects(diff, forceRediscovery);
    definitions = next;
    if (isRunning) {
      for (const [id, device] of next.devices) pollers.get(id)?.update(device, next);
      const discovered = effects.filter(({ discovery }) => discovery !== undefined).length;
      for (const effect of effects) {
        const { deviceId, isRemoved, discovery } = effect;
        const device = next.devices.get(deviceId);
        if (isRemoved) removePoller(deviceId);
        else if (device !== undefined && !pollers.has(deviceId)) addPoller(device, next);
        if (effect.pending.length > 0) {
          pending.set(deviceId, [...new Set([...(pending.get(deviceId) ?? []), ...effect.pending])].sort());
        }
        if (discovery !== undefined) void discoveries.request(deviceId, spread(discovered), true);
      }
    }
    report(findings, next);
    stateChanges.add(1, { result: "applied" });
    const seconds = (clock.monotonic() - start) / 1000;
    log.info({ revision: next.revision, devices: effects.length, seconds }, "SNMP definitions applied");
    return { ok: true, report: applyReport(next.revision, diff, effects, next.warnings.map(formatFinding), seconds) };
  }

  const stateOf = (deviceId: string): Record<string, unknown> => {
    const poller = pollers.get(deviceId);
    return poller === undefined
      ? { device: deviceId, state: "removed" }
      : { ...viewDevice(poller, discoveries.state(deviceId), pending.get(deviceId) ?? []) };
  };

  return {
    name: "snmp",
    interfaceEnricher,
    watchInterfaces: (listener) => directory.watch(listener),
    async start() {
      const { definitions: first, findings } = await loader.load("start");
      const current = first as Definitions;
      definitions = current;
      report(findings, current);
      isRunning = true;
      for (const device of current.devices.values()) addPoller(device, current);
      const delay = (): number => spread(current.devices.size);
      await Promise.all(
        [...pollers].map(async ([id, poller]) => {
          const plan = await plans.load(id);
          const isUsable = plan !== undefined && fits(plan, poller.device, current);
          if (isUsable) poller.adopt(plan, delay());
          if (!isUsable || plan.revision !== current.revision) void discoveries.request(id, delay(), false);
        }),
      );
      log.info({ devices: pollers.size, revision: current.revision }, "SNMP polling");
    },
    async stop() {
      isRunning = false;
      schedule.stop();
      const stopped = [...pollers.values()].map((poller) => poller.stop());
      // Requests that wait for silent devices would keep the process from ending.
      client.close();
      await Promise.all([applying.catch(() => {}), discoveries.stop(), ...stopped, ...stopping]);
      pollers.clear();
    },
    applyDefinitions(forceRediscovery) {
      const applied = applying.then(() => {
        if (definitions === undefined) throw new Error("SNMP has not started");
        return applyNow(forceRediscovery);
      });
      applying = applied.catch(() => {});
      return applied;
    },
    async rediscoverDevice({ ip, port }, wait) {
      const deviceId = peerName(ip, port);
      if (!pollers.has(deviceId)) return undefined;
      const outcome = discoveries.request(deviceId, 0, false);
      const ended = wait === undefined ? undefined : await waitFor(outcome, wait.seconds * 1000, wait.signal);
      if (ended === undefined) return { isDone: false, report: stateOf(deviceId) };
      return {
        isDone: true,
        report: {
          result: ended.ok ? "discovered" : "failed",
          ...(!ended.ok && { error: ended.error }),
          ...stateOf(deviceId),
        },
      };
    },
    devices: () =>
      [...pollers.keys()]
        .sort()
        .map((id) => viewDevice(pollers.get(id) as DevicePoller, discoveries.state(id), pending.get(id) ?? [])),
    device(id) {
      const poller = pollers.get(id);
      return poller && detailDevice(poller, discoveries.state(id), pending.get(id) ?? []);
    },
  };
}

function applyFinding(finding: Finding): ApplyFinding {
  const { file, line, column, id, message, suggestion } = finding;
  return {
    place: line === undefined ? file : `${file}:${line}:${column}`,
    id: id ?? "",
    message: suggestion === undefined ? message : `${message} (did you mean "${suggestion}"?)`,
  };
}

/** @returns undefined when the time was over first, or the signal aborted. */
async function waitFor<T>(promise: Promise<T>, ms: number, signal: AbortSignal): Promise<T | undefined> {
  let giveUp: () => void = () => {};
  const given = new Promise<undefined>((resolve) => (giveUp = () => resolve(undefined)));
  const timer = setTimeout(giveUp, ms);
  signal.addEventListener("abort", giveUp);
  if (signal.aborted) giveUp();
  try {
    return await Promise.race([promise, given]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}
