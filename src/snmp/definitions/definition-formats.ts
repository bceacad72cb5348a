import { quote } from "../../base/text/index.ts";
import {
  list,
  mapOf,
  mapping,
  oneOf,
  oneOrList,
  optional,
  pairsOf,
  readShape,
  required,
  scalar,
  Shape,
  type FileNode,
  type YamlNode,
} from "../../base/yaml/index.ts";
import { atOnce } from "../limits.ts";
import { formatOid } from "../session/ber.ts";
import {
  entityFacts,
  identityFacts,
  Pattern,
  type FactSource,
  type Finding,
  type IdentityRule,
  type Kind,
} from "./definitions.ts";
import {
  deviceDefaultsShape,
  deviceShape,
  objectTypeShape,
  type DeviceDraft,
  type DeviceSettings,
} from "./device-shape.ts";
import { meaningHash, numberLabels, objectMeaningHash, objectShape, type ObjectDraft } from "./object-shape.ts";
import { anyKey, anyText, isGiven, isNothing, oid, SettingsFile, textLine, tolerant, word } from "./settings-file.ts";

/** The most steps of a compiled pattern: it takes at most this many for each character of a text. */
const maxPatternSize = 2000;

function readPattern(given: string, at: FileNode): Pattern | undefined {
  const pattern = new Pattern(given);
  try {
    if (pattern.compiled.programSize() <= maxPatternSize) return pattern;
    return at.error(`the regular expression ${quote(given)} is too large: repeat less in it`);
  } catch (error) {
    const reason = (error as Error).message.replace("error parsing regexp: ", "").replace("`(?i)", "`");
    return at.error(`${quote(given)} is not a regular expression of RE2: ${reason}`);
  }
}

const places = ["oid", "descr", "entity"] as const;

const source: Shape<FactSource> = mapping(
  {
    oid: optional(oid, "A scalar, or a column, of which the first instance counts."),
    descr: optional(textLine, "A regular expression of RE2 for sysDescr."),
    entity: optional(oneOf(entityFacts), "What ENTITY-MIB says of the chassis."),
    match: optional(textLine, "A regular expression of RE2 for what `oid` or `entity` gives. Its first group counts."),
    value: optional(textLine, "What counts in the place of the first group."),
  },
  {
    ...tolerant,
    check: (_given, at) => {
      if (places.filter((key) => isGiven(at, key)).length !== 1)
        at.error("expected one of oid, descr and entity", undefined, "key");
    },
  },
).to(({ oid: numbers, descr, entity, match, value }, at) => {
  const pattern = descr ?? match;
  const compiled =
    pattern === undefined ? undefined : readPattern(pattern, at.below(descr === undefined ? "match" : "descr"));
  return {
    ...(numbers !== undefined
      ? { from: "oid", oid: numbers.oid }
      : entity !== undefined
        ? { from: "entity", entity }
        : { from: "descr" }),
    ...(compiled && { match: compiled }),
    ...(value !== undefined && { value }),
  };
});

const fixedFact = anyText.to((value): FactSource => ({ from: "value", value }));

const facts = oneOrList(
  new Shape("a text or a mapping", (at) => (at.node.kind === "mapping" ? source : fixedFact).read(at), source.rows),
);

const modelKey = scalar("the end of an OID, such as 1208", (given) =>
  /^\.?\d+(?:\.\d+)*$/.test(given) ? given : undefined,
);

/** The shape of a rule in `autodiscover/identities`. */
const identityShape: Shape<IdentityRule> = mapping(
  {
    vendor: optional(facts, "Sources of the vendor's name, tried in order."),
    model: optional(facts, "Of the model."),
    "os.name": optional(facts, "Of the system's name."),
    "os.version": optional(facts, "Of its version."),
    serial: optional(facts, "Of the serial number."),
    models: optional(
      mapOf(modelKey, textLine, { name: "<end>" }),
      "Models by what follows the OID in the sysObjectID.",
    ),
  },
  tolerant,
).to(({ models = new Map<string, string>(), ...given }) => ({
  sources: new Map(
    identityFacts.flatMap((fact) => {
      const sources = given[fact];
      return sources === undefined ? [] : [[fact, sources] as const];
    }),
  ),
  models: new Map(Array.from(models, ([end, model]) => [end.replace(/^\./, ""), model])),
}));

const deviceGroup = new Shape("a device group", (at) =>
  at.node.kind === "scalar" && !isNothing(at) ? at.node.text : at.expected("a device group"),
);

const sysoidShape: Shape<readonly string[]> = oneOrList(deviceGroup).to((groups, at) =>
  groups.length > 0 ? groups : at.expected("a device group, or a list of them"),
);

