import type { Log } from "../report/index.ts";
import { checkValues } from "./check-udm.ts";
import { itemsATurn, nextTurn } from "./next-turn.ts";
import type { UdmEntry } from "./udm-entry.ts";

/** Entries whose warnings are logged one by one; the rest is a number. */
const maxWarnings = 20;

/**
 * Logs a warning for each entry of the file that a request could not have made (a long name, odd characters), or that
 * applies nowhere. Such entries are used as they are.
 *
 * @returns how many there are.
 */
export async function warnEntries(entries: readonly UdmEntry[], path: string, log: Log): Promise<number> {
  let count = 0;
  for (const [i, entry] of entries.entries()) {
    if (i % itemsATurn === itemsATurn - 1) await nextTurn();
    if (isSurelyFine(entry)) continue;
    const problems = checkValues(entry).map((violation) => violation.description);
    if (entry.fileOnly?.contexts?.length === 0) problems.push("its contexts are not known, so that it applies nowhere");
    if (problems.length === 0) continue;
    count++;
    if (count <= maxWarnings) {
      log.warn({ path, key: entry.key.text, problems }, "an entry of the metadata file breaks the rules for values");
    }
  }
  if (count > maxWarnings) log.warn({ path, more: count - maxWarnings }, "more entries break the rules for values");
  return count;
}

const printableAscii = /^[ -~]*$/;
/** Parts of ASCII signs other than blanks and dots, joined by dots. */
const asciiMetadataKey = /^\.?[!--/-~]+(?:\.[!--/-~]+)*$/;

/** A cheap look that most entries pass; of the others nothing is said. */
function isSurelyFine({ name, tags, metadata, fileOnly }: UdmEntry): boolean {
  if (fileOnly?.contexts !== undefined || name.length > 255 || !printableAscii.test(name)) return false;
  for (const tag of tags) if (tag === "" || tag.length > 255 || !printableAscii.test(tag)) return false;
  for (const [key, value] of metadata) {
    if (key.length > 255 || !asciiMetadataKey.test(key)) return false;
    if (value.length > 4096 || !printableAscii.test(value)) return false;
  }
  return true;
}
