import { renderEntry, udmJson } from "../udm/index.ts";
import { toUdmEntry, type ExchangeEntry } from "./exchange-entry.ts";
import type { ExchangeFormat } from "./import-entries.ts";
import { metadataColumn } from "./map/column-map.ts";

/** Metadata keys with a column of their own in a sheet; the others are together in a column as JSON. */
const mostColumns = 256;
/** Characters given at a time. */
const pieceLength = 64 * 1024;
/** Entries worked on at a time. */
const partsOfAPiece = 1000;

/**
 * The text of entries in our own form, which {@link importEntries} reads back as they were. JSON is an object with `udms`, as
 * lists of the API have it; YAML has the form of the metadata file.
 *
 * @param entries begins the entries from the first one; a sheet takes two passes, the first for its columns.
 */
export function* exportEntries(
  entries: () => Iterable<ExchangeEntry>,
  format: ExchangeFormat,
): Generator<string, void> {
  let piece = "";
  let count = 0;
  for (const part of parts[format](entries)) {
    piece += part;
    // Work that gives no text yet must end a turn of the event loop, too.
    if (piece.length < pieceLength && ++count < partsOfAPiece) continue;
    yield piece;
    piece = "";
    count = 0;
  }
  if (piece !== "") yield piece;
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
  const { contexts, otherFields } = entry;
  if (contexts === undefined && otherFields === undefined) return json;
  const where = contexts === undefined ? "" : `,"contexts":${JSON.stringify(contexts)}`;
  const others = otherFields === undefined ? "" : `,"otherFields":${JSON.stringify(otherFields)}`;
  return `${json.slice(0, -1)}${where}${others}}`;
}

function* sheet(entries: () => Iterable<ExchangeEntry>): Generator<string, void> {
  const keys = new Set<string>();
  let hasContexts = false;
  let hasOthers = false;
  let hasRest = false;
  for (const { contexts, otherFields, metadata } of entries()) {
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
  if (hasContexts) header.push("contexts");
  if (hasOthers) header.push("otherFields");
  const named = columns.map((key) => `${metadataColumn}${key}`);
  yield line([...header, ...named, ...(hasRest ? ["metadata"] : [])]);
  for (const entry of entries()) {
    const rest = hasRest ? Object.fromEntries([...entry.metadata].filter(([key]) => !keys.has(key))) : {};
    yield line([
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

/** A text of which a spreadsheet does not make a formula, and that a reader of ours takes for itself. */
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
