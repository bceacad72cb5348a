import { RE2JS } from "re2js";
import { quote } from "../../base/text/index.ts";
import { entityFacts, identityFacts, type FactSource, type IdentityFact, type IdentityRule } from "./definitions.ts";
import { describe, MapReader, isNull } from "./map-reader.ts";
import { type YamlValue, readDocument, type YamlMap } from "./map-reader.ts";
import { decodeUtf8, YamlFault } from "../../base/yaml/index.ts";
import { formatOid, parseOid } from "../session/var-bind.ts";
import type { Kind } from "./definitions.ts";
import { atOnce } from "../limits.ts";
import { FindingCollector } from "./map-reader.ts";
import type { Finding, FindingKind } from "./definitions.ts";
import { meaningHash, objectMeaningHash } from "./read-object.ts";
import {
  readDevice,
  readDeviceDefaults,
  readObjectType,
  type DeviceDraft,
  type DeviceSettings,
} from "./read-device.ts";
import { readNumberLabels, readOidLabels } from "./read-object.ts";
import { readObject, type ObjectDraft } from "./read-object.ts";

const keys: readonly string[] = [...identityFacts, "models"];
const sourceKeys = ["oid", "descr", "entity", "match", "value"];

/** A rule of `autodiscover/identities`: each fact is a text, a source, or a list of these. */
function readIdentity(reader: MapReader): IdentityRule | undefined {
  reader.knowOnly(keys);
  const sources = new Map<IdentityFact, readonly FactSource[]>();
  for (const fact of identityFacts) {
    const node = reader.node(fact);
    if (node === undefined) continue;
    const items = Array.isArray(node) ? node : [node];
    const read = items.map((item, i) => readSource(item, Array.isArray(node) ? [fact, i] : [fact], fact, reader));
    sources.set(
      fact,
      read.filter((source) => source !== undefined),
    );
  }
  const models = new Map<string, string>();
  const map = reader.map("models");
  for (const key of map?.keys() ?? []) {
    const inner = reader.within(map as NonNullable<typeof map>, ["models"], "models: ");
    if (!/^\.?\d+(?:\.\d+)*$/.test(key))
      inner.error([key], "key", `${quote(key)} is not the end of an OID, such as 1208`);
    const model = inner.requiredText(key);
    if (!inner.isValid) reader.isValid = false;
    if (model !== undefined) models.set(key.replace(/^\./, ""), model);
  }
  return reader.isValid ? { sources, models } : undefined;
}

function readSource(
  node: YamlValue,
  path: readonly (string | number)[],
  fact: IdentityFact,
  reader: MapReader,
): FactSource | undefined {
  if (typeof node === "string" && node !== "") return { from: "value", value: node };
  if (!(node instanceof Map)) {
    reader.error(path, "value", `${fact}: expected a text or a mapping, found ${describe(node)}`);
    return undefined;
  }
  const inner = reader.within(node, path, `${fact}: `);
  inner.knowOnly(sourceKeys);
  const places = ["oid", "descr", "entity"].filter((key) => inner.has(key));
  if (places.length !== 1) inner.error([], "key", "expected one of oid, descr and entity");
  const value = inner.text("value");
  const match = readPattern(inner, places[0] === "descr" ? "descr" : "match");
  let source: FactSource | undefined;
  if (places[0] === "descr") source = { from: "descr" };
  else if (places[0] === "oid") {
    const oid = inner.oid("oid");
    if (oid !== undefined) source = { from: "oid", oid: oid.oid };
  } else if (places[0] === "entity") {
    const entity = inner.oneOf("entity", entityFacts);
    if (entity !== undefined) source = { from: "entity", entity };
  }
  if (!inner.isValid) reader.isValid = false;
  return source && { ...source, ...(match && { match }), ...(value !== undefined && { value }) };
}

/** Steps of a pattern as it is compiled: it takes at most so many for each character of a text. */
const maxPatternSize = 2000;

