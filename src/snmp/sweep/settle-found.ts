import type { Definitions } from "../definitions/definitions.ts";
import { credentialName, type Network } from "./network.ts";
import type { SweptDevice } from "./probe-address.ts";
import { peerName } from "../session/peer.ts";
import {
  deviceName,
  hasAccess,
  recordOf,
  type FoundDevices,
  type FoundFile,
  type FoundMemory,
  type FoundRecord,
} from "./found-devices.ts";
import { reconcile, type KnownDevice, type Reconciled } from "./reconcile.ts";
import type { DeviceIdentity } from "./same-device.ts";

/** What a run found that is different, as it is shown. Never holds a secret. */
export interface FoundDiff {
  readonly new: readonly {
    readonly name: string;
    readonly device: string;
    readonly network: string;
    /** Which credential it took, in words. */
    readonly credential: string;
    readonly vendor?: string;
    readonly model?: string;
    readonly serial?: string;
    readonly sysObjectId?: string;
    /** Why it was looked for, where that is not because of the ranges. */
    readonly reason?: string;
    readonly file?: string;
  }[];
  readonly changed: readonly {
    readonly name: string;
    readonly device: string;
    readonly changes: readonly string[];
    /** Why its file stays as it is, where it should not. */
    readonly problem?: string;
  }[];
  readonly gone: readonly { readonly name: string; readonly device: string; readonly lastSeen?: string }[];
  readonly duplicates: readonly { readonly device: string; readonly of: string; readonly reason: string }[];
  /** How many answered that were known. */
  readonly known: number;
}

/** What polling knows of a device. */
export interface PolledIdentity extends Partial<Omit<DeviceIdentity, "address">> {
  /** `ip:port` */
  readonly id: string;
}

export interface SettleParts {
  readonly found: FoundDevices;
  readonly definitions: Definitions;
  readonly polled: () => Iterable<PolledIdentity>;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Compares what answered with what is known and, unless it is a dry run, writes it down.
 *
 * @param swept the networks of which every address was asked.
 */
export async function settleFound(
  parts: SettleParts,
  devices: readonly SweptDevice[],
  swept: readonly Network[],
  { isDryRun, isRun }: { readonly isDryRun: boolean; readonly isRun: boolean },
): Promise<FoundDiff> {
  const { found, now } = parts;
  const files = await found.files();
  const memory = await found.memory();
  const known = knownDevices(parts, files, memory);
  const reconciled = reconcile(devices, known, swept);
  const names = nameFresh(reconciled.fresh, known);
  const paths = new Map<SweptDevice, string>();
  const problems = new Map<KnownDevice, string>();
  if (!isDryRun) {
    for (const [device, name] of names) paths.set(device, await found.add(name, device, now));
    const byName = new Map(files.map((file) => [file.name, file]));
    for (const { known: one, access } of reconciled.changed) {
      const file = byName.get(one.name);
      const problem = access && file && (await found.change(file, access));
      if (problem !== undefined) problems.set(one, problem);
    }
    await found.remember(nextMemory(memory, files, reconciled, names, isRun ? now : undefined, now));
  }
  return diffOf(reconciled, names, paths, problems);
}

function knownDevices(
  { definitions, polled }: SettleParts,
  files: readonly FoundFile[],
  memory: FoundMemory,
): KnownDevice[] {
  const filesById = new Map(files.map((file) => [file.id, file]));
  const polledById = new Map(Array.from(polled(), (one) => [one.id, one]));
  const nameless: Pick<FoundRecord, "addresses"> & Partial<FoundRecord> = { addresses: [] };
  const known = (
    id: string,
    name: string,
    asked: Parameters<typeof hasAccess>[0] & { readonly ip: string },
    file: FoundFile | undefined,
  ): KnownDevice => {
    const remembered = file === undefined ? nameless : (memory.records.get(file.name) ?? nameless);
    const live = polledById.get(id);
    return {
      id,
      name,
      address: asked.ip,
      isFound: file !== undefined,
      engineId: live?.engineId ?? remembered.engineId,
      serial: live?.serial ?? remembered.serial,
      sysObjectId: live?.sysObjectId ?? remembered.sysObjectId,
      sysName: live?.sysName ?? remembered.sysName,
      addresses: live?.addresses?.length ? live.addresses : remembered.addresses,
      lastSeen: remembered.lastSeen,
      hasAccess: (access) => hasAccess(asked, access),
    };
  };
  const all = Array.from(definitions.devices, ([id, device]) => known(id, device.name, device, filesById.get(id)));
  // Those that are not in use yet, because the files have an error elsewhere.
  const waiting = files.filter(({ id }) => !definitions.devices.has(id));
  return [...all, ...waiting.map((file) => known(file.id, file.name, file.draft, file))];
}

function nameFresh(fresh: readonly SweptDevice[], known: readonly KnownDevice[]): Map<SweptDevice, string> {
  const taken = new Set(known.map(({ name }) => name));
  const names = new Map<SweptDevice, string>();
  for (const device of fresh) {
    const name = deviceName(device, (one) => taken.has(one));
    taken.add(name);
    names.set(device, name);
  }
  return names;
}

/** A device whose file was removed is forgotten. */
function nextMemory(
  before: FoundMemory,
  files: readonly FoundFile[],
  { seen }: Reconciled,
  names: ReadonlyMap<SweptDevice, string>,
  lastRun: number | undefined,
  now: number,
): FoundMemory {
  const records = new Map<string, FoundRecord>();
  for (const { name } of files) {
    const record = before.records.get(name);
    if (record !== undefined) records.set(name, record);
  }
  for (const { known, device } of seen) if (known.isFound) records.set(known.name, recordOf(device, now));
  for (const [device, name] of names) records.set(name, recordOf(device, now));
  return { lastRun: lastRun ?? before.lastRun, records };
}

function diffOf(
  { fresh, changed, gone, duplicates, seen }: Reconciled,
  names: ReadonlyMap<SweptDevice, string>,
  paths: ReadonlyMap<SweptDevice, string>,
  problems: ReadonlyMap<KnownDevice, string>,
): FoundDiff {
  const nameOfAddress = new Map(Array.from(names, ([{ address }, name]) => [address, name]));
  const idOf = ({ address, network }: SweptDevice): string => peerName(address, network.port);
  return {
    new: fresh.map((device) => {
      const [vendor, model] = [device.facts.get("vendor"), device.facts.get("model")];
      const serial = device.facts.get("serial");
      const file = paths.get(device);
      return {
        name: names.get(device) as string,
        device: idOf(device),
        network: device.network.name,
        credential: credentialName(device.network, device.credential),
        ...(vendor !== undefined && { vendor }),
        ...(model !== undefined && { model }),
        ...(serial !== undefined && { serial }),
        ...(device.sysObjectId !== undefined && { sysObjectId: device.sysObjectId }),
        ...(device.reason !== undefined && { reason: device.reason }),
        ...(file !== undefined && { file }),
      };
    }),
    changed: changed.map(({ known, changes }) => {
      const problem = problems.get(known);
      return { name: known.name, device: known.id, changes, ...(problem !== undefined && { problem }) };
    }),
    gone: gone.map(({ name, id, lastSeen }) => ({
      name,
      device: id,
      ...(lastSeen !== undefined && { lastSeen: new Date(lastSeen).toISOString() }),
    })),
    duplicates: duplicates.map(({ device, of, reason }) => ({
      device: idOf(device),
      of: nameOfAddress.get(of) ?? of,
      reason,
    })),
    known: seen.length,
  };
}
