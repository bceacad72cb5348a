import { within, type Clock, type Log, type Reporting } from "../../base/report/index.ts";
import {
  columnOf,
  FilterError,
  filterPlace,
  operatorsFor,
  parseFilter,
  recordVocabulary,
  shortNames,
  shownWith,
  udmVocabulary,
  valueInFilter,
  recordFields,
  type FilterPlace,
} from "../../record/index.ts";
import { inScopes, isMetadataName, readQuery } from "../../explore/index.ts";
import { UdmError, type CollectorUdmStore, type UdmIndex } from "../../metadata/index.ts";
import { apiError, type FilterCompletion } from "../../server/index.ts";
import type { ExploreQuestions } from "../threads/explore-output.ts";
import { MetadataWords } from "./metadata-words.ts";

type Item = FilterCompletion["items"][number];

/** The sources of values. */
export interface CompletionSources {
  /** Returns the states of the metadata, both hand-written and from sources; with scopes, only the states of these. */
  readonly states: (scopes: readonly string[] | undefined) => readonly UdmIndex[];
  readonly exporters: () => Promise<readonly { readonly address: string; readonly name: string | undefined }[]>;
  readonly explore: Pick<ExploreQuestions, "query"> | undefined;
}

/** Returns all states of the metadata; none until a file has been read. */
export function metadataStates(metadata: CollectorUdmStore | undefined): readonly UdmIndex[] {
  if (metadata === undefined) return [];
  const others = metadata.layers.list().map(({ index }) => index);
  try {
    return [metadata.current(), ...others];
  } catch (error) {
    if (error instanceof UdmError) return others;
    throw error;
  }
}

/** Values by bytes of the last hour. */
type Traffic = ReadonlyMap<string, number>;

/** The values of a field: the known ones, and those that are being looked up. */
interface LookUp {
  /** The time of the lookup; undefined: it is under way. */
  at: number | undefined;
  readonly found: Promise<Traffic>;
  known: Traffic;
}

const askMs = 10_000;
const freshMs = 60_000;
/** The time for which an empty result stays valid: traffic may have come meanwhile. */
const freshEmptyMs = 2000;
/** The wait for a lookup: an incomplete answer in time is better. */
const patienceMs = 30;
const mostFields = 200;
const mostItems = 20;
/** The most known values of a field with traffic; the API of Explore gives no more. */
const mostKept = 1000;

/** The offered completions; `complete` is false where there may be more. */
type Offer = Pick<FilterCompletion, "items" | "complete">;

const firstOf = (items: readonly Item[], isAll = true): Offer => ({
  items: items.slice(0, mostItems),
  complete: isAll && items.length <= mostItems,
});
const truths: readonly Item[] = [
  { insert: "true", kind: "value" },
  { insert: "false", kind: "value" },
];
const noWords = { words: [], complete: true };

/** The most sets of scopes whose words and values are cached at a time. */
const mostLimits = 16;

/** Completes filters. Callers who are limited to scopes get only the words and values of these. */
export class FilterCompletions {
  readonly #sources: CompletionSources;
  readonly #parts: Omit<Reporting, "health">;
  readonly #all: FilterCompleter;
  /** Completers by scopes, the most recently used last. */
  readonly #limited = new Map<string, FilterCompleter>();

