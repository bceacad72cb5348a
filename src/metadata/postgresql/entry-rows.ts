import { messageOf } from "../../base/postgresql/index.ts";
import type { EntryChange } from "../model/apply-writes.ts";
import { entryTextPair, readEntryTexts } from "../model/entry-texts.ts";
import type { UdmEntry } from "../model/udm-entry.ts";

/** Both sides of a change as columns of `udm_change`. */
export interface ChangeColumns {
  readonly key: string;
  readonly before: string | null;
  readonly beforeFileOnly: string | null;
  readonly after: string | null;
  readonly afterFileOnly: string | null;
}

export function changeColumns({ before, after }: EntryChange): ChangeColumns {
  const old = before && entryTextPair(before);
  const now = after && entryTextPair(after);
  return {
    key: (after ?? before)?.key.text ?? "",
    before: old?.json ?? null,
    beforeFileOnly: old?.fileOnly ?? null,
    after: now?.json ?? null,
    afterFileOnly: now?.fileOnly ?? null,
  };
}

export function readChangeColumns(row: ChangeColumns): EntryChange {
  return {
    before: readSide(row.key, row.before, row.beforeFileOnly),
    after: readSide(row.key, row.after, row.afterFileOnly),
  };
}

function readSide(key: string, json: string | null, fileOnly: string | null): UdmEntry | undefined {
  return json === null ? undefined : readRow(key, json, fileOnly);
}

/** The entry of a row. @throws Error that names the row when it is not as a collector has written it. */
export function readRow(key: string, json: string, fileOnly: string | null): UdmEntry {
  let entry: UdmEntry;
  try {
    entry = readEntryTexts(json, fileOnly ?? undefined);
  } catch (error) {
    throw new Error(`the entry ${JSON.stringify(key)} of the database cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
  if (entry.key.text === key) return entry;
  throw new Error(
    `the entry ${JSON.stringify(key)} of the database says another key: ${JSON.stringify(entry.key.text)}`,
  );
}

/** About what a change takes in the database, in bytes: its texts, and rows and index entries around them. */
export function bytesOf({ key, before, after }: ChangeColumns): number {
  return 100 + 2 * key.length + (before?.length ?? 0) + (after?.length ?? 0);
}

/** Texts as an array literal of PostgreSQL, for a parameter that is cast. */
export function arrayLiteral(texts: readonly (string | number | boolean | null)[]): string {
  const parts: string[] = [];
  for (const text of texts) {
    if (text === null) parts.push("NULL");
    else parts.push(typeof text === "string" ? `"${text.replaceAll(/["\\]/g, "\\$&")}"` : String(text));
  }
  return `{${parts.join(",")}}`;
}

/** Texts as one parameter: for keys and JSON, which have no control characters. The server takes it apart by {@link listed}. */
export function joinTexts(texts: readonly (string | number | null)[]): string {
  return texts.map((text) => text ?? nothing).join(separator);
}

/**
 * SQL that makes an array of texts of a {@link joinTexts}. Array literals would cost both sides several times as much: every quote of
 * JSON is escaped there.
 *
 * @param parameter its number
 */
export function listed(parameter: number): string {
  return `string_to_array($${parameter}::text, E'\\x01', E'\\x02')`;
}

const separator = "\u0001";
const nothing = "\u0002";
