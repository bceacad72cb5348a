import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, makeFolder, nodeFileIo, replaceContent } from "../../base/file/index.ts";
import { parseDefinitionFile } from "../definitions/definition-formats.ts";
import type { DeviceDraft } from "../definitions/device-shape.ts";
import { peerName } from "../session/peer.ts";
import {
  accessOf,
  deviceText,
  withAccess,
  type DeviceAccess,
  identityOf,
  type DeviceIdentity,
  reconcile,
  type KnownDevice,
  type Reconciled,
} from "./reconcile.ts";
import type { SweptDevice } from "./sweep.ts";
import type { Definitions } from "../definitions/definitions.ts";
import { credentialName, type Network } from "./networks.ts";

/** A device of a file in the directory of discovery. */
interface FoundFile {
  readonly path: string;
  readonly name: string;
  readonly draft: DeviceDraft;
  /** `ip:port` */
  readonly id: string;
}

/** The data that discovery keeps about a device in addition to its file. */
interface FoundRecord extends DeviceIdentity {
  readonly network: string;
  /** The time of its last answer, in ms since the epoch. */
  readonly lastSeen: number;
}

interface FoundMemory {
  /** The end of the last run over all networks, in ms since the epoch. */
  readonly lastRun: number | undefined;
  /** The records by the name of the device. */
  readonly records: ReadonlyMap<string, FoundRecord>;
}

/** The name begins with a dot, so that the file is not read as a definition. */
const recordsName = ".discovered.json";
const format = 1;
/** The files contain communities and passphrases, so only their owner may read them. */
const mode = 0o600;

/** The directory of device files that discovery writes, and its records of the devices. */
export class FoundDevices {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Returns all devices of its files, including those that people have edited. */
  async files(): Promise<readonly FoundFile[]> {
    const names: string[] = await readdir(this.#directory).catch((error: unknown) => {
      if (errorCode(error) === "ENOENT") return [];
      throw error;
    });
    const files: FoundFile[] = [];
    for (const name of names.sort()) {
      if (name.startsWith(".") || !/\.ya?ml$/.test(name)) continue;
      const path = join(this.#directory, name);
      files.push(...filesIn(path, await readFile(path)));
    }
    return files;
  }

