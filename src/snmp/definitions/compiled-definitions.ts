import { isDeepStrictEqual } from "node:util";
import { formatOid, type Oid } from "../session/ber.ts";
import { syntaxes, type Syntax } from "../values/syntaxes-and-units.ts";
import {
  Pattern,
  type Attribute,
  type FactSource,
  type IdentityRule,
  type IndexPart,
  type Kind,
} from "./definitions.ts";
import { parseDefinitionFile, type Drafts, type Entry, type ParsedFile } from "./definition-formats.ts";
import { attributeOf, scaleOf, type ObjectDraft } from "./object-shape.ts";

/** The conversion of a draft to JSON and back. */
type Codec<K extends Kind> = {
  readonly encode: (draft: Drafts[K]) => unknown;
  readonly decode: (json: never, id: string) => Drafts[K];
};

const same = { encode: (draft: unknown): unknown => draft, decode: (json: never): never => json };
const pairs = {
  encode: (map: ReadonlyMap<unknown, unknown>): unknown => [...map],
  decode: (json: never): never => new Map<unknown, unknown>(json) as never,
};

/** The kinds with a conversion. Devices are left out, because they belong to users and contain secrets. */
const codecs: { readonly [K in Kind]?: Codec<K> } = {
  device_group: same,
  object_group: same,
  object: { encode: encodeObject, decode: decodeObject },
  enum_integer: pairs,
  enum_bitmap: pairs,
  enum_oid: pairs,
  sysoid: same,
  identity: { encode: encodeIdentity, decode: decodeIdentity },
  object_type: same,
};

type EntryJson = readonly [id: string, key: string, hash: string, draft: unknown];

/**
 * Definitions that were read beforehand: a line for each file, with the hash of its bytes. A file with the same bytes has the same
 * meaning at any path, and is not parsed as YAML again. The build makes the lines from the files of the program.
 */
export class CompiledDefinitions {
  /** The start and end of each file's line, by kind and hash. */
  readonly #lines = new Map<string, readonly [start: number, end: number]>();
  readonly #text: string;

  /** @param text lines of {@link compileDefinitionFile}. */
  constructor(text: string) {
    this.#text = text;
    for (let start = 0, end = text.indexOf("\n"); end >= 0; start = end + 1, end = text.indexOf("\n", start)) {
      const json = text.indexOf("[", start);
      this.#lines.set(text.slice(start, json), [json, end]);
    }
  }

