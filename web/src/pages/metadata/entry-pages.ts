import { callApi } from "../../api/call.ts";
import { searchCall, type SearchAnswer } from "../../api/entries.ts";
import type { Entry } from "../../api/entry.ts";

/** What is searched for. */
export interface EntrySearch {
  readonly filter: string;
  readonly text: string;
  readonly order: string;
}

/** Entries of one page. */
export const pageSize = 1000;
/** Pages in memory: those last seen. A million entries are a thousand. */
const maxPages = 8;

/** A list of any length, read page by page as it is scrolled through. */
export interface EntryPages {
  /** Rows that are known to be there. */
  readonly known: number;
  /** Whether there are more behind them. */
  readonly hasMore: boolean;
  /** Undefined: it is not in memory. */
  rowAt(index: number): Entry | undefined;
  /**
   * Reads what is missing of these rows, and the page behind the last one. The way to rows far behind the known ones leads over all pages
   * between, for each says where the next one begins; it is left when other rows are wanted. @throws ApiFailure
   */
  want(from: number, to: number): Promise<void>;
  /** Puts another entry in the place of one, or takes it out of sight. */
  replace(key: string, entry: Entry | undefined): void;
  /** All keys, up to this many. @throws ApiFailure */
  keys(most: number, signal: AbortSignal): Promise<readonly string[]>;
  close(): void;
}

export function createEntryPages(search: EntrySearch, changed: () => void): EntryPages {
  /** Where each page begins; the last one that is known to be there comes last. */
  const tokens: string[] = [""];
  const pages = new Map<number, readonly (Entry | undefined)[]>();
  const pending = new Map<number, Promise<void>>();
  const gone = new AbortController();
  let hasMore = true;
  let known = 0;
  let wanted = 0;

  const read = async (page: number): Promise<void> => {
    const call = searchCall({ ...search, pageSize, pageToken: tokens[page] ?? "" });
    const { udms = [], nextPageToken = "" } = await callApi<SearchAnswer>(call, { signal: gone.signal });
    pages.delete(page);
    pages.set(page, udms);
    if (page === tokens.length - 1) {
      known = page * pageSize + udms.length;
      hasMore = nextPageToken !== "";
      if (hasMore) tokens.push(nextPageToken);
    }
    for (const old of pages.keys()) {
      if (pages.size <= maxPages) break;
      if (!pending.has(old)) pages.delete(old);
    }
    changed();
  };
  const load = (page: number): Promise<void> => {
    const running = pending.get(page);
    if (running !== undefined) return running;
    const begun = read(page).finally(() => pending.delete(page));
    pending.set(page, begun);
    return begun;
  };

  return {
    get known() {
      return known;
    },
    get hasMore() {
      return hasMore;
    },
    rowAt: (index) => pages.get(Math.floor(index / pageSize))?.[index % pageSize],
    async want(from, to) {
      const first = Math.floor(Math.max(0, from) / pageSize);
      const last = Math.floor(to / pageSize);
      const turn = ++wanted;
      for (let end = tokens.length - 1; end < last; end = tokens.length - 1) {
        await load(end);
        if (turn !== wanted) return;
        if (!hasMore) break;
      }
      for (let page = first; page <= last; page++) {
        if (page < tokens.length && !pages.has(page) && (hasMore || page * pageSize < known || known === 0))
          await load(page);
      }
      if (hasMore && to > known - pageSize) await load(tokens.length - 1);
    },
    replace(key, entry) {
      for (const [page, rows] of pages) {
        const at = rows.findIndex((row) => row?.key === key);
        if (at >= 0) pages.set(page, rows.with(at, entry));
      }
      changed();
    },
    async keys(most, signal) {
      const all: string[] = [];
      let pageToken = "";
      do {
        const call = searchCall({ ...search, pageSize: 1000, pageToken });
        const answer = await callApi<SearchAnswer>(call, { signal });
        for (const { key, layer = "" } of answer.udms ?? []) if (layer === "") all.push(key);
        pageToken = answer.nextPageToken ?? "";
      } while (pageToken !== "" && all.length < most);
      return all.slice(0, most);
    },
    close: () => gone.abort(),
  };
}