/** The shape of labels by OID (text with a leading dot). */
const oidLabels: Shape<ReadonlyMap<string, string>> = pairsOf(oid, anyText, { name: "<oid>" }).to((pairs) => {
  const labels = new Map<string, string>();
  for (const [{ oid: numbers }, name] of pairs) labels.set(formatOid(numbers), name);
  return labels;
});

/** The definitions of each kind in one file, before they are joined with others. */
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
  /** The interval in ms. */
  readonly object_type: number;
  readonly device_default: DeviceSettings;
}

/** The shape of a definition of each kind. */
const definitionShapes: { readonly [K in Kind]: Shape<Drafts[K]> } = {
  device: deviceShape,
  device_default: deviceDefaultsShape,
  device_group: mapping({ object_groups: required(list(word), "What is polled.") }, tolerant).to(
    (given) => given.object_groups,
  ),
  object_group: mapping({ objects: required(list(word), "`MIB::object`") }, tolerant).to((given) => given.objects),
  object: objectShape,
  object_type: objectTypeShape,
  enum_integer: numberLabels(false),
  enum_bitmap: numberLabels(true),
  enum_oid: oidLabels,
  sysoid: sysoidShape,
  identity: identityShape,
};

/** The kinds whose ids are OIDs, which are brought to one spelling. */
const hasOidIds: ReadonlySet<Kind> = new Set<Kind>(["enum_integer", "enum_bitmap", "enum_oid", "sysoid", "identity"]);

/** Reads the labels of integers by OID, with a leading dot. Faulty parts of the text are left out. */
export function readLabels(text: string): ReadonlyMap<string, ReadonlyMap<number, string>> {
  const { value = [] } = readShape(text, pairsOf(oid, numberLabels(false), { name: "<oid>" }));
  return new Map(value.map(([{ oid: numbers }, labels]) => [formatOid(numbers), labels]));
}

/** Returns the shape of a file with definitions of one kind. */
export function definitionFormat(kind: Kind): Shape<unknown> {
  const [key, name] = hasOidIds.has(kind) ? [oid, "<oid>"] : [anyKey, kind === "object" ? "<MIB::object>" : "<name>"];
  return pairsOf<unknown, unknown>(key, definitionShapes[kind], { name });
}

/** Returns the hash of the meaning of a definition. */
export function hashOf(kind: Kind, draft: Drafts[Kind]): string {
  return kind === "object" ? objectMeaningHash(draft as ObjectDraft) : meaningHash(draft);
}

export interface Entry<K extends Kind> {
  readonly id: string;
  /** The id as in the file. */
  readonly key: string;
  /** The draft; undefined if the definition has errors. */
  readonly draft: Drafts[K] | undefined;
  /** The hash of the meaning of the draft. */
  readonly hash: string;
}

/** The result of parsing one file. */
export interface ParsedFile<K extends Kind = Kind> {
  readonly entries: readonly Entry<K>[];
  readonly findings: readonly Finding[];
}

/** The id of the defaults of devices. */
export const defaultId = "default";

/** Adds the key `default`, which may be missing in the file of the defaults of devices. */
function withDefaultId(root: YamlNode): YamlNode {
  if (root.kind !== "mapping" || root.pairs.some(({ key }) => key.text === defaultId)) return root;
  const key = { ...root, kind: "scalar", text: defaultId, isPlain: true } as const;
  return { ...root, pairs: [{ key, value: root }] };
}

/** Opens a file of definitions in steps: one for each pair during parsing, and one during the check of its tags. */
export function openDefinitions(kind: Kind, file: string, bytes: Uint8Array): Generator<void, SettingsFile> {
  const isOfDevices = kind === "device" || kind === "device_default";
  return SettingsFile.open(file, bytes, isOfDevices, kind === "device_default" ? withDefaultId : undefined);
}

/** Reads the definitions of one kind in one file, with all findings. */
export function parseDefinitionFile<K extends Kind>(kind: K, file: string, bytes: Uint8Array): ParsedFile<K> {
  return atOnce(parseSteps(kind, file, bytes));
}

/** Reads the definitions in steps: those of opening the file, and one for each definition. */
export function* parseSteps<K extends Kind>(kind: K, file: string, bytes: Uint8Array): Generator<void, ParsedFile<K>> {
  const opened = yield* openDefinitions(kind, file, bytes);
  const entries: Entry<K>[] = [];
  for (const definition of opened.pairs("a mapping from ids to definitions")) {
    const { errors } = opened.report;
    const key = String(definition.step);
    const id = hasOidIds.has(kind) ? oid.read(definition.key)?.oid : undefined;
    const read = definitionShapes[kind].read(definition);
    const draft = opened.report.errors === errors ? read : undefined;
    entries.push({
      id: id === undefined ? key : formatOid(id),
      key,
      draft,
      hash: draft === undefined ? "" : hashOf(kind, draft),
    });
    yield;
  }
  return { entries, findings: opened.findings };
}
