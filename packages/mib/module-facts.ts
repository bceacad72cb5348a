import type { ModuleLibrary, Found } from "./module-library.ts";
import {
  type MibModule,
  type Range,
  type TypeUse,
  MibFault,
  type NodeDefinition,
  type OidStep,
  type NameUse,
} from "./mib-module.ts";

/** The types that SMI itself defines. */
const baseTypes: ReadonlySet<string> = new Set(
  (
    "INTEGER,OCTET STRING,OBJECT IDENTIFIER,BITS,SEQUENCE OF,SEQUENCE,CHOICE,NULL,Integer32,Counter,Counter32,Counter64," +
    "Gauge,Gauge32,Unsigned32,UInteger32,TimeTicks,IpAddress,NetworkAddress,Opaque,ObjectName,ObjectSyntax"
  ).split(","),
);

/** A type with all that its conventions add, the nearest first. */
export interface TypeFacts {
  /** A type of SMI: `Integer32`, `OCTET STRING`. */
  readonly base: string;
  /** Names of the textual conventions and other types on the way to it, the outermost first. */
  readonly conventions: readonly string[];
  readonly hint: string | undefined;
  readonly labels: TypeUse["labels"];
  readonly ranges: readonly Range[] | undefined;
  readonly sizes: readonly Range[] | undefined;
}

/** @throws MibFault for a type that is nowhere defined, or in a circle. */
function resolveType(library: ModuleLibrary, module: MibModule, use: TypeUse): TypeFacts {
  const conventions: string[] = [];
  let [current, from] = [use, module];
  let { labels, ranges, sizes } = use;
  let hint: string | undefined;
  while (!baseTypes.has(current.name)) {
    const { definition, module: home } = library.findType(from, current.name, current.at);
    if (conventions.includes(current.name) && home === from) break;
    conventions.push(current.name);
    hint ??= definition.hint;
    // A type of a sequence of columns is that of a row.
    if (definition.type === undefined) return { base: "SEQUENCE", conventions, hint, labels, ranges, sizes };
    [current, from] = [definition.type, home];
    labels ??= current.labels;
    ranges ??= current.ranges;
    sizes ??= current.sizes;
  }
  return { base: current.name, conventions, hint, labels, ranges, sizes };
}

/** The length that all values have, where there is only one. */
export function fixedLength({ base, sizes }: TypeFacts): number | undefined {
  if (base === "IpAddress" || base === "NetworkAddress") return 4;
  const [only] = sizes ?? [];
  return base === "OCTET STRING" && sizes?.length === 1 && only?.[0] === only?.[1] ? only?.[0] : undefined;
}

/** The arcs that no module defines. */
const roots: Readonly<Record<string, number>> = {
  ccitt: 0,
  zeroDotZero: 0,
  iso: 1,
  "joint-iso-ccitt": 2,
  "joint-iso-itu-t": 2,
};

/** SMIv1's generic traps have OIDs of their own (RFC 3584, 3.1). */
const genericTraps = ".1.3.6.1.6.3.1.1.5";

/** OIDs of nodes as texts with a leading dot. */
class OidResolver {
  readonly #library: ModuleLibrary;
  readonly #known = new Map<NodeDefinition, string | undefined>();

  constructor(library: ModuleLibrary) {
    this.#library = library;
  }

  /** @returns undefined for a node whose value is no OID. @throws MibFault */
  resolve(module: MibModule, node: NodeDefinition): string | undefined {
    if (this.#known.has(node)) {
      const known = this.#known.get(node);
      if (known === "") throw new MibFault(`the OID of ${node.name} leads back to itself`, module.source, node.at);
      return known;
    }
    this.#known.set(node, "");
    let oid: string | undefined;
    try {
      oid = node.trapNumber === undefined ? this.#ofSteps(module, node) : this.#ofTrap(module, node, node.trapNumber);
    } catch (error) {
      this.#known.delete(node);
      throw error;
    }
    this.#known.set(node, oid);
    return oid;
  }

