import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, makeFolder, nodeFileIo, replaceContent } from "../../base/file/index.ts";
import { parseDefinitionFile } from "../definitions/parse-file.ts";
import type { DeviceDraft } from "../definitions/read-device.ts";
import { peerName } from "../session/peer.ts";
import { accessOf, deviceText, withAccess, type DeviceAccess } from "./device-text.ts";
import type { SweptDevice } from "./probe-address.ts";
import { identityOf } from "./reconcile.ts";
import type { DeviceIdentity } from "./same-device.ts";

/** A device of a file in the directory of discovery. */
export interface FoundFile {
  readonly path: string;
  readonly name: string;
  readonly draft: DeviceDraft;
  /** `ip:port` */
  readonly id: string;
}

/** What discovery remembers of a device, besides its file. */
export interface FoundRecord extends DeviceIdentity {
  readonly network: string;
  /** Milliseconds since the epoch. */
  readonly lastSeen: number;
}

export interface FoundMemory {
  /** When the last run over all networks ended, milliseconds since the epoch. */
  readonly lastRun: number | undefined;
  /** By the name of the device. */
  readonly records: ReadonlyMap<string, FoundRecord>;
}

/** The directory of device files that discovery writes, and what it remembers of the devices. */
export interface FoundDevices {
  /** All devices of its files, those that people have edited included. */
  files(): Promise<readonly FoundFile[]>;
  memory(): Promise<FoundMemory>;
  /** Replaces what is remembered as a whole. */
  remember(memory: FoundMemory): Promise<void>;
  /** Writes the file of a new device, never over another. @returns its path. */
  add(name: string, device: SweptDevice, at: number): Promise<string>;
  /** Writes another address or other credentials into a file. @returns why it stays as it is; undefined: it is done. */
  change(file: FoundFile, access: DeviceAccess): Promise<string | undefined>;
}

/** Files that begin with a dot are no definitions. */
const recordsName = ".discovered.json";
const format = 1;
/** They hold communities and passphrases. */
const mode = 0o600;

export function createFoundDevices(directory: string): FoundDevices {
  const replace = async (path: string, text: string): Promise<void> => {
    const temporary = `${path}.tmp`;
    // One that was cut off may have left it.
    await rm(temporary, { force: true });
    await replaceContent(nodeFileIo, { target: path, temporary, mode }, Buffer.from(text));
  };
  return {
    async files() {
      const names: string[] = await readdir(directory).catch((error: unknown) => {
        if (errorCode(error) === "ENOENT") return [];
        throw error;
      });
      const files: FoundFile[] = [];
      for (const name of names.sort()) {
        if (name.startsWith(".") || !/\.ya?ml$/.test(name)) continue;
        const path = join(directory, name);
        files.push(...filesIn(path, await readFile(path)));
      }
      return files;
    },
    async memory() {
      try {
        return memoryFrom(JSON.parse(await readFile(join(directory, recordsName), "utf8")));
      } catch (error) {
        // Without them, devices are known by their files alone.
        if (errorCode(error) === "ENOENT" || error instanceof SyntaxError) return nothingKnown;
        throw error;
      }
    },
    async remember({ lastRun, records }) {
      await makeFolder(directory);
      await replace(join(directory, recordsName), `${JSON.stringify({ format, lastRun, devices: [...records] })}\n`);
    },
    async add(name, device, at) {
      await makeFolder(directory);
      const text = deviceText(name, device, accessOf(device), at);
      const stem = fileStem(name);
      for (let i = 1; ; i++) {
        const path = join(directory, `${stem}${i === 1 ? "" : `-${i}`}.yml`);
        try {
          await writeFile(path, text, { flag: "wx", mode });
          return path;
        } catch (error) {
          if (errorCode(error) !== "EEXIST") throw error;
        }
      }
    },
    async change({ path, name, draft }, access) {
      const edited = withAccess(await readFile(path, "utf8"), name, access);
      const back =
        edited === undefined ? undefined : filesIn(path, Buffer.from(edited)).find((file) => file.name === name);
      if (edited === undefined || back?.draft.ip !== access.ip || !hasAccess(back.draft, access)) {
        return `${path} is not in the form that discovery wrote: change ${name} (${draft.ip}) by hand`;
      }
      await replace(path, edited);
      return undefined;
    },
  };
}

/** Whether a device with these settings is asked with a credential. */
export function hasAccess(
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

export function recordOf(device: SweptDevice, at: number): FoundRecord {
  return { ...identityOf(device), network: device.network.name, lastSeen: at };
}

/** A name for the device's entry and file: its sysName as far as that can be one, else its address. */
export function deviceName(
  device: Pick<SweptDevice, "sysName" | "address">,
  isTaken: (name: string) => boolean,
): string {
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
