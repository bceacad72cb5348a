import {
  autoGroup,
  genericGroup,
  type Definitions,
  type Device,
  type SnmpVersion,
  reachedObjects,
  sysoidOf,
} from "../definitions/definitions.ts";
import type { DevicePlan, PlanStore } from "../discovery/device-plan.ts";
import type { DiscoveryState } from "../discovery/discover.ts";
import { DevicePoller } from "../poller/device-poller.ts";
import type { InterfaceView } from "../poller/interface-states.ts";
import { formatOid } from "../session/ber.ts";
import type { Clock, Log } from "../../base/report/index.ts";
import type { PollerParts } from "../poller/object-polls.ts";
import { PlanCompiler } from "../poller/poll-plan.ts";
import type { RecordWriter } from "../poller/record-writer.ts";
import type { Schedule } from "../poller/poll-times.ts";
import type { SnmpClient } from "../session/snmp-client.ts";
import type { InterfaceDirectory } from "./interface-directory.ts";

/** The reasons for the groups of a device, and the objects that it lacks. */
interface DeviceReasons {
  /** A sentence on the source of its groups. */
  readonly groups: string;
  /** The objects of the groups that the last discovery did not find, by id. */
  readonly absentObjects: readonly string[];
  /** The attributes without an answer, of the objects that it has. */
  readonly absentAttributes: Readonly<Record<string, readonly string[]>>;
}

function deviceReasons(plan: DevicePlan, device: Device, definitions: Definitions): DeviceReasons {
  const reached = reachedObjects(definitions, plan.deviceGroups);
  const absentAttributes: Record<string, string[]> = {};
  for (const [id, { attributes }] of plan.objects) {
    const absent = [...(reached.get(id)?.attributes.keys() ?? [])].filter((name) => !attributes.has(name));
    if (absent.length > 0) absentAttributes[id] = absent;
  }
  return {
    groups: groupsSentence(plan, device, definitions),
    absentObjects: [...reached.keys()].filter((id) => !plan.objects.has(id)),
    absentAttributes,
  };
}

function groupsSentence({ sysObjectId }: DevicePlan, { deviceGroups }: Device, definitions: Definitions): string {
  const named = deviceGroups.filter((group) => group !== autoGroup);
  const ofFile = named.length > 0 ? `its file names ${named.join(", ")}` : "";
  if (named.length > 0 && named.length === deviceGroups.length) return ofFile;
  const known = sysObjectId === undefined ? undefined : sysoidOf(definitions, sysObjectId);
  const found =
    known !== undefined
      ? `its sysObjectID starts with ${known.oid}, which stands for ${known.groups.join(", ")}`
      : `no known start of its sysObjectID, so ${genericGroup}`;
  return ofFile === "" ? found : `${found}; ${ofFile}`;
}

/** A device for display. Times are RFC 3339; unknown facts are left out. Never contains a secret. */
export interface DeviceView {
  readonly device: string;
  readonly name: string;
  readonly ip: string;
  readonly port: number;
  readonly version: SnmpVersion;
  /** `undiscovered` until a discovery has succeeded, `down` while it does not answer, `elsewhere` if another collector polls it. */
  readonly state: DevicePoller["state"] | "elsewhere";
  /** The collector of the fleet that polls it. */
  readonly polledBy?: string;
  readonly discovery?: DiscoveryState;
  /** The effective device groups after the last discovery. */
  readonly groups: readonly string[];
  readonly plan?: { readonly objects: number; readonly attributes: number; readonly discoveredAt: string };
  readonly lastPoll?: string;
  readonly nextPoll?: string;
  readonly lastError?: { readonly time: string; readonly message: string };
  /** The changed definitions that wait for the next discovery. */
  readonly pending: readonly string[];
}

