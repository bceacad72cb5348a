import { peerName } from "../session/peer.ts";
import { autoGroup, type Device } from "./definitions.ts";
import type { DefinitionSet, Placed } from "./definition-set.ts";
import type { Pacer } from "./pacer.ts";
import { defaultId } from "./parse-file.ts";
import type { DeviceSettings } from "./read-device.ts";

/** What holds where neither a device nor the defaults' files say anything. */
const builtinDefaults = {
  port: 161,
  transport: "udp",
  context: "",
  objectContexts: new Map<string, readonly string[]>(),
  version: "2c",
  communities: [],
  v3Credentials: [],
  deviceGroups: [autoGroup],
  timeoutMs: 3000,
  retries: 2,
  exponentialTimeout: false,
  pollIntervalMs: 60_000,
  pollIntervalsMs: new Map<string, number>(),
  rediscoverIntervalMs: 86_400_000,
  maxOids: 64,
  maxRepetitions: 0,
  maxRows: 100_000,
  maxConcurrentPolls: 4,
} as const satisfies Required<DeviceSettings>;

/** Fills in the defaults, and checks what can only be checked then. */
export async function resolveDevices(
  set: DefinitionSet,
  defaults: DeviceSettings,
  objectTypes: ReadonlyMap<string, number>,
  pacer: Pacer,
): Promise<Map<string, Device>> {
  const devices = new Map<string, Device>();
  const placedById = new Map<string, Placed<"device">>();
  const ineffective: Placed<"device">[] = [];
  for (const placed of set.of("device").values()) {
    if (pacer.isDue()) await pacer.rest();
    const settings = { ...builtinDefaults, ...defaults, ...placed.draft };
    const id = peerName(settings.ip, settings.port);
    const earlier = placedById.get(id);
    if (earlier !== undefined)
      set.reportTwice(placed, earlier, `${id} is the device ${JSON.stringify(earlier.id)} already`);
    const hasCredentials = checkCredentials(set, placed, settings);
    checkIntervals(set, placed, objectTypes);
    for (const object of placed.draft.objectContexts?.keys() ?? [])
      set.refer(placed, "warning", ["object_contexts", object], "object", object, "object_contexts: object");
    const isIneffective = placed.draft.pollIntervalMs !== undefined && settings.pollIntervalsMs.size === 0;
    if (isIneffective && objectTypes.size > 0) ineffective.push(placed);
    if (earlier !== undefined || !hasCredentials) continue;
    placedById.set(id, placed);
    devices.set(id, { ...settings, id, deviceGroups: resolveGroups(set, placed, settings.deviceGroups) });
  }
  warnOfPollIntervals(set, ineffective, objectTypes);
  return devices;
}

/** Object types with intervals of their own do not ask for the device's. One warning, however many devices there are. */
function warnOfPollIntervals(
  set: DefinitionSet,
  [first, ...others]: readonly Placed<"device">[],
  objectTypes: ReadonlyMap<string, number>,
): void {
  if (first === undefined) return;
  const types = [...objectTypes.keys()].sort().join(", ");
  const more = others.length === 0 ? "" : ` (and of ${others.length} more devices)`;
  const message = `poll_interval${more} does not change how often objects of the types ${types} are polled: set poll_intervals`;
  set.add(first, "warning", ["poll_interval"], "key", message);
}

function checkCredentials(set: DefinitionSet, placed: Placed<"device">, settings: Required<DeviceSettings>): boolean {
  const name = settings.version === "3" ? "v3_credentials" : "communities";
  const credentials = settings.version === "3" ? settings.v3Credentials : settings.communities;
  if (credentials.length > 0) return true;
  set.add(placed, "error", [], "key", `version ${settings.version} needs ${name}, and there are none`);
  return false;
}

function checkIntervals(set: DefinitionSet, placed: Placed<"device">, objectTypes: ReadonlyMap<string, number>): void {
  for (const type of placed.draft.pollIntervalsMs?.keys() ?? []) {
    if (objectTypes.has(type)) continue;
    const near = set.suggest(type, objectTypes.keys());
    set.add(
      placed,
      "warning",
      ["poll_intervals", type],
      "key",
      `poll_intervals: no object type ${JSON.stringify(type)}`,
      near,
    );
  }
}

/** The groups that exist, sorted; where the defaults named them, the default's file has had the finding. */
function resolveGroups(set: DefinitionSet, placed: Placed<"device">, groups: readonly string[]): string[] {
  const own = placed.draft.deviceGroups;
  const existing = groups.filter((group, i) => {
    if (group === autoGroup) return true;
    if (own === undefined) return set.of("device_group").has(group);
    return set.refer(placed, "error", ["device_groups", i], "device_group", group, "device_groups: device group");
  });
  return [...new Set(existing)].sort();
}

/** The defaults of all layers joined; a later one replaces what it sets. */
export function joinDefaults(set: DefinitionSet, layers: readonly Placed<"device_default">[]): DeviceSettings {
  for (const layer of layers) {
    if (layer.key !== defaultId) set.add(layer, "warning", [], "key", `only ${JSON.stringify(defaultId)} counts here`);
    for (const [i, group] of (layer.draft.deviceGroups ?? []).entries()) {
      if (group === autoGroup) continue;
      set.refer(layer, "error", ["device_groups", i], "device_group", group, "device_groups: device group");
    }
  }
  return Object.assign(
    {},
    ...layers.filter((layer) => layer.key === defaultId).map((layer) => layer.draft),
  ) as DeviceSettings;
}
