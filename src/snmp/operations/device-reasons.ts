import { autoGroup, genericGroup, type Definitions, type Device } from "../definitions/definitions.ts";
import { reachedObjects, sysoidOf } from "../definitions/reach.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";

/** Why a device is taken for what it is, and what it was asked for in vain. */
export interface DeviceReasons {
  /** A sentence on where its groups come from. */
  readonly groups: string;
  /** Objects of the groups that the last discovery did not find, by id. */
  readonly absentObjects: readonly string[];
  /** Attributes that never answered, of the objects that it has. */
  readonly absentAttributes: Readonly<Record<string, readonly string[]>>;
}

export function deviceReasons(plan: DevicePlan, device: Device, definitions: Definitions): DeviceReasons {
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
