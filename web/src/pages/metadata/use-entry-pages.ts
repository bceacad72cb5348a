import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiFailure } from "../../api/api-failure.ts";
import { createEntryPages, type EntryPages, type EntrySearch } from "./entry-pages.ts";

export interface LoadedPages {
  readonly pages: EntryPages;
  readonly failure: ApiFailure | undefined;
  /** Whether the first page is there. */
  readonly isLoaded: boolean;
  readonly want: (from: number, to: number) => void;
  readonly retry: () => void;
}

/** The pages of a search; another search, or another turn, begins again. */
export function useEntryPages(search: EntrySearch, turn: number): LoadedPages {
  const [, redraw] = useState(0);
  const [again, setAgain] = useState(0);
  const [failure, setFailure] = useState<ApiFailure | undefined>(undefined);
  const [isLoaded, setLoaded] = useState(false);
  const { filter, text, order } = search;
  const pages = useMemo(
    () => createEntryPages({ filter, text, order }, () => redraw((count) => count + 1)),
    [filter, text, order, turn, again],
  );
  const want = (from: number, to: number): void => {
    pages.want(from, to).then(
      () => setFailure(undefined),
      (error: unknown) => error instanceof ApiFailure && setFailure(error),
    );
  };
  useEffect(() => {
    let isWanted = true;
    setFailure(undefined);
    pages.want(0, 0).then(
      () => isWanted && setLoaded(true),
      (error: unknown) => isWanted && error instanceof ApiFailure && setFailure(error),
    );
    return () => {
      isWanted = false;
      pages.close();
    };
  }, [pages]);
  return { pages, failure, isLoaded, want, retry: () => setAgain((count) => count + 1) };
}
