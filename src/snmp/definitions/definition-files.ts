import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Kind, Finding, Severity } from "./definitions.ts";
import { nearName } from "../../base/text/index.ts";
import { createPositions, type FileNode, type TextPosition } from "../../base/yaml/index.ts";
import { hashOf, openDefinitions, type Drafts, type Entry, type ParsedFile } from "./definition-formats.ts";
import { decodeText, wholeFile } from "./settings-file.ts";
import { inPieces, type Pacer } from "../limits.ts";

/** A file as read in one load. */
export interface LoadedFile<K extends Kind = Kind> {
  readonly kind: K;
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly parsed: ParsedFile<K>;
}

/** A definition with its file. */
export interface Placed<K extends Kind> extends Entry<K> {
  readonly file: LoadedFile<K>;
  readonly draft: Drafts[K];
}

/** The keys and indexes that lead to a position in a definition. */
type NodePath = readonly (string | number)[];

/** The side of a finding: a key, or the value behind it. */
type Side = "key" | "value";

/** A finding whose location is not known yet. */
interface Unplaced extends Pick<Finding, "severity" | "message" | "suggestion"> {
  readonly about: Placed<Kind>;
  readonly path: NodePath;
  readonly side: Side;
  /** Another definition, whose location is added to the message. */
  readonly first?: Placed<Kind>;
}

/** Finds nodes in one file, which may have many definitions. */
class NodeFinder {
  readonly #positionOf: (offset: number) => TextPosition;
  readonly #root: FileNode | undefined;
  readonly #definitions: ReadonlyMap<string, FileNode>;

  constructor(text: string, root: FileNode | undefined) {
    this.#positionOf = createPositions(text);
    this.#root = root;
    this.#definitions = new Map(root?.children().map((node) => [String(node.step), node]));
  }

  position(key: string, path: NodePath, side: Side): TextPosition {
    let node = this.#definitions.get(key) ?? this.#root;
    for (const step of path) node = node?.below(step);
    return this.#positionOf(node?.offset(side) ?? 0);
  }
}

/** The most suggestions. A near name costs a look at every name, and a missing directory does not need a thousand hints. */
const maxSuggestions = 100;

/** The definitions of all files by kind and id, with their findings. If two have the same id, the first counts. */
export class DefinitionSet {
  readonly #findings: Finding[] = [];
  readonly #unplaced: Unplaced[] = [];
  readonly #byKind = new Map<Kind, Map<string, Placed<Kind>>>();
  /** The ids of definitions that exist but have errors. */
  readonly #broken = new Map<Kind, Set<string>>();
  #suggestions = 0;

  addFindings(findings: readonly Finding[]): void {
    for (const finding of findings) this.#findings.push(finding);
  }

  /** Returns all findings with their locations, for which it reads the files again. */
  async findings(pacer: Pacer): Promise<Finding[]> {
    const finders = new Map<LoadedFile, NodeFinder>();
    for (const { file } of this.#unplaced.flatMap(({ about, first }) =>
      first === undefined ? [about] : [about, first],
    )) {
      if (finders.has(file)) continue;
      const { root } = await inPieces(openDefinitions(file.kind, file.path, file.bytes), pacer);
      finders.set(file, new NodeFinder(decodeText(file.bytes), root));
    }
    const place = ({ file, key }: Placed<Kind>, path: NodePath, side: Side): TextPosition =>
      (finders.get(file) as NodeFinder).position(key, path, side);
    const found = [...this.#findings];
    for (const { severity, about, path, side, message, suggestion, first } of this.#unplaced) {
      const position = place(about, path, side);
      const finding = { severity, file: about.file.path, ...position, id: about.id, message, suggestion };
      if (first === undefined) found.push(finding);
      else {
        const { line, column } = place(first, [], "key");
        found.push({ ...finding, message: `${message}, first at ${first.file.path}:${line}:${column}` });
      }
      if (pacer.isDue()) await pacer.rest();
    }
    return found;
  }

