import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { nearName } from "../../src/base/text/index.ts";
import { MibFault, placeOf, type MibSource } from "./mib-module.ts";
import type { Import, LeftOut, MibModule, NodeDefinition, TypeDefinition } from "./mib-module.ts";
import { readModules } from "./read-modules.ts";

/**
 * The names and types that almost every module imports, so that a vendor's module can be read where the modules of the
 * IETF are not installed. They have no descriptions, and only what others import. A module that is found in a directory
 * comes before the one here.
 */
const builtinModules: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    "SNMPv2-SMI": `
      org OBJECT IDENTIFIER ::= { iso 3 }  dod OBJECT IDENTIFIER ::= { org 6 }
      internet OBJECT IDENTIFIER ::= { dod 1 }  directory OBJECT IDENTIFIER ::= { internet 1 }
      mgmt OBJECT IDENTIFIER ::= { internet 2 }  mib-2 OBJECT IDENTIFIER ::= { mgmt 1 }
      transmission OBJECT IDENTIFIER ::= { mib-2 10 }  experimental OBJECT IDENTIFIER ::= { internet 3 }
      private OBJECT IDENTIFIER ::= { internet 4 }  enterprises OBJECT IDENTIFIER ::= { private 1 }
      security OBJECT IDENTIFIER ::= { internet 5 }  snmpV2 OBJECT IDENTIFIER ::= { internet 6 }
      snmpDomains OBJECT IDENTIFIER ::= { snmpV2 1 }  snmpProxys OBJECT IDENTIFIER ::= { snmpV2 2 }
      snmpModules OBJECT IDENTIFIER ::= { snmpV2 3 }  zeroDotZero OBJECT IDENTIFIER ::= { 0 0 }
      ${baseOf("Integer32", "INTEGER (-2147483648..2147483647)")}
      ${["Counter32", "Counter64", "Gauge32", "Unsigned32", "TimeTicks", "UInteger32"].map(number).join("\n")}
      ${baseOf("IpAddress", "OCTET STRING (SIZE (4))")} ${baseOf("Opaque", "OCTET STRING")}`,
    "SNMPv2-CONF": "",
    "RFC-1212": "",
    "RFC-1215": "",
    "RFC1155-SMI": `
      org OBJECT IDENTIFIER ::= { iso 3 }  dod OBJECT IDENTIFIER ::= { org 6 }
      internet OBJECT IDENTIFIER ::= { dod 1 }  directory OBJECT IDENTIFIER ::= { internet 1 }
      mgmt OBJECT IDENTIFIER ::= { internet 2 }  experimental OBJECT IDENTIFIER ::= { internet 3 }
      private OBJECT IDENTIFIER ::= { internet 4 }  enterprises OBJECT IDENTIFIER ::= { private 1 }
      ${["Counter", "Gauge", "TimeTicks"].map(number).join("\n")}
      ${baseOf("IpAddress", "OCTET STRING (SIZE (4))")} ${baseOf("NetworkAddress", "IpAddress")} ${baseOf("Opaque", "OCTET STRING")}`,
    "SNMPv2-TC": `
      ${convention("DisplayString", "OCTET STRING (SIZE (0..255))", "255a")}
      ${convention("PhysAddress", "OCTET STRING", "1x:")} ${convention("MacAddress", "OCTET STRING (SIZE (6))", "1x:")}
      ${convention("TruthValue", "INTEGER { true(1), false(2) }")} ${convention("TestAndIncr", "INTEGER (0..2147483647)")}
      ${convention("AutonomousType", "OBJECT IDENTIFIER")} ${convention("InstancePointer", "OBJECT IDENTIFIER")}
      ${convention("VariablePointer", "OBJECT IDENTIFIER")} ${convention("RowPointer", "OBJECT IDENTIFIER")}
      ${convention("RowStatus", "INTEGER { active(1), notInService(2), notReady(3), createAndGo(4), createAndWait(5), destroy(6) }")}
      ${convention("StorageType", "INTEGER { other(1), volatile(2), nonVolatile(3), permanent(4), readOnly(5) }")}
      ${convention("TimeStamp", "TimeTicks")} ${convention("TimeInterval", "INTEGER (0..2147483647)")}
      ${convention("DateAndTime", "OCTET STRING (SIZE (8 | 11))", "2d-1d-1d,1d:1d:1d.1d,1a1d:1d")}
      ${convention("TDomain", "OBJECT IDENTIFIER")} ${convention("TAddress", "OCTET STRING (SIZE (1..255))")}`,
    "SNMP-FRAMEWORK-MIB": `
      ${convention("SnmpAdminString", "OCTET STRING (SIZE (0..255))", "255t")}
      ${convention("SnmpEngineID", "OCTET STRING (SIZE (5..32))")}`,
    "INET-ADDRESS-MIB": `
      ${convention("InetAddressType", "INTEGER { unknown(0), ipv4(1), ipv6(2), ipv4z(3), ipv6z(4), dns(16) }")}
      ${convention("InetAddress", "OCTET STRING (SIZE (0..255))")}
      ${convention("InetAddressIPv4", "OCTET STRING (SIZE (4))", "1d.1d.1d.1d")}
      ${convention("InetAddressIPv6", "OCTET STRING (SIZE (16))", "2x:2x:2x:2x:2x:2x:2x:2x")}
      ${convention("InetAddressPrefixLength", "Unsigned32 (0..2040)", "d")} ${convention("InetPortNumber", "Unsigned32 (0..65535)", "d")}
      ${convention("InetAutonomousSystemNumber", "Unsigned32", "d")}
      ${convention("InetVersion", "INTEGER { unknown(0), ipv4(1), ipv6(2) }")}`,
    "HCNUM-TC": `
      ${convention("CounterBasedGauge64", "Counter64")} ${convention("ZeroBasedCounter64", "Counter64")}`,
    "RMON2-MIB": convention("ZeroBasedCounter32", "Gauge32"),
    "UUID-TC-MIB": convention("UUID", "OCTET STRING (SIZE (16))", "4x-2x-2x-1x1x-6x"),
    "RFC1213-MIB": `
      mib-2 OBJECT IDENTIFIER ::= { mgmt 1 }  system OBJECT IDENTIFIER ::= { mib-2 1 }
      interfaces OBJECT IDENTIFIER ::= { mib-2 2 }  ip OBJECT IDENTIFIER ::= { mib-2 4 }
      transmission OBJECT IDENTIFIER ::= { mib-2 10 }  DisplayString ::= OCTET STRING  PhysAddress ::= OCTET STRING
      ${scalar("sysDescr", "DisplayString", "system 1")} ${scalar("sysObjectID", "OBJECT IDENTIFIER", "system 2")}
      ${scalar("sysUpTime", "TimeTicks", "system 3")} ${scalar("sysName", "DisplayString", "system 5")}
      ifTable OBJECT-TYPE SYNTAX SEQUENCE OF IfEntry ACCESS not-accessible STATUS mandatory ::= { interfaces 2 }
      ifEntry OBJECT-TYPE SYNTAX IfEntry ACCESS not-accessible STATUS mandatory INDEX { ifIndex } ::= { ifTable 1 }
      IfEntry ::= SEQUENCE { ifIndex INTEGER } ${scalar("ifIndex", "INTEGER", "ifEntry 1")}
      ${scalar("ifDescr", "DisplayString", "ifEntry 2")}`,
    "SNMPv2-MIB": `
      system OBJECT IDENTIFIER ::= { mib-2 1 }  ${scalar("sysDescr", "DisplayString", "system 1")}
      ${scalar("sysObjectID", "OBJECT IDENTIFIER", "system 2")} ${scalar("sysUpTime", "TimeTicks", "system 3")}
      ${scalar("sysName", "DisplayString", "system 5")}`,
    "IF-MIB": `
      interfaces OBJECT IDENTIFIER ::= { mib-2 2 }
      ${convention("InterfaceIndex", "Integer32 (1..2147483647)", "d")}
      ${convention("InterfaceIndexOrZero", "Integer32 (0..2147483647)", "d")}
      ${convention("OwnerString", "OCTET STRING (SIZE (0..255))", "255a")}
      ifTable OBJECT-TYPE SYNTAX SEQUENCE OF IfEntry MAX-ACCESS not-accessible STATUS current ::= { interfaces 2 }
      ifEntry OBJECT-TYPE SYNTAX IfEntry MAX-ACCESS not-accessible STATUS current INDEX { ifIndex } ::= { ifTable 1 }
      IfEntry ::= SEQUENCE { ifIndex InterfaceIndex } ${scalar("ifIndex", "InterfaceIndex", "ifEntry 1")}
      ${scalar("ifDescr", "DisplayString", "ifEntry 2")}`,
    "ENTITY-MIB": `
      entityMIB OBJECT IDENTIFIER ::= { mib-2 47 }  entityMIBObjects OBJECT IDENTIFIER ::= { entityMIB 1 }
      entityPhysical OBJECT IDENTIFIER ::= { entityMIBObjects 1 }
      ${convention("PhysicalIndex", "Integer32 (1..2147483647)", "d")}
      ${convention("PhysicalIndexOrZero", "Integer32 (0..2147483647)", "d")}
      entPhysicalTable OBJECT-TYPE SYNTAX SEQUENCE OF EntPhysicalEntry MAX-ACCESS not-accessible STATUS current ::= { entityPhysical 1 }
      entPhysicalEntry OBJECT-TYPE SYNTAX EntPhysicalEntry MAX-ACCESS not-accessible STATUS current INDEX { entPhysicalIndex } ::= { entPhysicalTable 1 }
      EntPhysicalEntry ::= SEQUENCE { entPhysicalIndex PhysicalIndex }
      entPhysicalIndex OBJECT-TYPE SYNTAX PhysicalIndex MAX-ACCESS not-accessible STATUS current ::= { entPhysicalEntry 1 }`,
  }).map(([name, body]) => [name, `${name} DEFINITIONS ::= BEGIN ${imports(name)} ${body} END`]),
);

