import { readFileSync } from "node:fs";
import { nearName } from "../../text/index.ts";
import { MibFault, placeOf, type MibSource } from "../mib-fault.ts";
import type { Import, LeftOut, MibModule, NodeDefinition, TypeDefinition } from "../syntax/mib-module.ts";
import { readModules } from "../syntax/read-modules.ts";
import { builtinModules } from "./builtin-modules.ts";
import { createModuleFiles, type ModuleFiles } from "./module-files.ts";
import { renamedModules } from "./renamed-modules.ts";

/** What a name stands for: its definition and the module that has it. */
export interface Found<T> {
  readonly module: MibModule;
  readonly definition: T;
}

/** Modules by name: those of named files, those that their imports lead to, and a few that the program knows itself. */
export class ModuleLibrary {
  readonly #directories: readonly string[];
  readonly #files: ModuleFiles;
  readonly #modules = new Map<string, MibModule | undefined>();
  /** What was done about faults of modules, a line each. */
  readonly notes: string[] = [];
  /** Definitions of all modules that cannot be used. */
  readonly leftOut: LeftOut[] = [];

  constructor(directories: readonly string[]) {
    this.#directories = directories;
    this.#files = createModuleFiles(directories);
  }

  /** Reads a file and keeps its modules. @throws MibFault */
  readFile(file: string): readonly MibModule[] {
    let text: string;
    try {
      text = readFileSync(file, "utf8");
    } catch (error) {
      throw new MibFault(`${file}: cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
    const modules = readModules({ file, text });
    for (const module of modules) {
      this.#modules.set(module.name, module);
      for (const { name, reason } of module.leftOut) this.leaveOut(name, reason);
    }
    return modules;
  }

  /** Notes that a definition cannot be used. */
  leaveOut(name: string, reason: string): void {
    if (!this.leftOut.some((one) => one.name === name && one.reason === reason)) this.leftOut.push({ name, reason });
  }

  /** A module by its name. @throws MibFault where its file cannot be read as one. */
  find(name: string): MibModule | undefined {
    if (this.#modules.has(name)) return this.#modules.get(name);
    // What imports itself in a circle finds nothing.
    this.#modules.set(name, undefined);
    for (const file of this.#files.find(name)) {
      if (this.readFile(file).some((module) => module.name === name)) return this.#modules.get(name);
    }
    const built = this.#builtin(name);
    if (built !== undefined) {
      this.#modules.set(name, built);
      return built;
    }
    for (const other of renamedModules[name] ?? []) {
      const module = this.find(other);
      if (module === undefined) continue;
      this.#modules.set(name, module);
      return module;
    }
    return undefined;
  }

  /** A module by its name. @throws MibFault that says where it was looked for. */
  require(name: string): MibModule {
    const module = this.find(name);
    if (module !== undefined) return module;
    throw new MibFault(`no module ${name}; looked for in ${this.lookedIn}`);
  }

  get lookedIn(): string {
    return this.#directories.length === 0 ? "no directory: name one with --mibs" : this.#directories.join(", ");
  }

  /** What a name in a module stands for, by the module itself and by what it imports. @throws MibFault */
  findNode(module: MibModule, name: string, at: number): Found<NodeDefinition> {
    return this.#lookUp(module, name, at, "nodes");
  }

  findType(module: MibModule, name: string, at: number): Found<TypeDefinition> {
    return this.#lookUp(module, name, at, "types");
  }

  #lookUp<K extends "nodes" | "types">(module: MibModule, name: string, at: number, kind: K): Found<Definition<K>> {
    const own = definitionIn(module, kind, name);
    if (own !== undefined) return own;
    const imported = module.imports.get(name);
    if (imported !== undefined) return this.#follow(module, imported, kind);
    // Modules that forget an import mean one of those that they name.
    for (const other of new Set([...module.imports.values()].map((one) => one.module.name))) {
      const from = this.find(other);
      const found = from && definitionIn(from, kind, name);
      if (found === undefined) continue;
      this.#note(module.source, at, `${name} is not imported; taken from ${found.module.name}`);
      return found;
    }
    for (const base of ["SNMPv2-SMI", "SNMPv2-TC", "RFC1213-MIB"]) {
      const from = this.find(base);
      const found = from && definitionIn(from, kind, name);
      if (found === undefined) continue;
      this.#note(module.source, at, `${name} is not imported; taken from ${base}`);
      return found;
    }
    const near = nearName(name, [...module[kind].keys(), ...module.imports.keys()]);
    const hint = near === undefined ? "" : ` (did you mean ${JSON.stringify(near)}?)`;
    throw new MibFault(`${name} is neither defined nor imported in ${module.name}${hint}`, module.source, at);
  }

  #follow<K extends "nodes" | "types">(module: MibModule, imported: Import, kind: K): Found<Definition<K>> {
    const { name } = imported;
    const wanted = imported.module.name;
    const from = wanted === module.name ? undefined : this.find(wanted);
    if (from === undefined) {
      const message = `${name} is imported from ${wanted}, which was not found; looked for in ${this.lookedIn}`;
      throw new MibFault(message, module.source, imported.module.at);
    }
    for (const other of [wanted, ...(renamedModules[wanted] ?? [])]) {
      const candidate = other === wanted ? from : this.find(other);
      const found = candidate && (definitionIn(candidate, kind, name) ?? this.#passedOn(candidate, kind, name));
      if (found !== undefined) return found;
    }
    throw new MibFault(`${name} is imported from ${wanted}, which does not define it`, module.source, imported.at);
  }

  /** Modules import from others what these import themselves; no rule allows it. */
  #passedOn<K extends "nodes" | "types">(module: MibModule, kind: K, name: string): Found<Definition<K>> | undefined {
    const further = module.imports.get(name);
    const from = further && further.module.name !== module.name ? this.find(further.module.name) : undefined;
    return from && definitionIn(from, kind, name);
  }

  #note(source: MibSource, at: number, message: string): void {
    const note = `${placeOf(source, at)}: ${message}`;
    if (!this.notes.includes(note)) this.notes.push(note);
  }

  #builtin(name: string): MibModule | undefined {
    const text = builtinModules[name];
    return text === undefined ? undefined : readModules({ file: `(built in) ${name}`, text })[0];
  }
}

type Definition<K extends "nodes" | "types"> = K extends "nodes" ? NodeDefinition : TypeDefinition;

function definitionIn<K extends "nodes" | "types">(
  module: MibModule,
  kind: K,
  name: string,
): Found<Definition<K>> | undefined {
  const definition = module[kind].get(name) as Definition<K> | undefined;
  return definition && { module, definition };
}