  addFile(file: LoadedFile): void {
    this.addFindings(file.parsed.findings);
    const placed = this.#table(file.kind);
    for (const entry of file.parsed.entries) {
      const earlier = placed.get(entry.id);
      if (entry.draft === undefined) {
        this.#brokenOf(file.kind).add(entry.id);
      } else if (earlier === undefined || isLayered(file.kind)) {
        placed.set(entry.id, { ...entry, draft: entry.draft, file });
      } else if (file.kind === "enum_oid") {
        const labels = earlier as Placed<"enum_oid">;
        placed.set(entry.id, this.#joined(labels, { ...(entry as Entry<"enum_oid">), file } as Placed<"enum_oid">));
      } else {
        this.reportTwice({ ...entry, draft: entry.draft, file }, earlier, "is there twice");
      }
    }
  }

  /**
   * Joins labels of OIDs, which may be in several files, because each vendor has its own devices and notifications. The first of two
   * labels counts.
   */
  #joined(first: Placed<"enum_oid">, second: Placed<"enum_oid">): Placed<"enum_oid"> {
    const draft = new Map(first.draft);
    for (const [oid, label] of second.draft) {
      const known = draft.get(oid);
      if (known === undefined) draft.set(oid, label);
      else if (known !== label)
        this.add(
          second,
          "error",
          [oid],
          "key",
          `${oid} has the label ${JSON.stringify(known)} already, in ${first.file.path}`,
        );
    }
    return { ...first, draft, hash: hashOf("enum_oid", draft) };
  }

  /** Returns all valid definitions of a kind, by id. */
  of<K extends Kind>(kind: K): ReadonlyMap<string, Placed<K>> {
    return this.#table(kind) as ReadonlyMap<string, Placed<Kind>> as ReadonlyMap<string, Placed<K>>;
  }

  add(about: Placed<Kind>, severity: Severity, path: NodePath, side: Side, message: string, suggestion?: string): void {
    this.#unplaced.push({ about, severity, path, side, message, suggestion });
  }

  /** Reports two definitions of the same thing, with both locations. */
  reportTwice(second: Placed<Kind>, first: Placed<Kind>, message: string): void {
    this.#unplaced.push({
      about: second,
      severity: "error",
      path: [],
      side: "key",
      message,
      suggestion: undefined,
      first,
    });
  }

  /** Reports whether a definition exists, and adds a finding if it is missing altogether. */
  refer(from: Placed<Kind>, severity: Severity, path: NodePath, to: Kind, id: string, label: string): boolean {
    const table = this.#table(to);
    if (table.has(id)) return true;
    if (this.#broken.get(to)?.has(id) !== true) {
      this.add(
        from,
        severity,
        path,
        "value",
        `${label} ${JSON.stringify(id)} does not exist`,
        this.suggest(id, table.keys()),
      );
    }
    return false;
  }

  /** Returns a near name, unless there have been too many suggestions. */
  suggest(text: string, names: Iterable<string>): string | undefined {
    return this.#suggestions++ < maxSuggestions ? nearName(text, names) : undefined;
  }

  #table(kind: Kind): Map<string, Placed<Kind>> {
    let table = this.#byKind.get(kind);
    if (table === undefined) this.#byKind.set(kind, (table = new Map()));
    return table;
  }

  #brokenOf(kind: Kind): Set<string> {
    let broken = this.#broken.get(kind);
    if (broken === undefined) this.#broken.set(kind, (broken = new Set()));
    return broken;
  }
}

/** Reports whether definitions of a kind are layers, as defaults are: a later one replaces the values that it sets. */
function isLayered(kind: Kind): boolean {
  return kind === "object_type" || kind === "device_default";
}

