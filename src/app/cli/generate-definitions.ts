import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { homeDirectory } from "./client/profile.ts";
import {
  definitionTexts,
  MibFault,
  ModuleLibrary,
  moduleFacts,
  writeDefinitions,
  type GeneratedDefinitions,
  type KnownDefinitions,
  type MibModule,
  type ObjectFacts,
} from "../../../packages/mib/index.ts";
import { createMetrics, systemClock } from "../../base/report/index.ts";
import { DefinitionsLoader, definitionPathsIn, fieldNames } from "../../snmp/index.ts";
import { packagePath } from "../package-root.ts";
import { checkDefinitions } from "./check-definitions.ts";
import type { Terminal } from "./terminal.ts";

export interface GenerateOptions {
  readonly root: readonly string[];
  readonly mibs: readonly string[];
  readonly deviceGroup: string | undefined;
  /** Undefined: show everything and write nothing. */
  readonly output: string | undefined;
  /** Also what the program has definitions of. */
  readonly all: boolean;
  readonly descriptions: boolean;
}

/** Returns the directories where programs put MIB modules. */
export function usualMibDirectories(home: string): readonly string[] {
  const places = [
    join(home, ".snmp/mibs"),
    "/usr/local/share/snmp/mibs",
    "/usr/share/snmp/mibs",
    "/var/lib/mibs",
    "/usr/share/mibs",
  ];
  return places.flatMap(withFolders);
}

/**
 * Makes definitions of MIB modules, and says what was made on the error output.
 *
 * @param mibs files, directories, or names of modules.
 * @returns whether all is as it should be: no fault, and no conflict with hand edits.
 */
export async function generateDefinitions(
  mibs: readonly string[],
  options: GenerateOptions,
  terminal: Pick<Terminal, "out" | "err">,
): Promise<boolean> {
  try {
    return await generate(mibs, options, terminal);
  } catch (error) {
    if (!(error instanceof MibFault)) throw error;
    terminal.err(`error: ${error.message}\n`);
    return false;
  }
}

async function generate(
  mibs: readonly string[],
  options: GenerateOptions,
  terminal: Pick<Terminal, "out" | "err">,
): Promise<boolean> {
  const { deviceGroup, output } = options;
  if (deviceGroup !== undefined && !/^\w[\w-]*$/.test(deviceGroup))
    throw new MibFault(`--device-group ${deviceGroup}: expected letters, digits, _ and -`);
  const { facts, isComplete } = readFacts(mibs, options, terminal);
  const program = options.all ? nothingKnown : await programDefinitions();
  const known = output === undefined ? program : withOthersIn(output, facts, program);
  const roots = options.root.length === 0 ? [".0", ".1", ".2"].filter((arc) => hasBelow(facts, arc)) : options.root;
  const made = definitionTexts({ facts, roots, deviceGroup, known, withDescriptions: options.descriptions });
  for (const skipped of made.skipped) terminal.err(`left out, because netgloss has it: ${skipped}\n`);
  if (made.objects.length === 0) {
    terminal.err(
      made.skipped.length > 0
        ? "nothing is left to write; --all writes these, too\n"
        : "error: there is nothing that can be read\n",
    );
    return isComplete && made.skipped.length > 0;
  }
  if (output === undefined) {
    for (const [path, text] of made.files) terminal.out(`# ===== ${path}\n${text}\n`);
    terminal.err(`${summary(made)}. Nothing is written: --output DIR does it\n`);
    return isComplete;
  }
  return (await write(output, made, options, terminal)) && isComplete;
}

const hasBelow = (facts: readonly ObjectFacts[], arc: string): boolean =>
  facts.some(({ oid, kind }) => oid.startsWith(`${arc}.`) && (kind === "column" || kind === "scalar"));

const nothingKnown: KnownDefinitions = {
  objects: new Map(),
  enums: new Set(),
  fields: new Set(),
  notifications: new Set(),
};

interface ReadModules {
  readonly facts: readonly ObjectFacts[];
  /** True if every file of the named directories could be used. */
  readonly isComplete: boolean;
}

