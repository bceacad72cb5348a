import {
  type ExchangeEntry,
  toUdmEntry,
  ExchangeError,
  FaultList,
  type ImportFault,
  decodeText,
  wholeText,
  type RowBlocks,
} from "./import-rows.ts";
import { type ColumnMap, metadataColumn, readyMap } from "./map/column-map.ts";
import { EntryMaker, type CheckScope } from "./map/make-entries.ts";
import { csvRows, type CsvOptions } from "./rows/csv-rows.ts";
import { blocksOf, jsonRows, ndjsonRows } from "./rows/json-rows.ts";
import { yamlRows } from "./rows/yaml-rows.ts";
import { quote } from "../../base/text/index.ts";
import type { ReadKey } from "../model/name-key.ts";
import { renderEntry, udmJson } from "../model/render-entry.ts";

export const exchangeFormats = ["csv", "json", "ndjson", "yaml"] as const;
export type ExchangeFormat = (typeof exchangeFormats)[number];

export interface ImportOptions {
  readonly format: ExchangeFormat;
  /** The column map. The default is the collector's own form, which {@link exportEntries} writes. */
  readonly map?: ColumnMap | undefined;
  /** Reads keys. By default, keys are addresses. */
  readonly parseKey?: ReadKey | undefined;
  /** Returns the reason to refuse rows that name a scope; undefined accepts them. If left out, all such rows are refused. */
  readonly checkScope?: CheckScope | undefined;
  /** The scope of rows that name none. */
  readonly ownScope?: string | undefined;
  /** The options of CSV. */
  readonly csv?: CsvOptions | undefined;
  /** Selects rows from a JSON text. It returns them as JSON, one on each line. */
  readonly select?: ((text: string) => AsyncIterable<string>) | undefined;
  /** The most faults that are kept; all are counted. The default is 1000. */
  readonly mostFaults?: number | undefined;
  /** The most bytes of text that are read. The default is 1 GiB. */
  readonly mostBytes?: number | undefined;
}

export interface ImportResult {
  /** The entries of the rows without a fault, in their order. */
  readonly entries: readonly ExchangeEntry[];
  /** The number of rows read, including rows with faults and rows left out. */
  readonly rows: number;
  /** The first faults, in the order of the rows. */
  readonly faults: readonly ImportFault[];
  /** The number of all faults, including those that are not kept. */
  readonly faultCount: number;
}

/**
 * Makes entries from a text. A bad row gives a fault; every other row becomes an entry. It yields to the event loop every
 * few hundred rows.
 *
 * @throws ExchangeError when the text cannot be read at all: a wrong selection, invalid UTF-8, invalid JSON.
 */
export async function importEntries(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: ImportOptions,
): Promise<ImportResult> {
  const faults = new FaultList(options.mostFaults ?? 1000);
  if (options.select !== undefined && options.format !== "json") {
    throw new ExchangeError("select", `a selection is for JSON, not for ${options.format}`);
  }
  const text = decodeText(bytes, options.mostBytes ?? 1024 ** 3);
  const rows = readers[options.format](text, options, faults);
  return importRows(rows, options.map ?? readyMap("netgloss"), faults, options);
}

/** Does the same as {@link importEntries} with parsed objects. */
export async function importObjects(
  objects: readonly unknown[],
  map: ColumnMap,
  checkScope?: CheckScope,
): Promise<ImportResult> {
  const faults = new FaultList(1000);
  return importRows(blocksOf(objects, faults), map, faults, { checkScope });
}

type ReadRows = (text: AsyncGenerator<string>, options: ImportOptions, faults: FaultList) => RowBlocks;

const readers: Readonly<Record<ExchangeFormat, ReadRows>> = {
  csv: (text, { csv }, faults) => csvRows(text, csv ?? {}, faults),
  ndjson: (text, _, faults) => ndjsonRows(text, faults),
  async *json(text, { select }, faults) {
    const whole = await wholeText(text);
    yield* select === undefined ? jsonRows(whole, faults) : ndjsonRows(select(whole), faults, "row");
  },
  async *yaml(text, { map = readyMap("netgloss") }, faults) {
    yield* yamlRows(await wholeText(text), map.isExact, faults);
  },
};