  /** Returns the content of a file; undefined if it was not compiled or its line is damaged. The YAML has everything, too. */
  find(kind: Kind, digest: string): ParsedFile | undefined {
    const line = this.#lines.get(lineKey(kind, digest));
    if (line === undefined) return undefined;
    try {
      return decodeFile(kind, this.#text.slice(...line));
    } catch {
      return undefined;
    }
  }
}

/**
 * Reads a file and makes its line. Findings need positions in the file, so only a file without findings has a line.
 *
 * @param digest the hash of its bytes, in hexadecimal.
 */
export function compileDefinitionFile(kind: Kind, bytes: Uint8Array, digest: string): string | undefined {
  const codec = codecs[kind] as Codec<Kind> | undefined;
  const parsed = parseDefinitionFile(kind, "", bytes);
  if (codec === undefined || parsed.findings.length > 0) return undefined;
  const entries = parsed.entries.map(({ id, key, hash, draft }): EntryJson => [
    id,
    key,
    hash,
    draft && codec.encode(draft),
  ]);
  const json = JSON.stringify(entries);
  // JSON cannot represent some values, such as an infinite range.
  return isDeepStrictEqual(decodeFile(kind, json), parsed) ? `${lineKey(kind, digest)}${json}\n` : undefined;
}

function lineKey(kind: Kind, digest: string): string {
  return `${kind} ${digest} `;
}

function decodeFile(kind: Kind, json: string): ParsedFile {
  const codec = codecs[kind] as Codec<Kind>;
  const entries = (JSON.parse(json) as readonly EntryJson[]).map(([id, key, hash, draft]): Entry<Kind> => ({
    id,
    key,
    draft: codec.decode(draft as never, id),
    hash,
  }));
  return { entries, findings: [] };
}

type FieldJson = readonly [oid: Oid, field: string, syntax: string];

const encodeField = ({ oid, field, syntax }: Attribute | IndexPart): FieldJson => [oid, field, syntax.name];

const decodeField = ([oid, field, syntax]: FieldJson) => ({
  oid,
  oidText: formatOid(oid),
  field,
  syntax: syntaxes.get(syntax) as Syntax,
});

/** A map as pairs, in JSON, which leaves out undefined values. */
type Pairs<M> = M extends ReadonlyMap<infer K, infer V> ? readonly (readonly [K, V])[] : M;

const toPairs = <K, V>(map: ReadonlyMap<K, V> | undefined): Pairs<ReadonlyMap<K, V>> | undefined => map && [...map];
const toMap = <K, V>(given: readonly (readonly [K, V])[] | undefined): Map<K, V> | undefined =>
  given && new Map<K, V>(given);

/** The properties that few attributes have. */
type RestJson = {
  readonly [
    Key in "tag" | "metric" | "rediscover" | "noValue" | "noValueWhen" | "range" | "severity" | "overrides"
  ]?: Pairs<Exclude<Attribute[Key], undefined>>;
} & {
  readonly scale?: {
    readonly [Key in keyof NonNullable<Attribute["scale"]>]?: Pairs<
      Exclude<NonNullable<Attribute["scale"]>[Key], undefined>
    >;
  };
};

type AttributeJson = readonly [name: string, field: FieldJson, rest: RestJson];

function encodeAttribute(attribute: Attribute): AttributeJson {
  const { name, tag, metric, rediscover, noValue, noValueWhen, range, severity, scale, overrides } = attribute;
  const rest = {
    tag: tag ? true : undefined,
    metric,
    rediscover,
    noValue: toPairs(noValue),
    noValueWhen,
    range,
    severity: toPairs(severity),
    scale: scale && { ...scale, factors: toPairs(scale.factors) },
    overrides,
  };
  return [name, encodeField(attribute), rest as RestJson];
}

function decodeAttribute([name, field, rest]: AttributeJson): Attribute {
  const { tag = false, metric, rediscover, noValue, noValueWhen, range, severity, scale, overrides } = rest;
  return attributeOf({
    name,
    ...decodeField(field),
    tag,
    metric,
    rediscover,
    noValue: toMap(noValue),
    noValueWhen,
    range,
    severity: toMap(severity),
    scale: scale && scaleOf({ ...scale, factors: toMap(scale.factors) }),
    overrides,
  });
}

type Texts = readonly (readonly [string, string])[];

type ObjectJson = {
  readonly mib: string;
  readonly object: string;
  readonly type?: string;
  readonly contexts: readonly string[];
  readonly index?: readonly (readonly [type: IndexPart["type"], field: FieldJson])[];
  readonly augments?: string;
  readonly lead?: string;
  readonly attributes: readonly AttributeJson[];
  readonly fixed: Texts;
  readonly fixedBy: readonly (readonly [string, readonly (readonly [string, Texts])[]])[];
};

function encodeObject(draft: ObjectDraft): unknown {
  const { mib, object, type, contexts, index, augments, discoveryAttribute, attributes, fixed, fixedBy } = draft;
  return {
    mib,
    object,
    type,
    contexts,
    index: index?.map((part) => [part.type, encodeField(part)]),
    augments,
    lead: discoveryAttribute?.name,
    attributes: Array.from(attributes.values(), encodeAttribute),
    fixed: [...fixed],
    fixedBy: Array.from(fixedBy, ([field, byValue]) => [
      field,
      Array.from(byValue, ([value, said]) => [value, [...said]]),
    ]),
  };
}

function decodeObject(json: ObjectJson, id: string): ObjectDraft {
  const attributes = new Map(json.attributes.map((one) => [one[0], decodeAttribute(one)]));
  return {
    id,
    mib: json.mib,
    object: json.object,
    type: json.type,
    contexts: json.contexts,
    index: json.index?.map(([type, field]) => ({ type, ...decodeField(field) })),
    augments: json.augments,
    attributes,
    fixed: new Map(json.fixed),
    fixedBy: new Map(
      json.fixedBy.map(([field, byValue]) => [field, new Map(byValue.map(([value, said]) => [value, new Map(said)]))]),
    ),
    discoveryAttribute: json.lead === undefined ? undefined : attributes.get(json.lead),
  };
}

type IdentityJson = {
  readonly sources: Pairs<ReadonlyMap<string, readonly (Omit<FactSource, "match"> & { readonly match?: string })[]>>;
  readonly models: Pairs<IdentityRule["models"]>;
};

function encodeIdentity({ sources, models }: IdentityRule): unknown {
  return {
    sources: Array.from(sources, ([fact, all]) => [
      fact,
      all.map((source) => ({ ...source, match: source.match?.text })),
    ]),
    models: [...models],
  };
}

function decodeIdentity({ sources, models }: IdentityJson): IdentityRule {
  const source = ({ match, ...rest }: IdentityJson["sources"][number][1][number]): FactSource => ({
    ...rest,
    ...(match !== undefined && { match: new Pattern(match) }),
  });
  return {
    sources: new Map(sources.map(([fact, all]) => [fact, all.map(source)])) as IdentityRule["sources"],
    models: new Map(models),
  };
}