/** Modules that are named, each once; those that they import come from the directories. */
function readFacts(mibs: readonly string[], options: GenerateOptions, terminal: Pick<Terminal, "err">): ReadModules {
  const folders = mibs.filter(isDirectory);
  const files = mibs.filter((mib) => !folders.includes(mib) && statSync(mib, { throwIfNoEntry: false }) !== undefined);
  const names = mibs.filter((mib) => !folders.includes(mib) && !files.includes(mib));
  for (const name of names) if (/[/.]/.test(name)) throw new MibFault(`${name}: no such file`);
  for (const directory of options.mibs)
    if (!isDirectory(directory)) throw new MibFault(`--mibs ${directory}: no such directory`);
  const ownFolders = [...folders, ...files.map((file) => dirname(file))];
  const directories = new Set([
    ...options.mibs.flatMap(withFolders),
    ...ownFolders,
    ...usualMibDirectories(homeDirectory()),
  ]);
  const library = new ModuleLibrary([...directories]);
  const facts = new Map<string, readonly ObjectFacts[]>();
  const add = (module: MibModule): void => void facts.set(module.name, moduleFacts(library, module));
  let isComplete = true;
  for (const file of folders.flatMap(filesIn)) {
    try {
      library.readFile(file).forEach(add);
    } catch (error) {
      if (!(error instanceof MibFault)) throw error;
      isComplete = false;
      terminal.err(`left out: ${error.message}\n`);
    }
  }
  for (const module of files.flatMap((file) => library.readFile(file))) add(module);
  for (const name of names) add(library.require(name));
  for (const { name, reason } of library.leftOut) terminal.err(`warning: left out: ${name}: ${reason}\n`);
  for (const note of library.notes) terminal.err(`note: ${note}\n`);
  return { facts: [...facts.values()].flat(), isComplete };
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function filesIn(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith("."))
    .map(({ name }) => join(directory, name));
}

/** A directory and the folders directly in it; nothing where there is none. */
function withFolders(directory: string): string[] {
  if (!isDirectory(directory)) return [];
  const inside = readdirSync(directory, { withFileTypes: true }).filter((entry) => !entry.name.startsWith("."));
  return [
    directory,
    ...inside.flatMap((entry) => (entry.isFile() ? [] : withFolders(join(directory, entry.name)).slice(0, 1))),
  ];
}

/** The definitions that netgloss comes with. */
async function programDefinitions(): Promise<KnownDefinitions> {
  const paths = definitionPathsIn(packagePath("definitions"));
  const loader = new DefinitionsLoader({ paths, metrics: createMetrics(), clock: systemClock });
  const { definitions } = await loader.load("apply");
  if (definitions === undefined)
    throw new MibFault("the definitions of netgloss itself cannot be read: see netgloss snmp check");
  const objects = [...definitions.objects.values()];
  const fields = objects.flatMap(({ index, attributes }) => [...index, ...attributes.values()].flatMap(fieldNames));
  return {
    objects: new Map(objects.map(({ id, mib }) => [id, `definitions of ${mib}`])),
    enums: new Set([...definitions.enums.integer.keys(), ...definitions.enums.bitmap.keys()]),
    fields: new Set(fields),
    notifications: new Set(definitions.enums.oid.get(".1.3.6.1.6.3.1.1.4.1")?.keys()),
  };
}

/** Adds what other modules' files in the output have, as far as a set may have it only once. */
function withOthersIn(output: string, facts: readonly ObjectFacts[], known: KnownDefinitions): KnownDefinitions {
  const own = new Set(facts.map(({ module }) => `${module.toLowerCase()}.yml`));
  const found = (folder: string, pattern: RegExp): readonly (readonly [string, string])[] =>
    definitionFiles(join(output, folder))
      .filter((path) => !own.has(basename(path)))
      .flatMap((path) =>
        Array.from(readFileSync(path, "utf8").matchAll(pattern), ([, id = ""]) => [id, path] as const),
      );
  const idsOf = (folder: string, pattern: RegExp): readonly string[] => found(folder, pattern).map(([id]) => id);
  const labels = /^(\.[\d.]+):/gm;
  return {
    objects: new Map([...known.objects, ...found("objects", /^([^\s#:]+::[^\s:]+):/gm)]),
    enums: new Set([...known.enums, ...idsOf("enums/integer", labels), ...idsOf("enums/bitmap", labels)]),
    fields: new Set([...known.fields, ...idsOf("objects", /^ {6}name: (\S+)$/gm)]),
    notifications: new Set([...known.notifications, ...idsOf("enums/oid", /^ {2}(\.[\d.]+):/gm)]),
  };
}

function definitionFiles(directory: string): readonly string[] {
  if (!isDirectory(directory)) return [];
  return filesIn(directory).filter((path) => /\.ya?ml$/.test(path));
}

async function write(
  output: string,
  made: GeneratedDefinitions,
  options: GenerateOptions,
  terminal: Pick<Terminal, "out" | "err">,
): Promise<boolean> {
  const written = writeDefinitions(output, made.files);
  for (const { path, state } of written) terminal.out(`${state}: ${path}\n`);
  for (const { path, conflicts } of written)
    for (const line of conflicts)
      terminal.err(`error: ${path}:${line}: the module and a hand edit changed the same; the edit stays\n`);
  terminal.out(`${summary(made)}\n`);
  // A set that repeats what the program has stands for itself, and may have no devices yet.
  const isGood = options.all || (await checkDefinitions(output, terminal));
  return isGood && written.every(({ conflicts }) => conflicts.length === 0);
}

function summary({ objects, attributes, files }: GeneratedDefinitions): string {
  const questions = [...files.values()].join("").match(/^\s*# question: /gm)?.length ?? 0;
  const asked = questions === 0 ? "no questions" : `${questions} questions (grep -rn 'question:' shows them)`;
  return `${objects.length} objects with ${attributes} attributes, ${asked}`;
}
