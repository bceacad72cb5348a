import { networkOfKey, type Key } from "../../base/ip/index.ts";
import type { Log } from "../../base/report/index.ts";
import { hostBitsWarning } from "./audit-log.ts";
import { checkValues, deceptiveTexts, measureEntry, excessOf } from "../model/check-udm.ts";
import type { MappedTwice } from "../model/read-entries.ts";
import type { UdmEntry } from "../model/udm-entry.ts";

/** Entries whose warnings are logged one by one; the rest is a number. */
const maxWarnings = 20;

/** What a file has in entries that a request could not have made (a long name, odd characters), or that apply nowhere. */
export interface EntryWarnings {
  /** How many such entries there are. */
  readonly count: number;
  /** Of the first ones. */
  readonly shown: readonly { readonly key: string; readonly problems: readonly string[] }[];
  /** Prefixes with host bits. */
  readonly hostBits: {
    readonly count: number;
    /** The first ones, and the networks that they cover. */
    readonly shown: readonly { readonly key: string; readonly covers: string }[];
  };
  /** As in {@link UdmFileContent}, the first ones. */
  readonly mappedTwice: { readonly count: number; readonly shown: readonly MappedTwice[] };
}

/** Gathers warnings, entry by entry. */
export interface WarningsGatherer extends EntryWarnings {
  look(entry: UdmEntry): void;
  /** Looks at the key alone. */
  lookAtKey(key: Key): void;
  notUsed(entries: readonly MappedTwice[]): void;
}

export function createWarnings(): WarningsGatherer {
  const hostBits = { count: 0, shown: [] as { readonly key: string; readonly covers: string }[] };
  const shown: { readonly key: string; readonly problems: readonly string[] }[] = [];
  const warnings = {
    count: 0,
    shown,
    hostBits,
    mappedTwice: { count: 0, shown: [] as readonly MappedTwice[] },
    notUsed(entries: readonly MappedTwice[]): void {
      warnings.mappedTwice = { count: entries.length, shown: entries.slice(0, maxWarnings) };
    },
    lookAtKey(key: Key): void {
      const covers = networkOfKey(key);
      if (covers === undefined) return;
      hostBits.count++;
      if (hostBits.shown.length < maxWarnings) hostBits.shown.push({ key: key.text, covers });
    },
    look(entry: UdmEntry): void {
      warnings.lookAtKey(entry.key);
      if (isSurelyFine(entry)) return;
      const problems = [...checkValues(entry).map(({ description }) => description), ...deceptiveTexts(entry)];
      if (entry.fileOnly?.contexts?.length === 0)
        problems.push("its contexts are not known, so that it applies nowhere");
      if (problems.length === 0) return;
      warnings.count++;
      if (shown.length < maxWarnings) shown.push({ key: entry.key.text, problems });
    },
  };
  return warnings;
}

/** Logs a warning for each entry; such entries are used as they are. */
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
/** Parts of ASCII signs other than blanks and dots, joined by dots. */
const asciiMetadataKey = /^\.?[!--/-~]+(?:\.[!--/-~]+)*$/;

/** A cheap look that most entries pass; of the others nothing is said. */
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