/** Returns the imports that the bodies above need of one another. */
function imports(name: string): string {
  if (/^(?:SNMPv2-SMI|SNMPv2-CONF|RFC-121[25]|RFC1155-SMI)$/.test(name)) return "";
  const smi =
    name === "RFC1213-MIB"
      ? "mgmt, TimeTicks FROM RFC1155-SMI"
      : "mib-2, TimeTicks, Integer32, Unsigned32, Gauge32, Counter64 FROM SNMPv2-SMI";
  return `IMPORTS ${smi}${/^(?:IF-MIB|SNMPv2-MIB)$/.test(name) ? " DisplayString FROM SNMPv2-TC" : ""};`;
}

function baseOf(name: string, type: string): string {
  return `${name} ::= ${type}`;
}

function number(name: string): string {
  return baseOf(name, name === "Counter64" ? "INTEGER (0..18446744073709551615)" : "INTEGER (0..4294967295)");
}

function convention(name: string, type: string, hint?: string): string {
  const display = hint === undefined ? "" : `DISPLAY-HINT "${hint}"`;
  return `${name} ::= TEXTUAL-CONVENTION ${display} STATUS current SYNTAX ${type}`;
}

function scalar(name: string, type: string, place: string): string {
  return `${name} OBJECT-TYPE SYNTAX ${type} MAX-ACCESS read-only STATUS current ::= { ${place} }`;
}

