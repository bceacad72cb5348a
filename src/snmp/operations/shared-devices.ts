import { type Definitions, type Device, deviceCredentials, deviceGroupsOf } from "../definitions/definitions.ts";
import { type DevicePlan, type PlanStore, planText, readPlan } from "../discovery/device-plan.ts";
import type { DevicePoller } from "../poller/device-poller.ts";
import { detailDevice, viewDevice, type DeviceTable, type DeviceDetail, type DeviceView } from "./device-table.ts";
import { type Discoveries, waitFor } from "./discoveries.ts";
import type { Clock } from "../../base/report/index.ts";
import type { Pacer } from "../limits.ts";
import type { DeviceSharing, DeviceTaker, GivenDevice, RediscoveryOutcome, RemoteDiscovery } from "./snmp-options.ts";

/** The longest time in ms over which polls that were due while no collector ran are made up for. */
const maxCatchUp = 10_000;
/** The usual duration of a restart, in ms, for a run that left no time of its stop. */
const usualRestart = 15_000;
/** The most plans of an earlier run to read at a time at the start. */
const maxBeginning = 32;

/** Reports whether a plan of an earlier run is still right for this device. */
function fits(plan: DevicePlan, device: Device, definitions: Definitions): boolean {
  return (
    plan.credential < deviceCredentials(device).length &&
    JSON.stringify([...deviceGroupsOf(definitions, device, plan.sysObjectId)].sort()) ===
      JSON.stringify(plan.deviceGroups)
  );
}

interface LocalDevicesParts {
  readonly devices: DeviceTable;
  readonly discoveries: Pick<Discoveries, "join" | "require">;
  readonly plans: Pick<PlanStore, "load" | "takeStop">;
  readonly definitions: () => Definitions | undefined;
  /** Returns the delay of the first work for one of this many devices, in ms. */
  readonly spread: (devices: number) => number;
  readonly isRunning: () => boolean;
  readonly pacer: Pacer;
  readonly clock: Clock;
}

/** The time between the last poll of a collector and its end, in ms, so that an interrupted poll is made up for. */
const cutOffMs = 5000;

/** Adds and removes devices as they are assigned and taken away. */
export class LocalDevices implements DeviceTaker {
  readonly #parts: LocalDevicesParts;
  readonly #devices: DeviceTable;
  readonly #discoveries: LocalDevicesParts["discoveries"];
  readonly #pacer: Pacer;
  readonly #clock: Clock;
  /** Devices may be taken away while others of the same call are still being added. */
  readonly #ours = new Set<string>();

  constructor(parts: LocalDevicesParts) {
    this.#parts = parts;
    this.#devices = parts.devices;
    this.#discoveries = parts.discoveries;
    this.#pacer = parts.pacer;
    this.#clock = parts.clock;
  }

