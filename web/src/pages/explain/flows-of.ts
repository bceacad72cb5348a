import type { Entry } from "../../api/entry.ts";
import { quoted, type Asked } from "../../format/what-is-asked.ts";

/** Keys of entries in one filter: each is compared with each record. */
const mostKeys = 50;

/**
 * The filter of the flows that belong to what is asked. Words are looked for as entries are: somewhere in a name or a tag, and case does not count.
 * Entries that have them elsewhere, such as in a value of metadata, stand for their addresses.
 */
export function flowsOf({ text }: Asked & { readonly kind: "words" }, found: readonly Entry[]): string {
  const pattern = quoted(text.replaceAll(/[\\*?^$]/g, String.raw`\$&`));
  const hasText = (words: string): boolean => words.toLowerCase().includes(text.toLowerCase());
  const keys = found
    .filter(({ name = "", tags = [] }) => ![name, ...tags].some(hasText))
    .map(({ key }) => key)
    .slice(0, mostKeys);
  return [
    `name ~ ${pattern}`,
    `tag ~ ${pattern}`,
    ...(keys.length === 0 ? [] : [`addr in (${[...new Set(keys)].join(", ")})`]),
  ].join(" or ");
}
