import type { ModuleLibrary } from "../library/module-library.ts";
import type { MibModule, Range, TypeUse } from "../syntax/mib-module.ts";

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
export function resolveType(library: ModuleLibrary, module: MibModule, use: TypeUse): TypeFacts {
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