/** Endings that files of modules have. */
const endings = ["", ".txt", ".mib", ".my", ".MIB", ".asn1", ".asn", ".smi"];

/** Finds the files of modules in directories, the first directory first. */
interface ModuleFiles {
  /** Files that may have the module, the likeliest first. */
  find(module: string): readonly string[];
}

function createModuleFiles(directories: readonly string[]): ModuleFiles {
  const listings = directories.map((directory) => ({ directory, names: new Set(filesIn(directory)) }));
  let byModule: ReadonlyMap<string, readonly string[]> | undefined;
  return {
    find(module) {
      const named = listings.flatMap(({ directory, names }) =>
        endings.filter((ending) => names.has(module + ending)).map((ending) => join(directory, module + ending)),
      );
      if (named.length > 0) return named;
      byModule ??= indexFiles(
        listings.flatMap(({ directory, names }) => [...names].map((name) => join(directory, name))),
      );
      return byModule.get(module) ?? [];
    },
  };
}

/** Directories that cannot be read have none. */
function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => !name.startsWith(".") && !name.endsWith("~"));
  } catch {
    return [];
  }
}

/** A file has a module's name at the beginning of a line, and no more than 8 MiB. */
function indexFiles(files: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const file of files) {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats?.isFile() !== true || stats.size > 8 << 20) continue;
    const text = readFileSync(file, "latin1");
    for (const [, name = ""] of text.matchAll(/^\s*([A-Za-z][\w-]*)\s*(?:\{[^}]*\}\s*)?DEFINITIONS\b/gm))
      found.set(name, [...(found.get(name) ?? []), file]);
  }
  for (const list of found.values()) list.sort((a, b) => basename(a).length - basename(b).length);
  return found;
}

