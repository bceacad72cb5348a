import type { Device } from "../definitions/definitions.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import { getScalars } from "../discovery/get-scalars.ts";
import { sysDescrOid, textOf } from "../discovery/identify.ts";
import { formatOid } from "../session/oid.ts";
import type { Session } from "../session/session.ts";
import { SnmpError } from "../session/snmp-error.ts";
import type { Pulse } from "./heartbeat.ts";
import type { PolledType } from "./poll-plan.ts";
import { placeOf } from "./place-of.ts";
import { hasSettledSince } from "./uptime.ts";

/** Devices that were discovered together are not so again: each has a tenth of the interval of its own. */
function rediscoveryMs({ id, rediscoverIntervalMs }: Device): number {
  return rediscoverIntervalMs === 0 ? Infinity : rediscoverIntervalMs * (0.95 + placeOf(id) / 10);
}

/** @returns why the device is discovered again after this pulse; undefined: it is what its plan says. @param now as `Clock.now`. */
export function reasonOfPulse(
  pulse: Pulse,
  device: Device,
  plan: DevicePlan | undefined,
  now: number,
): string | undefined {
  const { change, sysObjectId, uptimeMs } = pulse;
  if (change !== undefined) return change;
  if (plan === undefined) return undefined;
  const known = plan.sysObjectId;
  if (sysObjectId !== undefined && known !== undefined && formatOid(sysObjectId) !== formatOid(known))
    return "another sysObjectID";
  if (now > plan.discoveredAt + rediscoveryMs(device)) return "rediscover_interval";
  return hasSettledSince(now - plan.discoveredAt, uptimeMs ?? 0) ? "it had just started" : undefined;
}

/** Whether a polled attribute asks for a discovery after each restart. */
export function watchesResets(types: ReadonlyMap<string, PolledType>): boolean {
  return [...types.values()].some(({ objects }) =>
    objects.some(({ columns }) => columns.some(({ attribute }) => attribute.rediscover === "OnReset")),
  );
}

/** After a restart a device may run another system, or be another one of the same kind. @returns undefined: it is neither. */
export async function reasonAfterRestart(by: Session, plan: DevicePlan): Promise<string | undefined> {
  if (plan.sysDescr === undefined) return undefined;
  const { values } = await getScalars(by, [sysDescrOid], 1).catch((error: unknown) => {
    if (error instanceof SnmpError) return { values: [] };
    throw error;
  });
  const now = textOf(values[0]);
  return now === undefined || now === plan.sysDescr ? undefined : "another sysDescr after a restart";
}