async function importRows(
  blocks: RowBlocks,
  map: ColumnMap,
  faults: FaultList,
  { parseKey, checkScope, ownScope }: Pick<ImportOptions, "parseKey" | "checkScope" | "ownScope"> = {},
): Promise<ImportResult> {
  const maker = new EntryMaker(map, faults, parseKey, checkScope);
  const indices = new Map<string, number>();
  /** The row of each entry. */
  const rowsOfEntries: number[] = [];
  const entries: ExchangeEntry[] = [];
  let rows = 0;
  for await (const block of blocks) {
    for (const row of block) {
      rows++;
      for (const entry of maker.make(row)) {
        const { text } = entry.key;
        const id = (entry.scope ?? ownScope) === ownScope ? text : `${entry.scope} ${text}`;
        const earlier = indices.get(id);
        if (earlier === undefined) {
          indices.set(id, entries.length);
          rowsOfEntries.push(row.number);
          entries.push(entry);
        } else if (map.duplicates === "last") entries[earlier] = entry;
        else if (map.duplicates === "refuse") {
          const reason = `key ${quote(text)} is already in row ${rowsOfEntries[earlier]}`;
          faults.add({ row: row.number, line: row.line, column: "", field: "key", reason });
        }
      }
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  maker.finish();
  const inOrder = faults.faults.toSorted((a, b) => a.row - b.row);
  return { entries, rows, faults: inOrder, faultCount: faults.count };
}

/** The most metadata keys with their own column in a sheet. All others share one column as JSON. */
const mostColumns = 256;
/** The characters of one chunk. */
const chunkLength = 64 * 1024;
/** The most entries that are processed at a time. */
const partsOfAChunk = 1000;

/**
 * Yields the text of entries in the collector's own form, from which {@link importEntries} reads the same entries. JSON is an object with
 * `udms`, as in lists of the API. YAML has the form of the metadata file, which has no scopes.
 *
 * @param entries starts an iteration over the entries. A sheet needs two passes, the first for its columns.
 */
export function* exportEntries(
  entries: () => Iterable<ExchangeEntry>,
  format: ExchangeFormat,
): Generator<string, void> {
  let chunk = "";
  let count = 0;
  for (const part of parts[format](entries)) {
    chunk += part;
    // Work that produces no text yet must also yield to the event loop.
    if (chunk.length < chunkLength && ++count < partsOfAChunk) continue;
    yield chunk;
    chunk = "";
    count = 0;
  }
  if (chunk !== "") yield chunk;
}

const parts: Readonly<Record<ExchangeFormat, (entries: () => Iterable<ExchangeEntry>) => Iterable<string>>> = {
  csv: sheet,
  *ndjson(entries) {
    for (const entry of entries()) yield `${entryJson(entry)}\n`;
  },
  *json(entries) {
    let separator = '{"udms":[\n';
    for (const entry of entries()) {
      yield separator + entryJson(entry);
      separator = ",\n";
    }
    yield separator.startsWith("{") ? `${separator}]}\n` : "\n]}\n";
  },
  *yaml(entries) {
    let isEmpty = true;
    for (const entry of entries()) {
      isEmpty = false;
      yield renderEntry(toUdmEntry(entry));
    }
    if (isEmpty) yield "{}\n";
  },
};

function entryJson(entry: ExchangeEntry): string {
  const json = udmJson(entry);
  const { scope, contexts, otherFields } = entry;
  if (scope === undefined && contexts === undefined && otherFields === undefined) return json;
  const of = scope === undefined ? "" : `,"scope":${JSON.stringify(scope)}`;
  const where = contexts === undefined ? "" : `,"contexts":${JSON.stringify(contexts)}`;
  const others = otherFields === undefined ? "" : `,"otherFields":${JSON.stringify(otherFields)}`;
  return `${json.slice(0, -1)}${of}${where}${others}}`;
}

function* sheet(entries: () => Iterable<ExchangeEntry>): Generator<string, void> {
  const keys = new Set<string>();
  let hasScopes = false;
  let hasContexts = false;
  let hasOthers = false;
  let hasRest = false;
  for (const { scope, contexts, otherFields, metadata } of entries()) {
    hasScopes ||= scope !== undefined;
    hasContexts ||= contexts !== undefined;
    hasOthers ||= otherFields !== undefined;
    for (const key of metadata.keys()) {
      if (keys.size < mostColumns) keys.add(key);
      else hasRest ||= !keys.has(key);
    }
    yield "";
  }
  const columns = [...keys].toSorted();
  const header = ["key", "name", "tags", "vlan", "internal"];
  if (hasScopes) header.unshift("scope");
  if (hasContexts) header.push("contexts");
  if (hasOthers) header.push("otherFields");
  const named = columns.map((key) => `${metadataColumn}${key}`);
  yield line([...header, ...named, ...(hasRest ? ["metadata"] : [])]);
  for (const entry of entries()) {
    const rest = hasRest ? Object.fromEntries([...entry.metadata].filter(([key]) => !keys.has(key))) : {};
    yield line([
      ...(hasScopes ? [entry.scope ?? ""] : []),
      entry.key.text,
      entry.name === "" ? "" : guarded(entry.name),
      listCell(entry.tags),
      entry.vlan === 0n ? "" : String(entry.vlan),
      entry.internal ? "true" : "",
      ...(hasContexts ? [listCell(entry.contexts ?? [])] : []),
      ...(hasOthers ? [guarded(entry.otherFields ?? "")] : []),
      ...columns.map((key) => {
        const value = entry.metadata.get(key);
        return value === undefined ? "" : value === "" ? "\\" : guarded(value);
      }),
      ...(hasRest ? [Object.keys(rest).length === 0 ? "" : JSON.stringify(rest)] : []),
    ]);
  }
}

/** Returns a text that a spreadsheet does not read as a formula. The import reads the original text from it. */
function guarded(text: string): string {
  return /^[=+\-@\\]/.test(text) ? `\\${text}` : text;
}

function listCell(texts: readonly string[]): string {
  const cell = texts.map((text) => text.replaceAll(/[\\,]/g, String.raw`\$&`)).join(",");
  return /^[=+\-@]/.test(cell) ? `\\${cell}` : cell;
}

function line(cells: readonly string[]): string {
  return `${cells.map((cell) => (/[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",")}\r\n`;
}
