import type { Attribute, Definitions, Device, ObjectDefinition } from "../definitions/definitions.ts";
import { deviceGroupsOf, reachedObjects } from "../definitions/reach.ts";
import type { Session } from "../session/session.ts";
import type { SnmpClient } from "../session/snmp-client.ts";
import type { DevicePlan, PlannedObject } from "./device-plan.ts";
import { identify } from "./identify.ts";
import { learnInterfaces } from "./learn-interfaces.ts";
import { probeColumns } from "./probe-columns.ts";

/**
 * Finds out what a device is and which of the objects that its groups lead to it has: an object is there when its
 * discovery attribute has an instance, an attribute when it has one itself. Nothing of the device is changed.
 *
 * @param now milliseconds since the epoch.
 * @param before the plan that there is: what could not be read of names and addresses is taken over from it.
 * @throws SnmpError when no credential is answered, or the device stops answering.
 */
export async function discover(
  client: SnmpClient,
  device: Device,
  definitions: Definitions,
  now: () => number,
  before?: DevicePlan,
): Promise<DevicePlan> {
  const { session, identity } = await identify(client, device);
  try {
    const deviceGroups = deviceGroupsOf(definitions, device, identity.sysObjectId);
    const objects = await probeObjects(
      session,
      [...reachedObjects(definitions, deviceGroups).values()],
      device.maxOids,
    );
    const learnt = await learnInterfaces(session, device, before?.learnt);
    return {
      ...identity,
      deviceId: device.id,
      revision: definitions.revision,
      discoveredAt: now(),
      deviceGroups: [...deviceGroups].sort(),
      objects,
      learnt,
    };
  } finally {
    session.close();
  }
}

async function probeObjects(
  session: Session,
  wanted: readonly ObjectDefinition[],
  maxOids: number,
): Promise<ReadonlyMap<string, PlannedObject>> {
  const discoveryOids = wanted.map(({ discoveryAttribute }) => discoveryAttribute.oid);
  const isThere = await probeColumns(session, discoveryOids, maxOids);
  const found = wanted.filter((_, i) => isThere[i]);
  const attributes = found.flatMap((object) => [...object.attributes.values()]);
  const hasAttribute = await probeColumns(
    session,
    attributes.map(({ oid }) => oid),
    maxOids,
  );
  const supported = new Set<Attribute>(attributes.filter((_, i) => hasAttribute[i]));
  return new Map(found.map((object) => [object.id, planObject(object, supported)]));
}

function planObject(object: ObjectDefinition, supported: ReadonlySet<Attribute>): PlannedObject {
  return {
    index: object.index.map(({ type, oidText, field, syntax }) => ({ type, oidText, field, syntax: syntax.name })),
    attributes: new Map(
      [...object.attributes.values()]
        .filter((attribute) => supported.has(attribute))
        .map(({ name, oidText }) => [name, oidText]),
    ),
  };
}
