import { readdir, realpath, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Kind } from "./definitions.ts";
import type { Finding } from "./finding.ts";

/** Where definitions are: lists of directories, each read with all that are in it. */
export interface DefinitionPaths {
  readonly devices: readonly string[];
  readonly deviceGroups: readonly string[];
  readonly objectGroups: readonly string[];
  readonly objects: readonly string[];
  /** Each with `device.yml` and `object_types.yml`; what a later directory sets replaces what an earlier one does. */
  readonly defaults: readonly string[];
  /** Each with `sysoids/` and `identities/`. */
  readonly autodiscover: readonly string[];
  /** Each with `integer/`, `bitmap/` and `oid/`. */
  readonly enums: readonly string[];
}

/** The paths of a directory that has the kinds in `devices/`, `device_groups/`, `objects/`, and so on. */
export function definitionPathsIn(directory: string): DefinitionPaths {
  return {
    devices: [join(directory, "devices")],
    deviceGroups: [join(directory, "device_groups")],
    objectGroups: [join(directory, "object_groups")],
    objects: [join(directory, "objects")],
    defaults: [join(directory, "defaults")],
    autodiscover: [join(directory, "autodiscover")],
    enums: [join(directory, "enums")],
  };
}

export interface DefinitionFile {
  readonly kind: Kind;
  readonly path: string;
}

export interface DefinitionFileList {
  /** Each file once, in the order of the directories, and by name within each. */
  readonly files: readonly DefinitionFile[];
  readonly findings: readonly Finding[];
}

/** Finds all definition files. A directory that is not there, or cannot be read, is an error. */
export async function listDefinitionFiles(paths: DefinitionPaths): Promise<DefinitionFileList> {
  const lister = new Lister();
  for (const path of paths.defaults) await lister.addDefaults(path);
  for (const path of paths.enums) {
    await lister.addBelow(path, { integer: "enum_integer", bitmap: "enum_bitmap", oid: "enum_oid" });
  }
  for (const path of paths.autodiscover) await lister.addBelow(path, { sysoids: "sysoid", identities: "identity" });
  for (const path of paths.objects) await lister.addTree("object", path);
  for (const path of paths.objectGroups) await lister.addTree("object_group", path);
  for (const path of paths.deviceGroups) await lister.addTree("device_group", path);
  for (const path of paths.devices) await lister.addTree("device", path);
  return lister;
}

/** Files that editors and packages leave next to the real ones do not count. */
function isDefinitionFile(name: string): boolean {
  return /\.ya?ml$/.test(name) && !name.startsWith(".");
}

class Lister implements DefinitionFileList {
  readonly files: DefinitionFile[] = [];
  readonly findings: Finding[] = [];
  readonly #seen = new Set<string>();

  async addDefaults(directory: string): Promise<void> {
    for (const name of await this.#names("device_default", directory)) {
      if (/^device\.ya?ml$/.test(name)) this.#addFile("device_default", join(directory, name));
      else if (/^object_types\.ya?ml$/.test(name)) this.#addFile("object_type", join(directory, name));
      else if (isDefinitionFile(name)) {
        this.#add(
          "warning",
          "device_default",
          join(directory, name),
          "is not read: expected device.yml or object_types.yml",
        );
      }
    }
  }

  /** Directories of given names, each of one kind. */
  async addBelow(directory: string, kinds: Readonly<Record<string, Kind>>): Promise<void> {
    const [firstKind] = Object.values(kinds) as [Kind];
    for (const name of await this.#names(firstKind, directory)) {
      const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
      const path = join(directory, name);
      if (kind !== undefined) await this.addTree(kind, path);
      else if (!name.startsWith(".") && (isDefinitionFile(name) || (await isDirectory(path)))) {
        this.#add("warning", firstKind, path, `is not read: expected to be in ${Object.keys(kinds).join("/, ")}/`);
      }
    }
  }

  async addTree(kind: Kind, directory: string, above: readonly string[] = []): Promise<void> {
    // A link to a directory above would never end.
    const real = await realpath(directory).catch(() => directory);
    if (above.includes(real)) return;
    for (const name of await this.#names(kind, directory)) {
      if (name.startsWith(".")) continue;
      const path = join(directory, name);
      if (isDefinitionFile(name)) this.#addFile(kind, path);
      else if (await isDirectory(path)) await this.addTree(kind, path, [...above, real]);
    }
  }

  async #names(kind: Kind, directory: string): Promise<string[]> {
    try {
      return (await readdir(directory)).sort();
    } catch (error) {
      this.#add("error", kind, directory, `the directory cannot be read (${(error as NodeJS.ErrnoException).code})`);
      return [];
    }
  }

  #addFile(kind: Kind, path: string): void {
    const key = `${kind} ${resolve(path)}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.files.push({ kind, path });
  }

  #add(severity: Finding["severity"], kind: Kind, file: string, message: string): void {
    this.findings.push({
      severity,
      kind,
      file,
      line: undefined,
      column: undefined,
      id: undefined,
      message,
      suggestion: undefined,
    });
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}