  constructor(sources: CompletionSources, parts: Omit<Reporting, "health">) {
    this.#sources = sources;
    this.#parts = parts;
    this.#all = new FilterCompleter(sources, parts);
    const sum = (of: keyof MetadataWords["counts"]): number =>
      [this.#all, ...this.#limited.values()].reduce((total, { words }) => total + words.counts[of], 0);
    parts.metrics.gaugeFrom(
      "netgloss_completion_words",
      "Words of the metadata that filters are completed with: those in memory, and those left out because they are too long or too many. 0 while nobody writes filters.",
      ["state"],
      () => [
        [{ state: "kept" }, sum("kept")],
        [{ state: "left_out" }, sum("leftOut")],
      ],
    );
    parts.metrics.gaugeFrom("netgloss_completion_words_bytes", "Memory of these words, estimated.", [], () =>
      sum("bytes"),
    );
  }

  /** Completes like {@link FilterCompleter.complete}. @param scopes to which the caller is limited; undefined: it is not. */
  complete(body: unknown, mayReadMetadata: boolean, scopes: readonly string[] | undefined): Promise<FilterCompletion> {
    return (scopes === undefined ? this.#all : this.#of(scopes)).complete(body, mayReadMetadata);
  }

  #of(scopes: readonly string[]): FilterCompleter {
    const key = scopes.toSorted().join();
    const { explore, ...sources } = this.#sources;
    const limited =
      this.#limited.get(key) ??
      new FilterCompleter(
        {
          ...sources,
          explore: explore && { query: (query, signal) => explore.query(inScopes(query, scopes), signal) },
        },
        this.#parts,
        scopes,
      );
    this.#limited.delete(key);
    this.#limited.set(key, limited);
    if (this.#limited.size > mostLimits) this.#limited.delete(this.#limited.keys().next().value as string);
    return limited;
  }
}

/** Completes filters: names of fields, operators, and values from the operator's network. */
class FilterCompleter {
  readonly words: MetadataWords;
  readonly #sources: CompletionSources;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #isLimited: boolean;
  readonly #traffic = new Map<string, LookUp>();

  /** @param scopes whose words are offered, and then only fields that occur in records; undefined: all. */
  constructor(sources: CompletionSources, parts: Omit<Reporting, "health">, scopes?: readonly string[]) {
    this.#sources = sources;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#isLimited = scopes !== undefined;
    this.words = new MetadataWords(() => sources.states(scopes), parts);
  }

  /**
   * Returns the possible completions at a place, the best first, and the faults of the filter.
   *
   * @param mayReadMetadata true to offer words of entries, too, in addition to values of flows. @throws ConnectError
   */
  async complete(body: unknown, mayReadMetadata: boolean): Promise<FilterCompletion> {
    const { filter, cursor, of } = readBody(body);
    const vocabulary = of === "metadata" ? udmVocabulary : recordVocabulary;
    const place = filterPlace(filter, cursor);
    const fault = faultOf(filter, vocabulary);
    if (place === undefined)
      return { expects: "nothing", from: cursor, to: cursor, items: [], complete: true, ...fault };
    const { expects, from, to } = place;
    const found =
      expects !== "value" && expects !== "field"
        ? { items: fixed(place, vocabulary), complete: true }
        : of === "metadata"
          ? await this.#ofEntries(place, mayReadMetadata)
          : expects === "value"
            ? await this.#values(place, mayReadMetadata)
            : await this.#fields(place, mayReadMetadata);
    return { expects, from, to, ...found, ...fault };
  }

  /** Completes names of fields and words of the entries, for a filter of entries. */
  async #ofEntries({ expects, field = "", written }: FilterPlace, mayReadMetadata: boolean): Promise<Offer> {
    const words = async (kind: string, beginning?: string): ReturnType<MetadataWords["of"]> =>
      mayReadMetadata ? this.words.of(kind, patienceMs, beginning) : noWords;
    if (expects === "field") {
      const names = [...udmVocabulary.names()].filter((name) => !name.endsWith("."));
      const keys = (await words("keys")).words.map((key) => `metadata.${key}`).filter((name) => /^[\w.-]+$/.test(name));
      return firstOf(
        ranked(
          [...names, ...keys, "not"].map((insert) => ({ insert, kind: "field" })),
          written,
        ),
      );
    }
    const known = udmVocabulary.find(field)?.fields[0] ?? "";
    const kinds: Readonly<Record<string, string>> = { name: "names", tags: "tags" };
    const kind = kinds[known] ?? (known.startsWith("metadata.") ? `key ${known.replace(/^metadata\.\.?/, "")}` : "");
    if (kind === "") return firstOf(known === "internal" ? ranked(truths, written) : []);
    const found = await words(kind, written);
    return firstOf(
      found.words.map((word) => ({ insert: valueInFilter(word), kind: "value" })),
      found.complete,
    );
  }

  async #fields({ written }: FilterPlace, mayReadMetadata: boolean): Promise<Offer> {
    const own = mayReadMetadata ? await this.#ownFields() : [];
    const isShown = (field: string): boolean => !this.#isLimited || shownWith(field) !== undefined;
    const all: Item[] = [
      ...shortNames
        .filter(({ fields }) => fields.some(isShown))
        .map(({ name, description }) => ({ insert: name, kind: "field" as const, detail: description })),
      ...own.map((name) => ({ insert: name, kind: "field" as const, detail: "of your metadata" })),
      ...recordFields
        .filter(({ name }) => isShown(name))
        .map(({ name, description }) => ({ insert: name, kind: "field" as const, detail: description })),
      { insert: "not", kind: "word" as const, detail: "the opposite of a term" },
    ];
    return firstOf(ranked(all, written));
  }

