import type { Attribute, Definitions, Device } from "../definitions/definitions.ts";
import { contextsOf, reachedObjects } from "../definitions/reach.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import { compareOids } from "../session/oid.ts";

/**
 * What a device would be polled for if it had it: attributes that its groups lead to and its plan has not, in the order of
 * OIDs. Of an object that is not there and has a discovery attribute, this one. Objects in contexts of their own are left
 * out: each context would cost a request.
 */
export function missingAttributes(plan: DevicePlan, definitions: Definitions, device: Device): readonly Attribute[] {
  const missing = new Map<string, Attribute>();
  for (const object of reachedObjects(definitions, plan.deviceGroups).values()) {
    if (contextsOf(device, object).length > 0) continue;
    const known = plan.objects.get(object.id)?.attributes;
    const gate = known === undefined ? object.discoveryAttribute : undefined;
    for (const attribute of gate === undefined ? object.attributes.values() : [gate])
      if (known?.has(attribute.name) !== true) missing.set(attribute.oidText, attribute);
  }
  return [...missing.values()].sort((a, b) => compareOids(a.oid, b.oid));
}
