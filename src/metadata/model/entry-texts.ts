import { parseKey } from "../../base/ip/index.ts";
import { parseUdmJson, udmJson } from "./entry-json.ts";
import type { UdmEntry, UdmFileOnly } from "./udm-entry.ts";

/** All of an entry as two texts of JSON. */
export interface EntryTextPair {
  /** As {@link udmJson} has it, the key included. */
  readonly json: string;
  /** Its {@link UdmFileOnly}; undefined where it has none. */
  readonly fileOnly: string | undefined;
}

export function entryTextPair(entry: UdmEntry): EntryTextPair {
  return { json: udmJson(entry), fileOnly: entry.fileOnly && JSON.stringify(entry.fileOnly) };
}

/** The entry back from {@link entryTextPair}. */
export function readEntryTexts(json: string, fileOnly: string | undefined): UdmEntry {
  const values = parseUdmJson(json);
  const entry = { ...values, key: parseKey(values.key) };
  return fileOnly === undefined ? entry : { ...entry, fileOnly: JSON.parse(fileOnly) as UdmFileOnly };
}
