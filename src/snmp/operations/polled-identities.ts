import type { Definitions } from "../definitions/definitions.ts";
import type { DevicePoller } from "../poller/device-poller-contract.ts";
import { formatOid } from "../session/oid.ts";
import type { PolledIdentity } from "../sweep/settle-found.ts";

/** What is known of the devices that are polled. Of a device that another collector polls the address is known. */
export function polledIdentities(
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
