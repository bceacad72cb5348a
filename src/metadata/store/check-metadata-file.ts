import { networkOfKey, type Key, KeyError } from "../../base/ip/index.ts";
import type { Log } from "../../base/report/index.ts";
import { hostBitsWarning } from "./store-reporting.ts";
import { checkValues, deceptiveTexts, measureEntry, excessOf } from "../model/check-udm.ts";
import { keyReaders, type KeyForm, type ReadKey } from "../model/name-key.ts";
import { type MappedTwice, judgeTwice, notAMapping, readEntry } from "../model/read-entries.ts";
import type { UdmEntry } from "../model/entry.ts";
import { nearName } from "../../base/text/index.ts";
import {
  decodeUtf8,
  createPositions,
  isNullNode,
  readYaml,
  YamlFault,
  type Fail,
  type TextPosition,
  type YamlNode,
  type YamlPair,
} from "../../base/yaml/index.ts";

/** The most entries whose warnings are logged one by one. The others are only counted. */
const maxWarnings = 20;

/** Warnings about entries of a file that a request could not have made (a long name, odd characters), or that apply nowhere. */
export interface EntryWarnings {
  /** The number of such entries. */
  readonly count: number;
  /** The keys and problems of the first ones. */
  readonly shown: readonly { readonly key: string; readonly problems: readonly string[] }[];
  /** Prefixes with host bits. */
  readonly hostBits: {
    readonly count: number;
    /** The first ones, and the networks that they cover. */
    readonly shown: readonly { readonly key: string; readonly covers: string }[];
  };
  /** The entries as in {@link UdmFileContent}, their number and the first ones. */
  readonly mappedTwice: { readonly count: number; readonly shown: readonly MappedTwice[] };
}

/** A collector of warnings, entry by entry. */
export class WarningsGatherer {
  readonly #hostBits: { readonly key: string; readonly covers: string }[] = [];
  readonly #shown: { readonly key: string; readonly problems: readonly string[] }[] = [];
  #count = 0;
  #hostBitsCount = 0;
  #mappedTwice: readonly MappedTwice[] = [];

  notUsed(entries: readonly MappedTwice[]): void {
    this.#mappedTwice = entries;
  }