/** A device with the content of its plan. */
export interface DeviceDetail extends DeviceView {
  readonly sysName?: string;
  readonly sysDescr?: string;
  readonly sysObjectId?: string;
  /** The known facts about the device: vendor, model, os.name, os.version, serial. */
  readonly facts: Readonly<Record<string, string>>;
  readonly why?: DeviceReasons;
  /** The polled attributes by object. */
  readonly objects: Readonly<Record<string, readonly string[]>>;
  /** The names by ifIndex. */
  readonly interfaces: Readonly<Record<string, string>>;
  /** The states by ifIndex, with rates from the last two polls. */
  readonly interfaceStates: readonly InterfaceView[];
  readonly addresses: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

export function viewDevice(
  poller: DevicePoller,
  discovery: DiscoveryState | undefined,
  pending: readonly string[],
): DeviceView {
  const { device, plan, lastPoll, lastError } = poller;
  const nextPoll = poller.nextPoll();
  return {
    device: device.id,
    name: device.name,
    ip: device.ip,
    port: device.port,
    version: device.version,
    state: poller.state,
    ...(discovery !== undefined && { discovery }),
    groups: plan?.deviceGroups ?? device.deviceGroups,
    ...(plan !== undefined && {
      plan: {
        objects: plan.objects.size,
        attributes: [...plan.objects.values()].reduce((sum, { attributes }) => sum + attributes.size, 0),
        discoveredAt: timeText(plan.discoveredAt),
      },
    }),
    ...(lastPoll !== undefined && { lastPoll: timeText(lastPoll) }),
    ...(nextPoll !== undefined && { nextPoll: timeText(nextPoll) }),
    ...(lastError !== undefined && { lastError: { time: timeText(lastError.at), message: lastError.message } }),
    pending,
  };
}

export function detailDevice(
  poller: DevicePoller,
  discovery: DiscoveryState | undefined,
  pending: readonly string[],
  definitions: Definitions | undefined,
): DeviceDetail {
  const { plan, counts, requests, interfaces, addresses } = poller;
  return {
    ...viewDevice(poller, discovery, pending),
    ...(plan?.sysName !== undefined && { sysName: plan.sysName }),
    ...(plan?.sysDescr !== undefined && { sysDescr: plan.sysDescr }),
    ...(plan?.sysObjectId !== undefined && { sysObjectId: formatOid(plan.sysObjectId) }),
    facts: Object.fromEntries(plan?.facts ?? []),
    ...(plan !== undefined && definitions !== undefined && { why: deviceReasons(plan, poller.device, definitions) }),
    objects: Object.fromEntries([...(plan?.objects ?? [])].map(([id, { attributes }]) => [id, [...attributes.keys()]])),
    interfaces: Object.fromEntries(interfaces),
    interfaceStates: poller.interfaceViews(),
    addresses,
    // oxlint-disable-next-line typescript/no-misused-spread -- its counts are its fields, and its methods are not wanted
    counts: { ...requests, ...counts },
  };
}

function timeText(milliseconds: number): string {
  return new Date(Math.round(milliseconds)).toISOString();
}

interface DeviceTableParts extends Pick<
  PollerParts,
  "seen" | "rediscover" | "answersAgain" | "memory" | "octets" | "rates" | "comparesAll" | "turn"
> {
  readonly client: SnmpClient;
  readonly schedule: Schedule;
  readonly writer: RecordWriter;
  readonly clock: Clock;
  readonly log: Log;
  readonly plans: PlanStore;
  readonly directory: InterfaceDirectory;
  /** Called for each device that was removed. */
  readonly removed: (deviceId: string) => void;
}

const nothing: readonly string[] = [];

/** The polled devices by `ip:port`, with all data that is kept of each. */
export class DeviceTable {
  readonly #parts: DeviceTableParts;
  readonly #plans: PlanStore;
  readonly #directory: InterfaceDirectory;
  readonly #compiler = new PlanCompiler();
  readonly #pollers = new Map<string, DevicePoller>();
  readonly pollers: ReadonlyMap<string, DevicePoller> = this.#pollers;
  readonly #pending = new Map<string, readonly string[]>();
  readonly #stopping = new Set<Promise<void>>();

  constructor(parts: DeviceTableParts) {
    this.#parts = parts;
    this.#plans = parts.plans;
    this.#directory = parts.directory;
  }

  add(device: Device, definitions: Definitions): void {
    const learnt = (poller: DevicePoller): void => {
      // A running poll may end after the device was removed.
      if (this.pollers.get(poller.id) !== poller) return;
      const { id, addresses } = poller;
      this.#directory.change({
        deviceId: id,
        known: { ip: poller.device.ip, addresses, interfaces: poller.interfaceFacts() },
      });
    };
    this.#pollers.set(
      device.id,
      new DevicePoller({ ...this.#parts, compiler: this.#compiler, learnt }, device, definitions),
    );
  }

  /** Waits for current work, then forgets the device and its plan. */
  remove(deviceId: string): void {
    const poller = this.#drop(deviceId);
    // When it has stopped, the device may be there again, with a new plan.
    if (poller !== undefined)
      this.#whileStopping(
        poller.stop().then(() => (this.pollers.has(deviceId) ? undefined : this.#plans.remove(deviceId))),
      );
  }

  /** Stops at once and forgets the device, but not its plan, because another collector polls it. */
  async letGo(deviceId: string): Promise<void> {
    const stopped = this.#drop(deviceId)?.stop(true);
    if (stopped === undefined) return;
    this.#whileStopping(stopped);
    await stopped;
  }

  /** Returns the changed definitions that wait for the next discovery of the device, sorted. */
  pendingOf(deviceId: string): readonly string[] {
    return this.#pending.get(deviceId) ?? nothing;
  }

  addPending(deviceId: string, subjects: readonly string[]): void {
    if (subjects.length === 0) return;
    this.#pending.set(deviceId, [...new Set([...(this.#pending.get(deviceId) ?? []), ...subjects])].sort());
  }

  /** Removes the pending list, unless it has changed. */
  settlePending(deviceId: string, subjects: readonly string[]): void {
    if (this.#pending.get(deviceId) === subjects) this.#pending.delete(deviceId);
  }

  /** Begins to stop all devices; resolves when nothing is running any more. */
  async stop(): Promise<void> {
    await Promise.all([...Array.from(this.pollers.values(), (poller) => poller.stop()), ...this.#stopping]);
    this.#pollers.clear();
  }

  #drop(deviceId: string): DevicePoller | undefined {
    const poller = this.pollers.get(deviceId);
    if (poller === undefined) return undefined;
    this.#pollers.delete(deviceId);
    this.#pending.delete(deviceId);
    this.#directory.change({ deviceId });
    this.#parts.removed(deviceId);
    return poller;
  }

  #whileStopping(stopped: Promise<void>): void {
    this.#stopping.add(stopped);
    void stopped.finally(() => this.#stopping.delete(stopped));
  }
}