  /** Returns keys of metadata as filters name them. */
  async #ownFields(): Promise<readonly string[]> {
    const keys = await this.words.of("keys", patienceMs);
    const short = keys.words.map((key) => key.replace(/^\./, ""));
    const names = short.flatMap((key) => [`src.${key}`, `dst.${key}`]);
    return [...new Set(names)].filter((name) => /^[\w.]+$/.test(name));
  }

  async #values({ field = "", written }: FilterPlace, mayReadMetadata: boolean): Promise<Offer> {
    const known = recordVocabulary.find(field);
    if (known === undefined) return { items: [], complete: true };
    const { fields, type, words = [] } = known;
    const traffic = await this.#trafficOf(type === "protocol" ? ["l4.proto.name"] : fields);
    const metadata = mayReadMetadata ? await this.#metadataWords(fields[0] ?? "", written) : noWords;
    const exporters =
      fields[0] === "flow.export.ip.addr" && !this.#isLimited
        ? await within(this.#sources.exporters(), patienceMs, [])
        : [];
    const names = new Map(exporters.map(({ address, name }) => [address, name]));
    const fixedWords = type === "boolean" ? ["true", "false"] : words;
    const candidates = [...traffic.keys(), ...names.keys(), ...fixedWords, ...metadata.words];
    const lower = written.toLowerCase();
    // Match an exporter by its name, too.
    const isWanted = (value: string): boolean =>
      value.toLowerCase().startsWith(lower) || (names.get(value)?.toLowerCase().startsWith(lower) ?? false);
    const values = [...new Set(candidates.map((value) => (type === "protocol" ? value.toLowerCase() : value)))].filter(
      isWanted,
    );
    const bytesOf = (value: string): number => traffic.get(value) ?? traffic.get(value.toUpperCase()) ?? 0;
    const items = values
      .map((value) => ({ value, bytes: bytesOf(value) }))
      .toSorted((a, b) => b.bytes - a.bytes || compare(a.value, b.value))
      .map(({ value, bytes }): Item => {
        const insert = valueInFilter(value);
        return { insert, kind: "value", detail: names.get(value), bytes: bytes > 0 ? bytes : undefined };
      });
    return firstOf(items, metadata.complete);
  }

  /** Returns values of entries that are sources of a field of records. */
  #metadataWords(field: string, written: string): ReturnType<MetadataWords["of"]> {
    if (field.endsWith(".ip.subnet.name")) return this.words.of("names", patienceMs, written);
    if (field.endsWith(".ip.subnet.tags")) return this.words.of("tags", patienceMs, written);
    if (!isMetadataName(field)) return Promise.resolve(noWords);
    const key = field.replace(/^flow\.(?:src|dst|export)\./, "");
    return this.words.of(`key ${key}`, patienceMs, written);
  }

  async #trafficOf(fields: readonly string[]): Promise<Traffic> {
    const sums = new Map<string, number>();
    const all = await Promise.all(fields.map((field) => this.#trafficOfField(field)));
    for (const [value, bytes] of all.flatMap((each) => Array.from(each)))
      sums.set(value, (sums.get(value) ?? 0) + bytes);
    return sums;
  }

  /** Returns the known values of a field. They may be outdated: a lookup then runs meanwhile. */
  async #trafficOfField(field: string): Promise<Traffic> {
    const { explore } = this.#sources;
    if (explore === undefined || columnOf(field) === undefined || columnOf(field)?.type === "time") return new Map();
    let row = this.#traffic.get(field);
    if (row === undefined || this.#isOld(row)) {
      const known = row?.known ?? new Map<string, number>();
      row = { at: undefined, known, found: this.#askFor(field, explore, known) };
      void this.#keep(row);
      this.#traffic.delete(field);
      this.#traffic.set(field, row);
      if (this.#traffic.size > mostFields) this.#traffic.delete(this.#traffic.keys().next().value as string);
    }
    if (row.known.size > 0) return row.known;
    return within(row.found, patienceMs, row.known);
  }

  /** Reports whether a lookup is outdated. One under way is not, so it is not repeated. */
  #isOld({ at, known }: LookUp): boolean {
    return at !== undefined && this.#clock.monotonic() - at > (known.size === 0 ? freshEmptyMs : freshMs);
  }

  async #keep(row: LookUp): Promise<void> {
    row.known = await row.found;
    row.at = this.#clock.monotonic();
  }

  /** @param otherwise the result if Explore does not answer, whatever the reason: only ranks are lost. */
  async #askFor(field: string, explore: Pick<ExploreQuestions, "query">, otherwise: Traffic): Promise<Traffic> {
    try {
      const query = readQuery({ dimensions: [field], granularity: "none", limit: mostKept }, this.#clock.now());
      const { rows } = await explore.query(query, AbortSignal.timeout(askMs));
      const found = rows.flatMap(({ key: [value], value: bytes }) =>
        value === null || value === undefined ? [] : [[String(value), bytes] as const],
      );
      return new Map(found);
    } catch (error) {
      this.#log.debug({ error, field }, "values could not be ranked by their traffic");
      return otherwise;
    }
  }
}