  /** Checks only the key. */
  lookAtKey(key: Key): void {
    const covers = networkOfKey(key);
    if (covers === undefined) return;
    this.#hostBitsCount++;
    if (this.#hostBits.length < maxWarnings) this.#hostBits.push({ key: key.text, covers });
  }

  look(entry: UdmEntry): void {
    this.lookAtKey(entry.key);
    if (isSurelyFine(entry)) return;
    const problems = [...checkValues(entry).map(({ description }) => description), ...deceptiveTexts(entry)];
    if (entry.fileOnly?.contexts?.length === 0) problems.push("its contexts are not known, so that it applies nowhere");
    if (problems.length === 0) return;
    this.#count++;
    if (this.#shown.length < maxWarnings) this.#shown.push({ key: entry.key.text, problems });
  }

  found(): EntryWarnings {
    return {
      count: this.#count,
      shown: this.#shown,
      hostBits: { count: this.#hostBitsCount, shown: this.#hostBits },
      mappedTwice: { count: this.#mappedTwice.length, shown: this.#mappedTwice.slice(0, maxWarnings) },
    };
  }
}

/** Logs a warning for each entry. The entries are still used. */
export function logWarnings({ count, shown, hostBits, mappedTwice }: EntryWarnings, path: string, log: Log): void {
  for (const { line, column, message } of mappedTwice.shown) {
    log.warn({ path, entries: mappedTwice.count }, `${path}:${line}:${column}: ${message}`);
  }
  for (const { key, problems } of shown) {
    log.warn({ path, key, problems }, "an entry of the metadata file breaks the rules for values");
  }
  const more = count - shown.length;
  if (more > 0) log.warn({ path, more }, "more entries break the rules for values");
  if (hostBits.count > 0) log.warn({ path, keys: hostBits.shown, entries: hostBits.count }, hostBitsWarning);
}

const printableAscii = /^[ -~]*$/;
/** Matches parts of printable ASCII characters without dots, joined by dots. */
const asciiMetadataKey = /^\.?[!--/-~]+(?:\.[!--/-~]+)*$/;

/** Reports whether an entry surely has no warnings. This cheap check accepts most entries; the others need the full check. */
function isSurelyFine(entry: UdmEntry): boolean {
  const { name, tags, metadata, fileOnly } = entry;
  if (excessOf(measureEntry(entry)) !== undefined) return false;
  if (fileOnly?.contexts !== undefined || name.length > 255 || !printableAscii.test(name)) return false;
  for (const tag of tags) if (tag === "" || tag.length > 255 || !printableAscii.test(tag)) return false;
  for (const [key, value] of metadata) {
    if (key.length > 255 || !asciiMetadataKey.test(key)) return false;
    if (value.length > 4096 || !printableAscii.test(value)) return false;
  }
  return true;
}

/** A finding in a metadata file: an error that makes it unusable, or a warning for the operator. */
export interface MetadataFinding extends TextPosition {
  readonly severity: "error" | "warning";
  readonly message: string;
  /** True where the file may have this value but the methods of the API refuse it. */
  readonly isRefusedByApi: boolean;
}

export interface MetadataCheck {
  /** The entries without an error, in the order of the file. */
  readonly entries: readonly UdmEntry[];
  /** The findings in the order of the file. The check ends at a syntax error. */
  readonly findings: readonly MetadataFinding[];
}

/**
 * Checks a metadata file by the rules with which it is read, and returns all findings, not only the first.
 *
 * @param keyConflict returns the conflict of a metadata key with other fields of a record, for a warning.
 */
export function checkMetadataFile(
  bytes: Uint8Array,
  keyConflict: (key: string) => string | undefined = () => undefined,
  keys: KeyForm = "addresses",
): MetadataCheck {
  const parse = keyReaders[keys];
  const findings: MetadataFinding[] = [];
  const twice: [message: string, at: number][] = [];
  let root: YamlNode | undefined;
  let text: string;
  try {
    text = decodeUtf8(bytes);
    root = readYaml(text, (message, at) => void twice.push([message, at]));
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    const fault = { severity: "error", message: error.message, isRefusedByApi: true } as const;
    return { entries: [], findings: [{ ...fault, ...error.position }] };
  }
  const positionOf = createPositions(text);
  const note: Note = (severity, message, at, isRefusedByApi = severity === "error") =>
    void findings.push({ severity, message, isRefusedByApi, ...positionOf(at) });
  for (const [message, at] of twice) note("error", message, at);
  if (root !== undefined && root.kind !== "mapping" && !isNullNode(root)) {
    note("error", notAMapping(parse), root.at);
  }
  const pairs = root?.kind === "mapping" ? root.pairs : [];
  const keyNodes = new Map<string, YamlPair["key"]>();
  const entries = new Map<string, UdmEntry>();
  for (const pair of pairs) {
    const key = readKey(pair, parse, note);
    if (key === undefined) continue;
    const earlier = keyNodes.get(key.text);
    if (earlier !== undefined) {
      const judged = judgeTwice(key, earlier, pair.key, positionOf);
      if (typeof judged === "string") note("error", judged, pair.key.at);
      else findings.push({ severity: "warning", isRefusedByApi: false, ...judged.warning });
      if (typeof judged === "string" || judged.used === earlier) continue;
    }
    keyNodes.set(key.text, pair.key);
    const entry = checkEntry(key, pair, note);
    if (entry === undefined) continue;
    entries.set(key.text, entry);
    checkMetadataKeys(pair.value, keyConflict, note);
  }
  return {
    entries: [...entries.values()],
    findings: findings.toSorted((a, b) => a.line - b.line || a.column - b.column),
  };
}

type Note = (severity: MetadataFinding["severity"], message: string, at: number, isRefusedByApi?: boolean) => void;

function readKey({ key }: YamlPair, parse: ReadKey, note: Note): Key | undefined {
  try {
    return parse(key.text);
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    note("error", error.message, key.at);
    return undefined;
  }
}

const entryFields = ["name", "tags", "vlan", "internal", "metadata", "contexts"];

/** Checks an entry. @returns the entry; undefined where it cannot be used. */
function checkEntry(key: Key, { key: keyNode, value }: YamlPair, note: Note): UdmEntry | undefined {
  const whole = readOr(key, value);
  if ("message" in whole) {
    // Check each field separately, because reading an entry ends at its first fault.
    const fields = value.kind === "mapping" ? value.pairs : [];
    const faults = fields.map((field) => readOr(key, { ...mappingOf(value), pairs: [field] }));
    const found = faults.filter((fault) => "message" in fault);
    for (const { message, at } of found.length > 0 ? found : [whole]) note("error", message, at);
    return undefined;
  }
  const { entry, unknownFields } = whole;
  const covers = networkOfKey(key);
  if (covers !== undefined) note("warning", `key ${key.text} has host bits: it covers all of ${covers}`, keyNode.at);
  for (const { description } of checkValues(entry)) note("warning", `${key.text}: ${description}`, keyNode.at, true);
  for (const text of deceptiveTexts(entry)) note("warning", `${key.text}: ${text}`, keyNode.at);
  if (entry.fileOnly?.contexts?.length === 0) {
    note("warning", `${key.text}: its contexts are not known, so that it applies nowhere`, keyNode.at);
  }
  for (const name of unknownFields.keys()) {
    const field = value.kind === "mapping" ? value.pairs.find((pair) => pair.key.text === name) : undefined;
    const near = nearName(name, entryFields);
    const hint = near === undefined ? "" : `: is ${near} meant?`;
    note("warning", `field ${JSON.stringify(name)} is not used${hint}`, field?.key.at ?? keyNode.at);
  }
  return entry;
}

/** Reports keys that conflict with fields or with each other, such as a key with a value that is also the parent of other keys. */
function checkMetadataKeys(entry: YamlNode, keyConflict: (key: string) => string | undefined, note: Note): void {
  const metadata = entry.kind === "mapping" && entry.pairs.find(({ key }) => key.text === "metadata")?.value;
  if (metadata === false || metadata?.kind !== "mapping") return;
  const keys = metadata.pairs.map(({ key }) => key);
  for (const { text, at } of keys) {
    const conflict = keyConflict(text);
    if (conflict !== undefined) note("warning", conflict, at);
    const below = keys.find((other) => other.text.startsWith(`${text}.`))?.text;
    if (below === undefined) continue;
    const [key, as, other] = [text, `${text}.value`, below].map((one) => JSON.stringify(one));
    note("warning", `metadata key ${key} goes out as ${as}: ${other} lies below it`, at);
  }
}

const mappingOf = (node: YamlNode): Omit<YamlNode & { kind: "mapping" }, "pairs"> => ({
  kind: "mapping",
  at: node.at,
  tag: node.tag,
  weight: node.weight,
  depth: node.depth,
});

type Read =
  | { readonly entry: UdmEntry; readonly unknownFields: ReadonlyMap<string, number> }
  | { readonly message: string; readonly at: number };

class Fault extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

const fail: Fail = (message, at) => {
  throw new Fault(message, at);
};

function readOr(key: Key, node: YamlNode): Read {
  const unknownFields = new Map<string, number>();
  try {
    return { entry: readEntry(key, node, fail, unknownFields), unknownFields };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { message: error.message, at: error.at };
  }
}
