import { nearName } from "../../base/text/index.ts";
import type { IndexFacts, ObjectFacts } from "../facts/module-facts.ts";
import { MibFault } from "../mib-fault.ts";

/** What becomes one object of the definitions: a table, or the scalars that are side by side. */
export interface ChosenObject {
  /** `MIB::table`, `MIB::group`. */
  readonly id: string;
  readonly module: string;
  readonly name: string;
  readonly description: string | undefined;
  readonly isTable: boolean;
  /** Empty for scalars, and for tables whose module does not name the objects of the index. */
  readonly index: readonly IndexFacts[];
  readonly augments: string | undefined;
  /** What can be read, in the order of the module. */
  readonly attributes: readonly ObjectFacts[];
  /** What is not polled, with the reason. */
  readonly leftOut: readonly (readonly [name: string, reason: string])[];
  /** All columns or scalars, with those that cannot be read: the field names are made of them. */
  readonly siblings: readonly ObjectFacts[];
}

/**
 * The objects at and below the roots: names, `MODULE::name` or OIDs. Of a column or scalar it is the only attribute.
 *
 * @throws MibFault for a root that is in none of the modules, or has nothing to read below it.
 */
export function chooseObjects(facts: readonly ObjectFacts[], roots: readonly string[]): readonly ChosenObject[] {
  const chosen = new Set<ObjectFacts>();
  for (const root of roots) {
    const oid = findRoot(facts, root);
    const below = facts.filter((one) => isLeaf(one) && (one.oid === oid || one.oid.startsWith(`${oid}.`)));
    if (below.length === 0) throw new MibFault(`--root ${root}: there is no object at or below ${oid}`);
    for (const one of below) chosen.add(one);
  }
  const groups = new Map<string, ObjectFacts[]>();
  for (const one of facts) {
    if (!chosen.has(one)) continue;
    const above = `${one.module} ${parentOid(one.oid)}`;
    groups.set(above, [...(groups.get(above) ?? []), one]);
  }
  return [...groups.values()].flatMap((members) => groupOf(facts, members));
}

const isLeaf = ({ kind }: ObjectFacts): boolean => kind === "column" || kind === "scalar";

function parentOid(oid: string): string {
  return oid.slice(0, oid.lastIndexOf("."));
}

function findRoot(facts: readonly ObjectFacts[], root: string): string {
  if (/^\.?\d+(?:\.\d+)*$/.test(root)) return root.startsWith(".") ? root : `.${root}`;
  const found = facts.find(({ module, name }) => name === root || `${module}::${name}` === root);
  if (found !== undefined) return found.oid;
  const near = nearName(
    root,
    facts.map(({ name }) => name),
  );
  const hint = near === undefined ? "" : ` (did you mean ${JSON.stringify(near)}?)`;
  const modules = [...new Set(facts.map(({ module }) => module))].join(", ");
  throw new MibFault(`--root ${root}: no such object in ${modules}${hint}`);
}

function groupOf(facts: readonly ObjectFacts[], members: readonly ObjectFacts[]): ChosenObject[] {
  const [first] = members as readonly [ObjectFacts, ...ObjectFacts[]];
  const { module } = first;
  const above = parentOid(first.oid);
  const inModule = facts.filter((one) => one.module === module);
  const siblings = inModule.filter((one) => isLeaf(one) && parentOid(one.oid) === above);
  const row = first.kind === "column" ? inModule.find((one) => one.oid === above) : undefined;
  const holder = inModule.find((one) => one.oid === (row === undefined ? above : parentOid(above)));
  const name = holder?.name ?? row?.name ?? first.name;
  const index = row?.index ?? [];
  const leftOut: [string, string][] = [];
  const attributes = members.filter((one) => {
    // Its value is in every instance.
    if (index.some((part) => part.oid === one.oid)) return false;
    const reason = reasonAgainst(one);
    if (reason !== undefined) leftOut.push([one.name, reason]);
    return reason === undefined;
  });
  if (attributes.length === 0) return [];
  const description = holder?.description;
  return [
    {
      id: `${module}::${name}`,
      module,
      name,
      description,
      isTable: row !== undefined,
      index,
      augments: row?.augments,
      attributes,
      leftOut,
      siblings,
    },
  ];
}

/** Why an object is not polled; undefined where it is. */
function reasonAgainst({ access, status, type, name }: ObjectFacts): string | undefined {
  if (access === "not-accessible" || access === "accessible-for-notify" || access === "write-only")
    return `is ${access}`;
  if (status === "obsolete") return "is obsolete";
  const [convention] = type?.conventions ?? [];
  if (convention === "RowStatus" || convention === "StorageType" || convention === "TestAndIncr")
    return `is a ${convention}, which is for managers that write`;
  if (convention === "InetAddressType" && /(?:Type|Family|Version)$/.test(name)) return "is seen in the address itself";
  return undefined;
}