  #ofSteps(module: MibModule, { oid }: NodeDefinition): string | undefined {
    if (oid === undefined) return undefined;
    const [first, ...rest] = oid as readonly [OidStep, ...OidStep[]];
    let text = this.#ofFirst(module, first, rest.length === 0);
    for (const { name, number, at } of rest) {
      if (number === undefined) throw new MibFault(`${String(name)} has no number here`, module.source, at);
      text += `.${number}`;
    }
    return text;
  }

  #ofFirst(module: MibModule, { name, number, at }: OidStep, isAlone: boolean): string {
    if (number !== undefined) return `.${number}`;
    const root = roots[String(name)];
    if (root !== undefined && !(isAlone && module.nodes.has(String(name)))) return `.${root}`;
    return this.#ofName(module, String(name), at);
  }

  #ofName(module: MibModule, name: string, at: number): string {
    const found = this.#library.findNode(module, name, at);
    const oid = this.resolve(found.module, found.definition);
    if (oid === undefined) throw new MibFault(`${name} is no OID`, module.source, at);
    return oid;
  }

  #ofTrap(module: MibModule, { enterprise, at }: NodeDefinition, number: number): string {
    if (enterprise === undefined) throw new MibFault("a trap without ENTERPRISE", module.source, at);
    const above = this.#ofName(module, enterprise.name, enterprise.at);
    return above === ".1.3.6.1.2.1.11" ? `${genericTraps}.${number + 1}` : `${above}.0.${number}`;
  }
}

type ObjectKind = "table" | "row" | "column" | "scalar" | "notification" | "other";

/** An object with all that its module and those it imports say of it. */
export interface ObjectFacts {
  readonly module: string;
  readonly name: string;
  /** Text with a leading dot. */
  readonly oid: string;
  readonly kind: ObjectKind;
  /** The type; only columns and scalars have one. */
  readonly type: TypeFacts | undefined;
  readonly access: string | undefined;
  readonly status: string | undefined;
  readonly units: string | undefined;
  readonly description: string | undefined;
  /** The index of a row, its own or that of the row that it augments; empty where the module does not name its objects. */
  readonly index: readonly IndexFacts[] | undefined;
  /** `MODULE::table` of the row that this row augments. */
  readonly augments: string | undefined;
}

/** A part of an index. */
export interface IndexFacts {
  readonly module: string;
  readonly name: string;
  readonly oid: string;
  readonly type: TypeFacts;
  /** True if it takes what is left of the instance, without a length. */
  readonly isImplied: boolean;
}

/**
 * Facts of all that a module defines in the tree, by the order of the text. What has a fault is left out, and noted in the
 * library; a row with all its columns.
 *
 * @throws MibFault where nothing is left.
 */
export function moduleFacts(library: ModuleLibrary, module: MibModule): readonly ObjectFacts[] {
  const oids = new OidResolver(library);
  let fault: MibFault | undefined;
  const attempt = <T>({ name }: NodeDefinition, work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof MibFault)) throw error;
      fault ??= error;
      library.leaveOut(name, error.message);
      return undefined;
    }
  };
  const oidOf = (node: NodeDefinition): string | undefined => attempt(node, () => oids.resolve(module, node));
  const kinds = kindsOf(module, oidOf);
  const facts: ObjectFacts[] = [];
  /** OIDs of rows without facts. */
  const lost = new Set<string>();
  for (const node of module.nodes.values()) {
    const oid = oidOf(node);
    if (oid === undefined) continue;
    const one = attempt(node, () => nodeFacts(node, oid));
    if (one !== undefined) facts.push(one);
    else if (kinds.get(node) === "row") lost.add(oid);
  }
  const kept = facts.filter(({ kind, oid }) => kind !== "column" || !lost.has(oid.replace(/\.\d+$/, "")));
  if (kept.length === 0 && fault !== undefined) throw fault;
  return kept;

  function nodeFacts(node: NodeDefinition, oid: string): ObjectFacts {
    const kind = kinds.get(node) ?? "other";
    const { name, access, status, units, description } = node;
    // Modules spell the type of a row wrong, which nobody uses.
    const hasValue = kind === "column" || kind === "scalar";
    const type = hasValue && node.type ? resolveType(library, module, node.type) : undefined;
    const index = kind === "row" ? rowIndex(library, oids, { module, definition: node }, []) : undefined;
    const augments = kind === "row" && node.augments ? augmentedTable(library, oids, module, node.augments) : undefined;
    return { module: module.name, name, oid, kind, type, access, status, units, description, index, augments };
  }
}

