import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import {
  definitionTexts,
  MibFault,
  ModuleLibrary,
  moduleFacts,
  writeDefinitions,
  type ObjectFacts,
} from "../../packages/mib/index.ts";
import { createMetrics, systemClock } from "../../src/base/report/index.ts";
import {
  DefinitionsLoader,
  definitionPathsIn,
  type Attribute,
  type Definitions,
  type ObjectDefinition,
} from "../../src/snmp/index.ts";
import { mibModules } from "../support/mib-modules.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";

const run = promisify(execFile);

/** What snmptranslate prints of an object, in the words of our facts. */
interface Translated {
  readonly oid: string;
  readonly base: string;
  readonly convention: string;
  readonly hint: string;
  readonly units: string;
  readonly access: string;
  readonly status: string;
  readonly labels: string;
  /** Bounds of numbers, lengths of octets. */
  readonly bounds: string;
  readonly index: string;
  readonly augments: string;
}

const inOneCall = 200;

/** By `MODULE::name`. An object that snmptranslate does not find ends its answers: the rest is asked for again. */
async function translate(
  program: string,
  directories: readonly string[],
  module: string,
  names: readonly string[],
): Promise<Map<string, Translated>> {
  const found = new Map<string, Translated>();
  for (let at = 0; at < names.length;) {
    const some = names.slice(at, at + inOneCall).map((name) => `${module}::${name}`);
    const options = ["-M", directories.join(":"), "-m", module, "-Td", "-On", ...some];
    const failed = await run(program, options, { maxBuffer: 64 << 20 }).catch((error: unknown) => error);
    const { stdout } = failed as { readonly stdout: string };
    const answers = stdout.split(/^(?=\.[\d.]+\n\S+ [A-Z-]+$)/m).filter((answer) => answer !== "");
    for (const answer of answers.map(readAnswer)) if (answer !== undefined) found.set(answer.name, answer.translated);
    at += failed instanceof Error ? answers.length + 1 : some.length;
  }
  return found;
}