/** The paths of the definitions: lists of directories, each of which is read in full. */
export interface DefinitionPaths {
  readonly devices: readonly string[];
  readonly deviceGroups: readonly string[];
  readonly objectGroups: readonly string[];
  readonly objects: readonly string[];
  /** The directories with `device.yml` and `object_types.yml`; a later directory replaces the values of earlier ones. */
  readonly defaults: readonly string[];
  /** The directories with `sysoids/` and `identities/`. */
  readonly autodiscover: readonly string[];
  /** The directories with `integer/`, `bitmap/` and `oid/`. */
  readonly enums: readonly string[];
}

/** Returns the paths for a directory that has the kinds in `devices/`, `device_groups/`, `objects/`, and so on. */
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

interface DefinitionFileList {
  /** The files without duplicates, in the order of the directories, and by name within each. */
  readonly files: readonly DefinitionFile[];
  readonly findings: readonly Finding[];
}

/** Finds all definition files. A directory that is missing or cannot be read is an error. */
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

/** Reports whether a name is that of a definition file. Files that editors and packages leave beside the real ones are not. */
function isDefinitionFile(name: string): boolean {
  return /\.ya?ml$/.test(name) && !name.startsWith(".");
}

class Lister implements DefinitionFileList {
  readonly files: DefinitionFile[] = [];
  readonly findings: Finding[] = [];
  readonly #seen = new Set<string>();

  async addDefaults(directory: string): Promise<void> {
    for (const name of await this.#names(directory)) {
      if (/^device\.ya?ml$/.test(name)) this.#addFile("device_default", join(directory, name));
      else if (/^object_types\.ya?ml$/.test(name)) this.#addFile("object_type", join(directory, name));
      else if (isDefinitionFile(name)) {
        this.#add("warning", join(directory, name), "is not read: expected device.yml or object_types.yml");
      }
    }
  }

  /** Adds the directories with the given names, each of one kind. */
  async addBelow(directory: string, kinds: Readonly<Record<string, Kind>>): Promise<void> {
    for (const name of await this.#names(directory)) {
      const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
      const path = join(directory, name);
      if (kind !== undefined) await this.addTree(kind, path);
      else if (!name.startsWith(".") && (isDefinitionFile(name) || (await isDirectory(path)))) {
        this.#add("warning", path, `is not read: expected to be in ${Object.keys(kinds).join("/, ")}/`);
      }
    }
  }

  async addTree(kind: Kind, directory: string, above: readonly string[] = []): Promise<void> {
    // A link to a parent directory would otherwise never end.
    const real = await realpath(directory).catch(() => directory);
    if (above.includes(real)) return;
    for (const name of await this.#names(directory)) {
      if (name.startsWith(".")) continue;
      const path = join(directory, name);
      if (isDefinitionFile(name)) this.#addFile(kind, path);
      else if (await isDirectory(path)) await this.addTree(kind, path, [...above, real]);
    }
  }

  async #names(directory: string): Promise<string[]> {
    const names: string[] = [];
    try {
      for (const entry of await readdir(directory, { withFileTypes: true })) {
        const path = join(directory, entry.name);
        if (!isDefinitionFile(entry.name) || !(await isEndless(entry, path))) names.push(entry.name);
        else this.#add("error", path, "is no file: a pipe or a device may never end");
      }
    } catch (error) {
      this.#add("error", directory, `the directory cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
    return names.sort();
  }

  #addFile(kind: Kind, path: string): void {
    const key = `${kind} ${resolve(path)}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.files.push({ kind, path });
  }

  #add(severity: Severity, file: string, message: string): void {
    this.findings.push({ ...wholeFile(file, message), severity });
  }
}

/**
 * Reports whether reading the file might never end; it would block the thread that reads all files. A missing file is found by reading
 * it.
 */
async function isEndless(entry: Dirent, path: string): Promise<boolean> {
  if (entry.isFile() || entry.isDirectory()) return false;
  return stat(path).then(
    (stats) => !stats.isFile() && !stats.isDirectory(),
    () => false,
  );
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}
