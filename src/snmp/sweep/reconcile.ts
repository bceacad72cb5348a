import { peerName } from "../session/peer.ts";
import { covers } from "./address-ranges.ts";
import { accessOf, type DeviceAccess } from "./device-text.ts";
import { credentialName, type Network } from "./network.ts";
import type { SweptDevice } from "./probe-address.ts";
import { createKnownDevices, type DeviceIdentity } from "./same-device.ts";

/** A device that is there before a run. */
export interface KnownDevice extends DeviceIdentity {
  /** `ip:port` */
  readonly id: string;
  readonly name: string;
  /** Whether discovery wrote its file, and so may change the address and the credentials in it. */
  readonly isFound: boolean;
  /** When it answered discovery last, milliseconds since the epoch. */
  readonly lastSeen: number | undefined;
  /** Whether it is asked with what this access says. */
  hasAccess(access: DeviceAccess): boolean;
}

export interface ChangedDevice {
  readonly known: KnownDevice;
  readonly device: SweptDevice;
  /** What is different, in words. */
  readonly changes: readonly string[];
  /** What its file has to say; undefined: it stays. */
  readonly access: DeviceAccess | undefined;
}

export interface DuplicateAnswer {
  readonly device: SweptDevice;
  readonly of: string;
  readonly reason: string;
}

/** What a run found, compared with what was known. */
export interface Reconciled {
  readonly fresh: readonly SweptDevice[];
  readonly changed: readonly ChangedDevice[];
  /** Known ones that answered, changed or not. */
  readonly seen: readonly { readonly known: KnownDevice; readonly device: SweptDevice }[];
  readonly gone: readonly KnownDevice[];
  readonly duplicates: readonly DuplicateAnswer[];
}

/** @param swept the networks of which every address was asked: what does not answer there is gone. */
export function reconcile(
  devices: readonly SweptDevice[],
  known: readonly KnownDevice[],
  swept: readonly Network[],
): Reconciled {
  const byId = new Map(known.map((one) => [one.id, one]));
  const seen = new Map<KnownDevice, SweptDevice>();
  const others: SweptDevice[] = [];
  for (const device of devices) {
    const itself = byId.get(idOf(device));
    if (itself === undefined) others.push(device);
    else seen.set(itself, device);
  }
  const identities = createKnownDevices<KnownDevice>();
  for (const one of known) identities.add(one);
  const fresh: SweptDevice[] = [];
  const freshIdentities = createKnownDevices<DeviceIdentity & { readonly device: SweptDevice }>();
  const duplicates: DuplicateAnswer[] = [];
  for (const device of others) {
    const identity = { ...identityOf(device), device };
    const match = identities.find(identity);
    if (match !== undefined) {
      // One that answers at another address only has moved, unless its file is a person's.
      if (match.device.isFound && !seen.has(match.device)) seen.set(match.device, device);
      else duplicates.push({ device, of: match.device.name, reason: match.reason });
      continue;
    }
    const again = freshIdentities.find(identity);
    if (again !== undefined) {
      duplicates.push({ device, of: again.device.address, reason: again.reason });
      continue;
    }
    freshIdentities.add(identity);
    fresh.push(device);
  }
  return {
    fresh,
    changed: [...seen].flatMap(([one, device]) => changeOf(one, device) ?? []),
    seen: Array.from(seen, ([one, device]) => ({ known: one, device })),
    gone: known.filter((one) => one.isFound && !seen.has(one) && isIn(swept, one)),
    duplicates,
  };
}

function idOf({ address, network }: SweptDevice): string {
  return peerName(address, network.port);
}

export function identityOf({ address, engineId, sysObjectId, sysName, addresses, facts }: SweptDevice): DeviceIdentity {
  return { address, engineId, serial: facts.get("serial"), sysObjectId, sysName, addresses };
}

function isIn(networks: readonly Network[], { address, id }: KnownDevice): boolean {
  return networks.some(
    ({ ranges, excludes, port }) =>
      covers(ranges, address) && !covers(excludes, address) && id === peerName(address, port),
  );
}

function changeOf(known: KnownDevice, device: SweptDevice): ChangedDevice | undefined {
  const now = identityOf(device);
  const changes: string[] = [];
  const note = (what: string, before: string | undefined, after: string | undefined): void => {
    if (before !== undefined && after !== undefined && before !== after) changes.push(`${what}: ${before} → ${after}`);
  };
  note("address", known.id, idOf(device));
  note("sysObjectID", known.sysObjectId, now.sysObjectId);
  note("serial number", known.serial, now.serial);
  note("sysName", known.sysName, now.sysName);
  const access = accessOf(device);
  const isAccessNew = !known.hasAccess(access);
  if (isAccessNew) changes.push(`it takes credential ${credentialName(device.network, device.credential)}`);
  if (changes.length === 0) return undefined;
  const isRewritten = known.isFound && (isAccessNew || known.id !== idOf(device));
  return { known, device, changes, access: isRewritten ? access : undefined };
}