function readAnswer(answer: string): { name: string; translated: Translated } | undefined {
  const [, oid = "", name = ""] = /^(\.[\d.]+)\n(\S+) [A-Z-]+\n/.exec(answer) ?? [];
  if (oid === "") return undefined;
  const text = answer.replace(/DESCRIPTION\t"[\s\S]*$/, "");
  const clause = (pattern: RegExp): string => (pattern.exec(text)?.[1] ?? "").trim();
  const syntax = clause(/^ {2}SYNTAX\t(.*)$/m);
  return {
    name: `${clause(/-- FROM\t(\S+?)(?:,|$)/m)}::${name}`,
    translated: {
      oid,
      base: syntax.replace(/\s*[({].*$/, ""),
      labels: (/\{(.*)\}/.exec(syntax)?.[1] ?? "").replace(/\s/g, ""),
      bounds: (/\(([^()]*)\)$/.exec(syntax)?.[1] ?? "").replace(/\s/g, ""),
      convention: clause(/-- TEXTUAL CONVENTION (.*)$/m),
      hint: clause(/^ {2}DISPLAY-HINT\t"(.*)"$/m),
      units: clause(/^ {2}UNITS\t\t"([^"]*)"$/m),
      access: clause(/^ {2}MAX-ACCESS\t(.*)$/m),
      status: clause(/^ {2}STATUS\t(.*)$/m),
      index: clause(/^ {2}INDEX\t\t\{(.*)\}/m),
      augments: clause(/^ {2}AUGMENTS\t\{(.*)\}/m),
    },
  };
}

/** net-snmp's names of types. */
const bases: Readonly<Record<string, string>> = { Counter: "Counter32", Gauge: "Gauge32", UInteger32: "UInteger32" };

/** Labels that are also words of the language, which net-snmp leaves out. */
const lostLabels = /(?:mandatory|optional|current)\(\d+\),?/g;

const bound = (value: number): string => (Number.isFinite(value) ? String(value) : value < 0 ? "MIN" : "MAX");

/** Ours of an object, in the words of snmptranslate. */
function inTheirWords({ oid, kind, type, access, status, units, index, augments }: ObjectFacts): Partial<Translated> {
  if (kind === "row") {
    const names = (index ?? []).map((part) => (part.isImplied ? `IMPLIED ${part.name}` : part.name));
    return { oid, ...(augments === undefined ? { index: names.join(", ") } : {}) };
  }
  if (kind !== "column" && kind !== "scalar") return { oid };
  return {
    oid,
    access: access ?? "",
    status: status ?? "",
    units: (units ?? "").trim(),
    hint: type?.hint ?? "",
    convention: type?.conventions[0] ?? "",
    base: bases[type?.base ?? ""] ?? type?.base ?? "",
    labels: (type?.labels ?? []).map(([label, number]) => `${label}(${number})`).join(),
    bounds: (type?.ranges ?? type?.sizes ?? [])
      .map(([low, high]) => (low === high ? bound(low) : `${bound(low)}..${bound(high)}`))
      .join("|"),
  };
}

/** What net-snmp is known to leave out. */
function isTheirFault(what: string, facts: ObjectFacts, ours: string, theirs: string): boolean {
  const { conventions = [], labels } = facts.type ?? {};
  // A type that is not imported, which we find all the same.
  if (conventions.length > 0 && /^(?:convention|base|hint|access|bounds)$/.test(what) && theirs === "") return true;
  if (what === "labels") return ours.replace(lostLabels, "").replace(/,$/, "") === theirs.replace(/,$/, "");
  // A SIZE of Opaque is left out; 2147483648 is more than its numbers hold.
  return (
    what === "bounds" &&
    (labels !== undefined || theirs === "" || facts.type?.base === "Opaque" || ours.endsWith("2147483648"))
  );
}

function differences(facts: ObjectFacts, theirs: Translated): string[] {
  const ours = Object.entries(inTheirWords(facts)) as [keyof Translated, string][];
  return ours.flatMap(([what, value]) =>
    value === theirs[what] || isTheirFault(what, facts, value, theirs[what])
      ? []
      : [`${facts.module}::${facts.name} ${what}: ${value}; snmptranslate says ${theirs[what]}`],
  );
}

/** The standard modules that definitions are wanted of. */
const standard = (
  "IF-MIB IP-MIB TCP-MIB UDP-MIB HOST-RESOURCES-MIB ENTITY-MIB ENTITY-SENSOR-MIB ENTITY-STATE-MIB BRIDGE-MIB P-BRIDGE-MIB " +
  "Q-BRIDGE-MIB OSPF-MIB OSPFV3-MIB BGP4-MIB EtherLike-MIB MAU-MIB POWER-ETHERNET-MIB DISMAN-PING-MIB DISMAN-TRACEROUTE-MIB " +
  "DISMAN-EVENT-MIB DISMAN-SCRIPT-MIB DISMAN-SCHEDULE-MIB UCD-SNMP-MIB UCD-DISKIO-MIB LM-SENSORS-MIB NET-SNMP-EXTEND-MIB " +
  "UPS-MIB Printer-MIB RMON-MIB RMON2-MIB IP-FORWARD-MIB VRRP-MIB VRRPV3-MIB MPLS-L3VPN-STD-MIB DOT3-OAM-MIB RFC1213-MIB " +
  "SNMPv2-MIB SNMP-FRAMEWORK-MIB INET-ADDRESS-MIB IANAifType-MIB"
).split(" ");
/** Those of the IEEE and the newest ones are in no package. */
const notToBeHad = "LLDP-MIB, LLDP-V2-MIB, IEEE8023-LAG-MIB, PTPBASE-MIB";

/** No MIB, but the ASN.1 of the protocol. */
const noMib = /SNMPv2-PDU:\d+:\d+: /;
/** An import list without its semicolon, which snmptranslate does not read. */
const unknownToThem = ["DPI20-MIB::dpiPortForTCP", "DPI20-MIB::dpiPortForUDP"];

function readAll(directories: readonly string[]): { readonly facts: ObjectFacts[]; readonly refused: string[] } {
  const library = new ModuleLibrary(directories);
  const facts: ObjectFacts[] = [];
  const refused: string[] = [];
  for (const file of directories.flatMap((directory) => readdirSync(directory).map((name) => join(directory, name)))) {
    try {
      for (const module of library.readFile(file)) facts.push(...moduleFacts(library, module));
    } catch (error) {
      if (!(error instanceof MibFault)) throw error;
      refused.push(error.message);
    }
  }
  return { facts, refused };
}

test("facts of modules are those of snmptranslate", async (t) => {
  const directories = mibModules(t);
  const program = directories && requireProgram(t, "snmptranslate", "apt-get install snmp");
  if (directories === undefined || program === undefined) return;
  const { facts, refused } = readAll(directories);
  assert.deepEqual(
    refused.filter((message) => !noMib.test(message)),
    [],
  );
  const objects = facts.filter(({ kind }) => kind !== "other" && kind !== "notification");
  const byModule = new Map<string, ObjectFacts[]>();
  for (const one of objects) byModule.set(one.module, [...(byModule.get(one.module) ?? []), one]);
  const wrong: string[] = [];
  const unknown: string[] = [];
  let compared = 0;
  for (const [module, own] of byModule) {
    const theirs = await translate(
      program,
      directories,
      module,
      own.map(({ name }) => name),
    );
    for (const one of own) {
      const known = theirs.get(`${module}::${one.name}`);
      if (known === undefined) unknown.push(`${module}::${one.name}`);
      else wrong.push(...differences(one, known));
      if (known !== undefined) compared++;
    }
  }
  assert.deepEqual(wrong, []);
  assert.deepEqual(unknown, unknownToThem);
  const missing = standard.filter(
    (name) => !facts.some(({ module }) => module === name) && !/INET-ADDRESS|IANAifType/.test(name),
  );
  assert.deepEqual(missing, []);
  t.diagnostic(
    `${compared} objects of ${byModule.size} modules agree with snmptranslate; not to be had: ${notToBeHad}`,
  );
});

/** Kinds of syntax that say more of a value than its module does in clauses: only its description has it. */
const refinements: Readonly<Record<string, readonly string[]>> = {
  number: ["scaled", "temperature", "duration", "blocks", "sensor", "enum-bitmap"],
  scaled: ["number"],
  text: ["hex", "number"],
  octets: ["text", "hex", "number"],
  oid: ["enum-oid"],
  entity: ["number"],
  "enum-integer": ["number"],
};

/** Why a hand-made attribute contradicts the one that is made of the module; undefined where it does not. */
function contradiction(shipped: Attribute, made: Attribute): string | undefined {
  if (shipped.name !== made.name) return `is ${made.name}`;
  const [a, b] = [shipped.syntax, made.syntax];
  // A number of 32 bits that everybody writes as an address.
  if (shipped.name === "ospfv3RouterId") return undefined;
  if (a.kind !== b.kind && refinements[b.kind]?.includes(a.kind) !== true) return `${a.name}, made: ${b.name}`;
  const scale = b.multiply / b.divide;
  if (scale !== 1 && a.multiply / a.divide !== scale) return `${a.name}, made: ${b.name}`;
  // The module says Counter32 of what goes back to zero when the printer is switched off.
  const isCounter = made.metric === "counter" && made.name !== "prtMarkerPowerOnCount";
  return isCounter && shipped.metric !== "counter" ? `${String(shipped.metric)}, made: counter` : undefined;
}

const indexText = ({ index }: ObjectDefinition): string =>
  index.map(({ type, oidText }) => `${type.replace(/^(?:Integer32|Unsigned32)$/, "Integer")} ${oidText}`).join();

test("what is made of the standard modules agrees with the definitions that netgloss comes with", async (t) => {
  const directories = mibModules(t);
  if (directories === undefined) return;
  const modules = new Set(standard);
  const facts = readAll(directories).facts.filter(({ module }) => modules.has(module));
  const known = {
    objects: new Map<string, string>(),
    enums: new Set<string>(),
    fields: new Set<string>(),
    notifications: new Set<string>(),
  };
  const texts = definitionTexts({ facts, roots: [".1"], deviceGroup: "all", known, withDescriptions: true });
  const directory = tempDirectory(t);
  const shippedDirectory = join(import.meta.dirname, "../../../definitions");
  cpSync(join(shippedDirectory, "defaults"), join(directory, "defaults"), { recursive: true });
  for (const folder of ["devices", "autodiscover", "enums/oid"])
    mkdirSync(join(directory, folder), { recursive: true });
  writeDefinitions(directory, texts.files);
  const [made, shipped] = [await loaded(directory), await loaded(shippedDirectory)];
  const byOid = new Map<string, Attribute>();
  for (const { attributes } of made.objects.values())
    for (const one of attributes.values()) byOid.set(one.oidText, one);
  const wrong: string[] = [];
  let compared = 0;
  for (const object of shipped.objects.values()) {
    for (const one of object.attributes.values()) {
      const twin = byOid.get(one.oidText);
      const reason = twin && contradiction(one, twin);
      if (twin !== undefined) compared++;
      if (reason !== undefined) wrong.push(`${object.id} ${one.name}: ${reason}`);
    }
    const twin = made.objects.get(object.id);
    if (twin !== undefined && indexText(twin) !== indexText(object))
      wrong.push(`${object.id}: index ${indexText(object)}, made: ${indexText(twin)}`);
  }
  for (const kind of ["integer", "bitmap"] as const) {
    for (const [oid, labels] of made.enums[kind]) {
      const others = shipped.enums[kind].get(oid);
      const lacking = others && [...labels.keys()].filter((number) => !others.has(number));
      if (lacking !== undefined && lacking.length > 0) wrong.push(`labels of ${oid} lack ${lacking.join()}`);
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(compared > 450, `${compared} attributes`);
  t.diagnostic(
    `${texts.objects.length} objects with ${texts.attributes} attributes made; ${compared} attributes are shipped, too`,
  );
});

async function loaded(directory: string): Promise<Definitions> {
  const loader = new DefinitionsLoader({
    paths: definitionPathsIn(directory),
    metrics: createMetrics(),
    clock: systemClock,
  });
  const { definitions, findings } = await loader.load("apply");
  assert.deepEqual(findings, []);
  assert.ok(definitions);
  return definitions;
}