  /** Polls all devices of the definitions, by their plans of an earlier run if there are any. */
  async takeAll(definitions: Definitions): Promise<void> {
    for (const device of definitions.devices.values()) {
      this.#devices.add(device, definitions);
      if (this.#pacer.isDue()) await this.#pacer.rest();
    }
    const since = (await this.#parts.plans.takeStop()) ?? this.#clock.now() - usualRestart;
    const waiting = [...this.#devices.pollers].values();
    const resumeSome = async (): Promise<void> => {
      for (const [id, poller] of waiting) {
        await this.#resume(id, poller, definitions, undefined, since);
        if (this.#pacer.isDue()) await this.#pacer.rest();
      }
    };
    await Promise.all(Array.from({ length: maxBeginning }, resumeSome));
  }

  async take(given: readonly GivenDevice[]): Promise<void> {
    for (const { deviceId } of given) this.#ours.add(deviceId);
    for (const device of given) {
      if (!this.#parts.isRunning()) return;
      if (this.#ours.has(device.deviceId)) await this.#takeOne(device);
      if (this.#pacer.isDue()) await this.#pacer.rest();
    }
  }

  async release(deviceIds: readonly string[]): Promise<ReadonlyMap<string, string | undefined>> {
    const kept = new Map<string, string | undefined>();
    const ended: Promise<void>[] = [];
    for (const id of deviceIds) {
      this.#ours.delete(id);
      const plan = this.#devices.pollers.get(id)?.plan;
      kept.set(id, plan && planText(plan));
      ended.push(this.#devices.letGo(id));
    }
    await Promise.all(ended);
    return kept;
  }

  rediscover(deviceId: string): Promise<RemoteDiscovery> | undefined {
    return this.#devices.pollers.has(deviceId) ? this.#discoveries.join(deviceId) : undefined;
  }

  async #takeOne({ deviceId, plan, idleMs }: GivenDevice): Promise<void> {
    const definitions = this.#parts.definitions();
    const device = definitions?.devices.get(deviceId);
    if (definitions === undefined || device === undefined || this.#devices.pollers.has(deviceId)) return;
    this.#devices.add(device, definitions);
    const poller = this.#devices.pollers.get(deviceId);
    // A device that was never polled has no poll to make up for.
    const since = idleMs === undefined ? Infinity : this.#clock.now() - idleMs - cutOffMs;
    const known = plan === undefined ? undefined : readPlan(deviceId, plan);
    if (poller !== undefined) await this.#resume(deviceId, poller, definitions, known, since);
  }

  /**
   * Polls devices with a plan of an earlier run, and discovers those without one, or with one for other definitions.
   *
   * @param given a plan that came with the device.
   * @param since the time in ms since the epoch from which the device may not have been polled.
   */
  async #resume(
    id: string,
    poller: DevicePoller,
    definitions: Definitions,
    given: DevicePlan | undefined,
    since: number,
  ): Promise<void> {
    const { pollers } = this.#devices;
    const own = await this.#parts.plans.load(id);
    const plan = given === undefined || (own?.discoveredAt ?? 0) > given.discoveredAt ? own : given;
    if (pollers.get(id) !== poller) return;
    const delay = (): number => this.#parts.spread(pollers.size);
    const isUsable = plan !== undefined && fits(plan, poller.device, definitions);
    if (isUsable) poller.follow(plan, { since, delayMs: Math.min(maxCatchUp, delay()) });
    if (!isUsable || plan.revision !== definitions.revision) this.#discoveries.require(id, delay());
  }
}

/** Returns the view of a device that another collector polls. */
function elsewhereView(device: Device, member: string | undefined): DeviceView {
  return {
    device: device.id,
    name: device.name,
    ip: device.ip,
    port: device.port,
    version: device.version,
    state: "elsewhere",
    ...(member !== undefined && { polledBy: member }),
    groups: device.deviceGroups,
    pending: [],
  };
}

/** Returns the details known here of a device that another collector polls. */
function elsewhereDetail(view: DeviceView | undefined): DeviceDetail | undefined {
  if (view === undefined) return undefined;
  return { ...view, facts: {}, objects: {}, interfaces: {}, interfaceStates: [], addresses: [], counts: {} };
}

interface DeviceListParts {
  readonly devices: Pick<DeviceTable, "pollers" | "pendingOf">;
  readonly discoveries: Pick<Discoveries, "state">;
  readonly definitions: () => Definitions | undefined;
  readonly sharing: DeviceSharing | undefined;
}

/** Shows the devices, including those that another collector polls. */
export class DeviceList {
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
    this.#pollers = this.#devices.pollers;
    this.#polledBy = sharing === undefined ? {} : { polledBy: sharing.member };
  }

  /** Yields the devices in the order of ids. Each view is made when it is read, so a device that was removed meanwhile is left out. */
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

  /** Returns the answer to a request about the device. */
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

/** Discovers a device that another collector polls. */
export async function rediscoverElsewhere(
  device: Device,
  sharing: DeviceSharing,
  wait: { readonly seconds: number; readonly signal: AbortSignal } | undefined,
): Promise<RediscoveryOutcome> {
  const view = elsewhereView(device, sharing.memberOf(device.id));
  try {
    const { done, forget } = await sharing.rediscover(device.id);
    const ended = wait === undefined ? undefined : await waitFor(done, wait.seconds * 1000, wait.signal);
    forget();
    if (ended === undefined) return { isDone: false, report: { ...view, discovery: "queued" } };
    const failure = ended.ok ? {} : { error: ended.error };
    return { isDone: true, report: { result: ended.ok ? "discovered" : "failed", ...failure, ...view } };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { isDone: true, report: { result: "failed", error: `it was not discovered: ${message}`, ...view } };
  }
}