/** Finds the kinds of the nodes of a module: a row is below a table, a column below a row. */
function kindsOf(
  module: MibModule,
  oidOf: (node: NodeDefinition) => string | undefined,
): ReadonlyMap<NodeDefinition, ObjectKind> {
  const kinds = new Map<NodeDefinition, ObjectKind>();
  const byOid = new Map<string, NodeDefinition>();
  for (const node of module.nodes.values()) {
    const oid = oidOf(node);
    if (oid !== undefined && node.macro === "OBJECT-TYPE") byOid.set(oid, node);
  }
  const above = (node: NodeDefinition): NodeDefinition | undefined =>
    byOid.get((oidOf(node) ?? "").replace(/\.\d+$/, ""));
  const isTable = (node: NodeDefinition | undefined): boolean => node?.type?.name === "SEQUENCE OF";
  for (const node of module.nodes.values()) {
    if (node.macro === "NOTIFICATION-TYPE" || node.macro === "TRAP-TYPE") kinds.set(node, "notification");
    if (node.macro !== "OBJECT-TYPE") continue;
    const parent = above(node);
    if (isTable(node)) kinds.set(node, "table");
    else if (isTable(parent)) kinds.set(node, "row");
    else kinds.set(node, parent !== undefined && isTable(above(parent)) ? "column" : "scalar");
  }
  return kinds;
}

/** @throws MibFault for a row without INDEX and AUGMENTS, and for rows that augment one another in a circle. */
function rowIndex(
  library: ModuleLibrary,
  oids: OidResolver,
  { module, definition: row }: Found<NodeDefinition>,
  seen: readonly NodeDefinition[],
): readonly IndexFacts[] | undefined {
  if (row.index !== undefined) {
    const parts = row.index.map((item) => indexFacts(library, oids, module, item));
    return parts.includes(undefined) ? [] : (parts as IndexFacts[]);
  }
  if (row.augments === undefined) return undefined;
  if (seen.includes(row)) throw new MibFault(`${row.name} augments itself`, module.source, row.augments.at);
  const base = library.findNode(module, row.augments.name, row.augments.at);
  return rowIndex(library, oids, base, [...seen, row]);
}

/** @returns undefined for a type in the place of an object, as SMIv1 allows it: it does not say what the instance has. */
function indexFacts(
  library: ModuleLibrary,
  oids: OidResolver,
  module: MibModule,
  item: NameUse & { readonly isImplied: boolean },
): IndexFacts | undefined {
  if (/^[A-Z]/.test(item.name) && !module.nodes.has(item.name) && !module.imports.has(item.name)) return undefined;
  const { module: home, definition } = library.findNode(module, item.name, item.at);
  const oid = oids.resolve(home, definition);
  if (oid === undefined || definition.type === undefined)
    throw new MibFault(`${item.name} is in an index, but no object`, module.source, item.at);
  const type = resolveType(library, home, definition.type);
  return { module: home.name, name: definition.name, oid, type, isImplied: item.isImplied };
}

function augmentedTable(library: ModuleLibrary, oids: OidResolver, module: MibModule, use: NameUse): string {
  const { module: home, definition: row } = library.findNode(module, use.name, use.at);
  const oid = (oids.resolve(home, row) ?? "").replace(/\.\d+$/, "");
  const table = [...home.nodes.values()].find(
    (node) => node.macro === "OBJECT-TYPE" && oids.resolve(home, node) === oid,
  );
  return `${home.name}::${table?.name ?? row.name}`;
}
