import { mapOf, optional, pairsOf, mapping, scalar, Shape, textLine, type ShapeValue } from "../../base/yaml/index.ts";
import { checkValues } from "../../metadata/index.ts";
import { renderFields, type Value } from "../../record/index.ts";
import { byAddresses, mostSpecificFirst, fileReader, lineOf, type ReadFile } from "../files/operator-file.ts";

/** An application as a file describes it. */
export interface App {
  /** The fields and their values: `app.name`, `app.category.name`, `app.subcategory.name`, and `app.x` for a metadata key `.x`. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** The metadata under names of its own. */
  readonly metadata: readonly (readonly [name: string, value: Value])[];
}

const attribute = lineOf(255);
/** The most bytes that one application may add to a line. */
export const maxRendered = 4096;
/** The words after `app.` that other enrichers write. */
const taken: ReadonlySet<string> = new Set(["id", "name", "category", "subcategory"]);

/** Returns the shape of a metadata text. It also checks the key before the text. */
function metadataText(takesPlain: boolean): Shape<string> {
  return new Shape("a text", (at) => {
    const { node } = at;
    if (node.kind !== "scalar") return at.expected("a text");
    const key = String(at.step);
    const given = node.text;
    const [, first = ""] = key.split(".");
    if (/^flow(\.|$)/.test(key)) return at.error("names below flow belong to others", undefined, "key");
    if (key.startsWith(".") && taken.has(first)) {
      return at.error(`app.${first} belongs to the attributes`, undefined, "key");
    }
    const isGood =
      checkValues({ name: "", tags: [], vlan: 0n, internal: false, metadata: [[key, given]] }).length === 0;
    if (!isGood) return at.error("not a key or text that records may have", undefined, "key");
    if (key.startsWith(".") || takesPlain) return given;
    return at.warn(`is ignored: here a key begins with a dot, as in .${key}`, undefined, "key");
  });
}

/** @param takesPlain true if metadata may have names of its own; otherwise such names are ignored with a warning. */
function appOf(takesPlain: boolean): Shape<App> {
  return mapping(
    {
      name: optional(attribute, "`app.name`"),
      category: optional(attribute, "`app.category.name`"),
      subcategory: optional(attribute, "`app.subcategory.name`"),
      metadata: optional(
        mapOf(textLine, metadataText(takesPlain), { each: "metadata", name: "<key>" }),
        takesPlain ? "`.x` becomes `app.x`, another key a field of its own." : "`.x` becomes `app.x`.",
      ),
    },
    { unknown: "warning" },
  )
    .to(({ name, category, subcategory, metadata = new Map<string, string>() }, at) => {
      const attributes = { "app.name": name, "app.category.name": category, "app.subcategory.name": subcategory };
      const fields = new Map(
        Object.entries(attributes).filter((pair): pair is [string, string] => pair[1] !== undefined),
      );
      const others = [...metadata].filter(([key]) => !key.startsWith("."));
      for (const [key, value] of metadata) if (key.startsWith(".")) fields.set(`app${key}`, value);
      if (renderFields([...fields]).length > maxRendered)
        return at.error(`more than ${maxRendered} bytes of an application`);
      return { fields: [...fields], metadata: others };
    })
    .orEmpty();
}

const ports = scalar("a port from 0 to 65535, or a range as in 8000-8099", (given) => {
  const [first = Number.NaN, last = first] = /^\d{1,5}(?:-\d{1,5})?$/.test(given) ? given.split("-").map(Number) : [];
  return first <= last && last <= 65_535 ? { first, last } : undefined;
});

/** The shape of the file of applications by end: address, CIDR or range → port or `first-last` → application. */
export const appEndsShape = byAddresses(
  pairsOf(ports, appOf(true), { each: "port", identity: ({ first, last }) => `${first}-${last}` })
    .to((pairs) =>
      pairs
        .map(([range, app]) => ({ ...range, app }))
        .toSorted((a, b) => a.last - a.first - (b.last - b.first) || a.first - b.first),
    )
    .orEmpty(),
  "address",
).to((pairs) => pairs.map(([key, of]) => ({ key, ports: of })).toSorted(mostSpecificFirst));

/** The applications at an address by their ports, the narrowest range first. */
export type AppHost = ShapeValue<typeof appEndsShape>[number];

/** Reads hosts, the most specific first. */
export const readAppEnds: (bytes: Uint8Array) => ReadFile<readonly AppHost[]> = fileReader(appEndsShape);

/** Applications by the id that exporters send, in the form of `app.id`: `13:495`. */
export type AppIds = ReadonlyMap<string, App>;

const maxEngine = 0xff;
const selectorBits = 2 ** 24;

/**
 * The shape of an `app.id`: `engine:selector`, or engine, enterprise number and selector. It may also be one number of 32 bits, whose
 * upper eight bits are the engine.
 */
const appId = scalar("an application id engine:selector, as in 13:495", (given) => {
  if (/^\d{1,10}$/.test(given)) {
    const number = Number(given);
    const engine = Math.floor(number / selectorBits);
    return engine >= 1 && engine <= maxEngine ? `${engine}:${number % selectorBits}` : undefined;
  }
  if (!/^\d{1,3}(?::\d{1,20}){1,2}$/.test(given)) return undefined;
  const parts = given.split(":").map(BigInt);
  return (parts[0] as bigint) <= BigInt(maxEngine) ? parts.join(":") : undefined;
});

/** The shape of the file of application ids: `13:495: {name: zoom, category: meetings}`. */
export const appIdsShape = mapOf(appId, appOf(false), { each: "application", name: "<id>" });

export const readAppIds: (bytes: Uint8Array) => ReadFile<AppIds> = fileReader(appIdsShape);
