import { autoGroup, genericGroup, type Definitions, type Device } from "../definitions/definitions.ts";
import { reachedObjects, sysoidOf } from "../definitions/reach.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import type { DiscoveryState } from "../discovery/discovery-queue.ts";
import type { DevicePoller } from "../poller/device-poller-contract.ts";
import type { InterfaceView } from "../poller/interface-states.ts";
import { formatOid } from "../session/oid.ts";

/** Why a device is taken for what it is, and what it was asked for in vain. */
interface DeviceReasons {
  /** A sentence on where its groups come from. */
  readonly groups: string;
  /** Objects of the groups that the last discovery did not find, by id. */
  readonly absentObjects: readonly string[];
  /** Attributes that never answered, of the objects that it has. */
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

/** A device as it is shown. Times are RFC 3339; what is not known is left out. Never holds a secret. */
export interface DeviceView {
  readonly device: string;
  readonly name: string;
  readonly ip: string;
  readonly port: number;
  readonly version: string;
  /** `undiscovered` until a discovery has succeeded, `down` while it does not answer, `elsewhere` when another collector polls it. */
  readonly state: DevicePoller["state"] | "elsewhere";
  /** The collector of the fleet that polls it. */
  readonly polledBy?: string;
  readonly discovery?: DiscoveryState;
  /** Device groups that count, after the last discovery. */
  readonly groups: readonly string[];
  readonly plan?: { readonly objects: number; readonly attributes: number; readonly discoveredAt: string };
  readonly lastPoll?: string;
  readonly nextPoll?: string;
  readonly lastError?: { readonly time: string; readonly message: string };
  /** Definitions that changed and wait for the next discovery. */
  readonly pending: readonly string[];
}

/** A device with what its plan holds. */
export interface DeviceDetail extends DeviceView {
  readonly sysName?: string;
  readonly sysDescr?: string;
  readonly sysObjectId?: string;
  /** What the device is: vendor, model, os.name, os.version, serial, as far as it says so. */
  readonly facts: Readonly<Record<string, string>>;
  readonly why?: DeviceReasons;
  /** Attributes that are polled, by object. */
  readonly objects: Readonly<Record<string, readonly string[]>>;
  /** Names by ifIndex. */
  readonly interfaces: Readonly<Record<string, string>>;
  /** By ifIndex, with rates from the last two polls. */
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
    counts: { ...requests, ...counts },
  };
}

function timeText(milliseconds: number): string {
  return new Date(Math.round(milliseconds)).toISOString();
}