/** Modules that others took the place of: what names the old one finds its objects in the new ones. */
const renamedModules: Readonly<Record<string, readonly string[]>> = {
  "RFC-1213": ["RFC1213-MIB"],
  RFC1212: ["RFC-1212"],
  RFC1215: ["RFC-1215"],
  "RFC1065-SMI": ["RFC1155-SMI"],
  "RFC1066-MIB": ["RFC1213-MIB"],
  "RFC1155-SMI": ["SNMPv2-SMI"],
  "RFC1156-MIB": ["RFC1213-MIB"],
  "RFC1158-MIB": ["RFC1213-MIB"],
  "RFC1213-MIB": ["IF-MIB", "IP-MIB", "TCP-MIB", "UDP-MIB", "SNMPv2-MIB", "SNMPv2-SMI", "SNMPv2-TC"],
  "RFC1229-MIB": ["IF-MIB"],
  "RFC1230-MIB": ["TOKENRING-MIB"],
  "RFC1231-MIB": ["TOKENRING-MIB"],
  "RFC1253-MIB": ["OSPF-MIB"],
  "RFC1269-MIB": ["BGP4-MIB"],
  "RFC1271-MIB": ["RMON-MIB"],
  "RFC1284-MIB": ["EtherLike-MIB"],
  "RFC1286-MIB": ["BRIDGE-MIB", "SOURCE-ROUTING-MIB"],
  "RFC1315-MIB": ["FRAME-RELAY-DTE-MIB"],
  "RFC1316-MIB": ["CHARACTER-MIB"],
  "RFC1317-MIB": ["RS-232-MIB"],
  "RFC1354-MIB": ["IP-FORWARD-MIB"],
  "RFC1389-MIB": ["RIPv2-MIB"],
  "RFC1398-MIB": ["EtherLike-MIB"],
  "RFC1406-MIB": ["DS1-MIB"],
  "RFC1407-MIB": ["DS3-MIB"],
  "RFC1493-MIB": ["BRIDGE-MIB"],
  "RFC1595-MIB": ["SONET-MIB"],
  "SNMPv2-SMI": ["SNMPv2-SMI-v1", "RFC1155-SMI"],
  "SNMPv2-SMI-v1": ["SNMPv2-SMI"],
  "SNMPv2-TC-v1": ["SNMPv2-TC"],
  "SNMPv2-TC": ["RFC1213-MIB"],
  "RFC1903-TC": ["SNMPv2-TC"],
};

/** The meaning of a name: its definition and the module that has it. */
export interface Found<T> {
  readonly module: MibModule;
  readonly definition: T;
}

/** Modules by name: those of named files, those that their imports lead to, and a few that the program knows itself. */
export class ModuleLibrary {
  readonly #directories: readonly string[];
  readonly #files: ModuleFiles;
  readonly #modules = new Map<string, MibModule | undefined>();
  /** Remedies for faults of modules, a line each. */
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
    // A module that imports itself in a circle finds nothing.
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

  /** Finds the meaning of a name in a module, by the module itself and by what it imports. @throws MibFault */
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