const longestFilter = 65_536;

function readBody(body: unknown): { readonly filter: string; readonly cursor: number; readonly of: string } {
  const refuse = (field: string, description: string): never => {
    throw apiError("invalid_argument", "INVALID_FIELD", description, { violations: [{ field, description }] });
  };
  if (typeof body !== "object" || body === null || Array.isArray(body))
    return refuse("", "the body must be a JSON object");
  const { filter = "", cursor, of = "records", ...others } = body as Readonly<Record<string, unknown>>;
  const [other] = Object.keys(others);
  if (other !== undefined) return refuse(other, `there is no field ${JSON.stringify(other)}: filter, of, cursor`);
  if (typeof filter !== "string") return refuse("filter", "filter must be a text");
  if (filter.length > longestFilter) return refuse("filter", `filter has more than ${longestFilter} characters`);
  const at = cursor ?? filter.length;
  if (typeof at !== "number" || !Number.isInteger(at) || at < 0 || at > filter.length)
    return refuse("cursor", "cursor must be an offset in the filter");
  if (of !== "records" && of !== "metadata") return refuse("of", "of must be records or metadata");
  return { filter, cursor: at, of };
}

function faultOf(
  filter: string,
  vocabulary: typeof recordVocabulary,
): { readonly fault?: NonNullable<FilterCompletion["fault"]> } {
  if (filter.trim() === "") return {};
  try {
    parseFilter(filter, "filter", vocabulary);
    return {};
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    const { location, fault, message } = error;
    return { fault: { ...location, fault, message } };
  }
}

/** Returns operators, and words between terms. */
function fixed({ expects, field = "", written }: FilterPlace, vocabulary: typeof recordVocabulary): readonly Item[] {
  if (expects === "joiner")
    return ranked(
      ["and", "or"].map((insert) => ({ insert, kind: "word" })),
      written,
    );
  const known = vocabulary.find(field) ?? { fields: [field], type: "any", unit: "" };
  return ranked(
    operatorsFor(known).map((insert) => ({ insert, kind: "operator" })),
    written,
  );
}

/** Returns items that start with the written text, then those with it after a period or inside, each once. */
function ranked(items: readonly Item[], written: string): readonly Item[] {
  const lower = written.toLowerCase();
  const rank = ({ insert }: Item): number => {
    const at = insert.toLowerCase().indexOf(lower);
    return at === 0 ? 0 : at < 0 ? 3 : insert[at - 1] === "." ? 1 : 2;
  };
  const seen = new Set<string>();
  return items
    .filter(({ insert }) => !seen.has(insert) && seen.add(insert))
    .map((item) => ({ item, rank: rank(item) }))
    .filter((each) => each.rank < 3)
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