  async memory(): Promise<FoundMemory> {
    try {
      return memoryFrom(JSON.parse(await readFile(join(this.#directory, recordsName), "utf8")));
    } catch (error) {
      // Without records, devices are known only by their files.
      if (errorCode(error) === "ENOENT" || error instanceof SyntaxError) return nothingKnown;
      throw error;
    }
  }

  /** Replaces the records as a whole. */
  async remember({ lastRun, records }: FoundMemory): Promise<void> {
    await makeFolder(this.#directory);
    await this.#replace(
      join(this.#directory, recordsName),
      `${JSON.stringify({ format, lastRun, devices: [...records] })}\n`,
    );
  }

  /** Writes the file of a new device, and never overwrites a file. @returns its path. */
  async add(name: string, device: SweptDevice, at: number): Promise<string> {
    await makeFolder(this.#directory);
    const text = deviceText(name, device, accessOf(device), at);
    const stem = fileStem(name);
    for (let i = 1; ; i++) {
      const path = join(this.#directory, `${stem}${i === 1 ? "" : `-${i}`}.yml`);
      try {
        await writeFile(path, text, { flag: "wx", mode });
        return path;
      } catch (error) {
        if (errorCode(error) !== "EEXIST") throw error;
      }
    }
  }

  /**
   * Writes another address or other credentials into a file.
   *
   * @returns the reason if the file stays unchanged; undefined for success.
   */
  async change({ path, name, draft }: FoundFile, access: DeviceAccess): Promise<string | undefined> {
    const edited = withAccess(await readFile(path, "utf8"), name, access);
    const back =
      edited === undefined ? undefined : filesIn(path, Buffer.from(edited)).find((file) => file.name === name);
    if (edited === undefined || back?.draft.ip !== access.ip || !hasAccess(back.draft, access)) {
      return `${path} is not in the form that discovery wrote: change ${name} (${draft.ip}) by hand`;
    }
    await this.#replace(path, edited);
    return undefined;
  }

  async #replace(path: string, text: string): Promise<void> {
    const temporary = `${path}.tmp`;
    // An interrupted write may have left the temporary file.
    await rm(temporary, { force: true });
    await replaceContent(nodeFileIo, { target: path, temporary, mode }, Buffer.from(text));
  }
}

/** Reports whether a device with these settings is polled with a credential. */
function hasAccess(
  { version, communities, v3Credentials }: Pick<DeviceDraft, "version" | "communities" | "v3Credentials">,
  { credential }: DeviceAccess,
): boolean {
  if ((version ?? "2c") !== credential.version) return false;
  if (credential.version !== "3") {
    return (communities ?? []).some((community) => community.reveal() === credential.community.reveal());
  }
  const { user } = credential;
  return (v3Credentials ?? []).some(
    (one) =>
      one.username === user.username &&
      one.authenticationProtocol === user.authenticationProtocol &&
      one.privacyProtocol === user.privacyProtocol &&
      one.authenticationPassphrase?.reveal() === user.authenticationPassphrase?.reveal() &&
      one.privacyPassphrase?.reveal() === user.privacyPassphrase?.reveal(),
  );
}

function recordOf(device: SweptDevice, at: number): FoundRecord {
  return { ...identityOf(device), network: device.network.name, lastSeen: at };
}

/** Returns a name for the device's entry and file: its sysName if that is a usable name, otherwise its address. */
function deviceName(device: Pick<SweptDevice, "sysName" | "address">, isTaken: (name: string) => boolean): string {
  const own = (device.sysName ?? "")
    .replace(/[^\p{L}\p{N}._-]+/gu, "-")
    .replace(/^[-.]+|(?<![-.])[-.]+$/g, "")
    .slice(0, 63);
  const plain = own === "" ? device.address : own;
  const candidates = [plain, `${plain}-${device.address}`];
  const free = candidates.find((name) => !isTaken(name));
  if (free !== undefined) return free;
  for (let i = 2; ; i++) if (!isTaken(`${plain}-${i}`)) return `${plain}-${i}`;
}

function fileStem(name: string): string {
  return name.replace(/[^A-Za-z0-9._-]+/g, "_").replace(/^\.+/, "_");
}

function filesIn(path: string, bytes: Uint8Array): FoundFile[] {
  return parseDefinitionFile("device", path, bytes).entries.flatMap(({ id, draft }) =>
    draft === undefined ? [] : [{ path, name: id, draft, id: peerName(draft.ip, draft.port ?? 161) }],
  );
}

const nothingKnown: FoundMemory = { lastRun: undefined, records: new Map() };

function memoryFrom(json: unknown): FoundMemory {
  const { format: found, lastRun, devices } = json as { format?: unknown; lastRun?: unknown; devices?: unknown };
  if (found !== format || !Array.isArray(devices)) return nothingKnown;
  const records = devices as [string, FoundRecord][];
  return {
    lastRun: typeof lastRun === "number" ? lastRun : undefined,
    records: new Map(
      records.filter(([, record]) => Array.isArray(record.addresses) && typeof record.address === "string"),
    ),
  };
}

/** The differences that a run found, for display. Never contains a secret. */
export interface FoundDiff {
  readonly new: readonly {
    readonly name: string;
    readonly device: string;
    readonly network: string;
    /** A description of the accepted credential. */
    readonly credential: string;
    readonly vendor?: string;
    readonly model?: string;
    readonly serial?: string;
    readonly sysObjectId?: string;
    /** The reason for the probe, unless the address is in the ranges. */
    readonly reason?: string;
    readonly file?: string;
  }[];
  readonly changed: readonly {
    readonly name: string;
    readonly device: string;
    readonly changes: readonly string[];
    /** The reason why its file was not changed although it should have been. */
    readonly problem?: string;
  }[];
  readonly gone: readonly { readonly name: string; readonly device: string; readonly lastSeen?: string }[];
  readonly duplicates: readonly { readonly device: string; readonly of: string; readonly reason: string }[];
  /** The number of known devices that answered. */
  readonly known: number;
}

/** The identity of a device from its polls. */
export interface PolledIdentity extends Partial<Omit<DeviceIdentity, "address">> {
  /** `ip:port` */
  readonly id: string;
}

interface SettleParts {
  readonly found: FoundDevices;
  readonly definitions: Definitions;
  readonly polled: () => Iterable<PolledIdentity>;
  /** The time in ms since the epoch. */
  readonly now: number;
}

/**
 * Compares the devices that answered with the known ones, and writes the differences unless it is a dry run.
 *
 * @param swept the networks whose addresses were all probed.
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
  // Devices that are not in use yet because of an error elsewhere in the files.
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

/** Returns the next records, without devices whose file was removed. */
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
