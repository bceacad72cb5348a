import { Shares, type Share, type ShareTaker, Fleet } from "../../fleet/index.ts";
import type { DeviceSharing, DeviceTaker, GivenDevice, RemoteDiscovery } from "../../snmp/index.ts";
import { limitLog, type Reporting } from "../../base/report/index.ts";
import { fleetDatabaseAccess, fleetMemberName } from "./databases.ts";
import type { Settings } from "../settings/index.ts";

/** Creates the sharing of SNMP devices, which are keys that the members of a fleet divide. */
function createDeviceSharing(settings: Settings, fleet: Fleet, { health, ...reporting }: Reporting): DeviceSharing {
  const leaseMs = settings.SVC_FLEET_LEASE_SECONDS * 1000;
  const { membership, tables, requests } = fleet;
  let taker: DeviceTaker | undefined;

  /** Returns a device taken over. A collector that is gone was last heard of one lease before others could notice. */
  const given = ({ key, kept, from, ageMs }: Share): GivenDevice => {
    const longest = leaseMs * 1.5;
    const idleMs = from === "nobody" ? undefined : from === "dead" ? longest : Math.min(ageMs, longest);
    return { deviceId: key, plan: kept, idleMs };
  };
  const shareTaker: ShareTaker = {
    async take(taken) {
      await taker?.take(taken.map(given));
      report();
    },
    async release(keys) {
      const kept = (await taker?.release(keys)) ?? new Map<string, string | undefined>();
      report();
      return kept;
    },
  };
  const keepsWithoutLease = settings.SVC_FLEET_SNMP_WITHOUT_DATABASE === "keep";
  const limited = { ...reporting, log: limitLog(reporting.log, reporting.clock) };
  const shares = new Shares(membership, tables, shareTaker, keepsWithoutLease, limited);
  const report = (): void => {
    const { held, waiting, elsewhere } = shares.counts();
    const isMember = membership.session() !== undefined;
    const detail = `${held} of ${held + waiting + elsewhere} SNMP devices are polled here`;
    health.set({
      name: "fleet devices",
      ready: true,
      ...(!isMember && { degraded: true }),
      detail: isMember ? detail : `${detail}, because this collector is not a member of the fleet ${fleet.fleet}`,
    });
  };
  membership.watch(report);

  requests.serve((deviceId) => taker?.rediscover(deviceId)?.then((outcome) => JSON.stringify(outcome)));

  return {
    member: membership.member,
    async start(first) {
      taker = first;
      await shares.start();
      report();
    },
    offer: (deviceIds) => shares.offer(deviceIds),
    holds: (deviceId) => shares.holds(deviceId),
    memberOf: (deviceId) => shares.memberOf(deviceId),
    keep: (deviceId, plan) => shares.keep(deviceId, plan),
    leads: () => shares.leads(),
    async rediscover(deviceId) {
      const member = shares.memberOf(deviceId);
      if (member === undefined) throw new Error(`this collector is not a member of the fleet ${fleet.fleet}`);
      const { done, forget } = await requests.ask(member, deviceId);
      return { done: done.then((text) => JSON.parse(text) as RemoteDiscovery), forget };
    },
    stop: () => shares.stop(),
  };
}

/**
 * Creates the fleet that this collector is a member of; undefined when it works alone.
 *
 * @throws SettingsError for a database whose settings cannot be used.
 */
export function createFleetPart(settings: Settings, reporting: Reporting): Fleet | undefined {
  if (settings.SVC_FLEET_NAME === "") return undefined;
  const leaseMs = settings.SVC_FLEET_LEASE_SECONDS * 1000;
  return new Fleet(
    fleetDatabaseAccess(settings),
    settings.SVC_FLEET_NAME,
    fleetMemberName(settings),
    leaseMs,
    reporting,
  );
}

/** Makes the part that shares SNMP devices with the fleet; undefined: this collector polls all of its own. */
export function createDeviceSharingPart(
  settings: Settings,
  fleet: Fleet | undefined,
  reporting: Reporting,
): DeviceSharing | undefined {
  if (fleet === undefined || !settings.SVC_FLEET_SNMP_ENABLE || !settings.SVC_INPUT_SNMP_ENABLE) return undefined;
  return createDeviceSharing(settings, fleet, reporting);
}