/**
 * A pattern in the syntax of RE2, case not counting. What a device says is matched against it, and so it must not take exponential time:
 * with JavaScript's engine it may.
 */
function readPattern(reader: MapReader, key: string): RE2JS | undefined {
  const text = reader.text(key);
  if (text === undefined) return undefined;
  try {
    const pattern = RE2JS.compile(withoutLineEnds(text), RE2JS.CASE_INSENSITIVE);
    if (pattern.programSize() <= maxPatternSize) return pattern;
    reader.error([key], "value", `${key}: the regular expression ${quote(text)} is too large: repeat less in it`);
  } catch (error) {
    const reason = (error as Error).message.replace("error parsing regexp: ", "").replace("`(?i)", "`");
    reader.error([key], "value", `${key}: ${quote(text)} is not a regular expression of RE2: ${reason}`);
  }
  return undefined;
}

/** A dot is no end of a line, as in JavaScript; to RE2 only a line feed is one. */
function withoutLineEnds(pattern: string): string {
  return pattern.replaceAll(/\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\./gsu, (part) =>
    part === "." ? String.raw`[^\n\r\x{2028}\x{2029}]` : part,
  );
}

/** What a file says of one definition of each kind, before it is joined with others. */
export interface Drafts {
  readonly device: DeviceDraft;
  readonly device_group: readonly string[];
  readonly object_group: readonly string[];
  readonly object: ObjectDraft;
  readonly enum_integer: ReadonlyMap<number, string>;
  readonly enum_bitmap: ReadonlyMap<number, string>;
  readonly enum_oid: ReadonlyMap<string, string>;
  readonly sysoid: readonly string[];
  readonly identity: IdentityRule;
  /** Milliseconds. */
  readonly object_type: number;
  readonly device_default: DeviceSettings;
}

export interface Entry<K extends Kind> {
  readonly id: string;
  /** The id as the file has it. */
  readonly key: string;
  /** undefined when the definition is wrong. */
  readonly draft: Drafts[K] | undefined;
  /** Of what the draft means. */
  readonly hash: string;
}

/** What one file gave. */
export interface ParsedFile<K extends Kind = Kind> {
  readonly entries: readonly Entry<K>[];
  readonly findings: readonly Finding[];
}

/** The id of the defaults of devices. */
export const defaultId = "default";

/** Reads the definitions of one kind in one file, and all that is wrong with them. */
export function parseDefinitionFile<K extends Kind>(kind: K, file: string, bytes: Uint8Array): ParsedFile<K> {
  return atOnce(parseSteps(kind, file, bytes));
}

/** The same in steps: one for each definition while the text is read, and again while its meaning is. */
export function* parseSteps<K extends Kind>(kind: K, file: string, bytes: Uint8Array): Generator<void, ParsedFile<K>> {
  const text = decodeText(bytes);
  const collector = new FindingCollector(file, () => text);
  const entries: Entry<K>[] = [];
  const root = yield* parseOrReportSteps(kind, bytes, collector);
  if (root instanceof Map) {
    for (const [key, node] of definitionsIn(kind, root)) {
      const reader = new MapReader(node instanceof Map ? node : new Map(), collector.for(kind), [key]);
      const id = readId(kind, key, reader);
      const draft = readDraft(kind, key, node, reader);
      entries.push(
        reader.isValid && draft !== undefined
          ? { id, key, draft, hash: hashOf(kind, draft) }
          : { id, key, draft: undefined, hash: "" },
      );
      yield;
    }
  } else if (!isNull(root)) {
    collector.addFile(kind, `expected a mapping from ids to definitions, found ${describe(root)}`, 1, 1);
  }
  return { entries, findings: collector.findings };
}

/** Of what a definition means. */
export function hashOf(kind: Kind, draft: Drafts[Kind]): string {
  return kind === "object" ? objectMeaningHash(draft as ObjectDraft) : meaningHash(draft);
}

