import { keyPattern, readChange, type LineHead } from "./change-line.ts";
import type { HistoryQuery, UdmChange } from "./history-contract.ts";
import type { HistoryFiles, Segment } from "./history-files.ts";

/** A change and where its line is. */
export interface KeptChange extends LineHead {
  readonly segment: Segment;
  readonly start: number;
  readonly end: number;
}

/** What is known of the changes that the files have. */
export interface KeptChanges {
  /** By ascending numbers, which may have gaps where lines were torn. */
  all(): readonly KeptChange[];
  add(changes: readonly KeptChange[]): void;
  find(number: number): KeptChange | undefined;
  cutFrom(place: number): void;
  forgetBelow(number: number): void;
  /** Those from a place on, with their entries. @throws the errors of the system */
  readFrom(place: number): Promise<readonly UdmChange[]>;
  /** {@link UdmHistory.list} */
  list(query: HistoryQuery & { readonly before: number }): Promise<readonly UdmChange[]>;
}

export function createKeptChanges(files: HistoryFiles): KeptChanges {
  let kept: KeptChange[] = [];

  /** The place of the first change with this number or a higher one. */
  const placeOf = (number: number): number => {
    let low = 0;
    let high = kept.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((kept[middle] as KeptChange).number < number) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  return {
    all: () => kept,
    add(changes) {
      for (const change of changes) kept.push(change);
    },
    find(number) {
      const found = kept[placeOf(number)];
      return found?.number === number ? found : undefined;
    },
    cutFrom: (place) => void (kept = kept.slice(0, place)),
    forgetBelow: (number) => void (kept = kept.slice(placeOf(number))),
    async readFrom(place) {
      const changes: UdmChange[] = [];
      let read: { readonly segment: Segment; readonly bytes: Buffer } | undefined;
      for (const { segment, start, end } of kept.slice(place)) {
        if (read?.segment !== segment) read = { segment, bytes: await files.read(segment) };
        changes.push(await readChange(read.bytes.subarray(start, end - 1)));
      }
      return changes;
    },
    async list(query) {
      const { key, author, withoutLayers = false, after = 0, before, limit } = query;
      const found: UdmChange[] = [];
      const pattern = key && keyPattern(key.text);
      let read: { readonly segment: Segment; readonly bytes: Buffer } | undefined;
      const all = kept;
      for (let place = placeOf(before) - 1; place >= 0 && found.length < limit; place--) {
        const change = all[place] as KeptChange;
        if (change.number <= after) break;
        if (author !== undefined && change.author !== author) continue;
        if (withoutLayers && change.layer !== undefined) continue;
        if (read?.segment !== change.segment) {
          const bytes = await files.read(change.segment).catch(() => undefined);
          // It was removed meanwhile, and so were all before it.
          if (bytes === undefined) break;
          read = { segment: change.segment, bytes };
        }
        const line = read.bytes.subarray(change.start, change.end - 1);
        if (pattern === undefined || line.includes(pattern)) found.push(await readChange(line));
      }
      return found;
    },
  };
}