/** A byte order mark is no part of the text, and not of its positions. */
export function decodeText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** Returns what a file says; undefined when it is no UTF-8 or no YAML, which is reported. */
export function parseOrReport(
  kind: FindingKind,
  bytes: Uint8Array,
  collector: FindingCollector,
): YamlValue | undefined {
  return atOnce(parseOrReportSteps(kind, bytes, collector));
}

function* parseOrReportSteps(
  kind: FindingKind,
  bytes: Uint8Array,
  collector: FindingCollector,
): Generator<void, YamlValue | undefined> {
  try {
    const { value, positions } = yield* readDocument(decodeUtf8(bytes).replace(/^\uFEFF/, ""));
    collector.positions = positions;
    return value;
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    const { line, column } = error.position;
    collector.addFile(kind, hideSecrets(kind, error.message), line, column);
    return undefined;
  }
}

/** The library names the alias or tag that it does not know, which may be a community that wanted quotes. */
function hideSecrets(kind: FindingKind, message: string): string {
  return kind === "device" || kind === "device_default" || kind === "network"
    ? message.replace(/".*"|!<.*>|\(.*\)|\*\S+/gs, "…")
    : message;
}

/** The defaults of devices may stand without a `default:` over them. */
function definitionsIn(kind: Kind, root: YamlMap): YamlMap {
  return kind === "device_default" && !root.has(defaultId) ? new Map([[defaultId, root]]) : root;
}

function isOfSysObjectId(kind: Kind): boolean {
  return kind === "sysoid" || kind === "identity";
}

/** OIDs are ids in one spelling. */
function readId(kind: Kind, key: string, reader: MapReader): string {
  if (kind !== "enum_integer" && kind !== "enum_bitmap" && kind !== "enum_oid" && !isOfSysObjectId(kind)) return key;
  const oid = parseOid(key);
  if (oid !== undefined) return formatOid(oid);
  reader.error([], "key", `${quote(key)} is not an OID such as .1.3.6.1.2.1.2.2.1.3`);
  return key;
}

function readDraft<K extends Kind>(kind: K, key: string, node: YamlValue, reader: MapReader): Drafts[K] | undefined {
  const read = readers[kind] as (key: string, map: YamlMap, reader: MapReader) => Drafts[K] | undefined;
  if (kind === "sysoid") return readGroups(node, reader) as Drafts[K] | undefined;
  if (node instanceof Map) return read(key, node, reader);
  reader.error([], isNull(node) ? "key" : "value", `expected a mapping, found ${describe(node)}`);
  return undefined;
}

type Reader<K extends Kind> = (key: string, map: YamlMap, reader: MapReader) => Drafts[K] | undefined;

const readers: { readonly [K in Exclude<Kind, "sysoid">]: Reader<K> } & { readonly sysoid?: undefined } = {
  device: (key, _map, reader) => readDevice(key, reader),
  device_group: (_key, _map, reader) => readMembers("object_groups", reader),
  object_group: (_key, _map, reader) => readMembers("objects", reader),
  object: (key, _map, reader) => readObject(key, reader),
  enum_integer: (_key, map, reader) => readNumberLabels(map, reader, false),
  enum_bitmap: (_key, map, reader) => readNumberLabels(map, reader, true),
  enum_oid: (_key, map, reader) => readOidLabels(map, reader),
  identity: (_key, _map, reader) => readIdentity(reader),
  object_type: (_key, _map, reader) => readObjectType(reader),
  device_default: (_key, _map, reader) => readDeviceDefaults(reader),
};

function readMembers(name: string, reader: MapReader): readonly string[] | undefined {
  reader.knowOnly([name]);
  if (!reader.has(name)) reader.error([], "key", `${name} is missing`);
  return reader.texts(name);
}

/** One device group, or a list of them. */
function readGroups(node: YamlValue, reader: MapReader): readonly string[] | undefined {
  const items = Array.isArray(node) ? node : [node];
  const groups = items.filter((item) => typeof item === "string" && !isNull(item)) as string[];
  if (groups.length === items.length && groups.length > 0) return groups;
  reader.error([], "value", `expected a device group or a list of them, found ${describe(node)}`);
  return undefined;
}
