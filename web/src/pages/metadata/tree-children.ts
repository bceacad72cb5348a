import { callApi } from "../../api/call.ts";
import { searchCall, type SearchAnswer } from "../../api/entries.ts";
import type { Entry } from "../../api/entry.ts";
import { holds, restBehind, spanOf, type KeySpan } from "../../format/addresses.ts";

/** Children that are listed of one prefix before somebody asks for more. */
const mostChildren = 100;
const pageSize = 100;

export interface TreeChildren {
  readonly entries: readonly Entry[];
  /** Where the next ones are, as a key; undefined: these are all. */
  readonly rest: string | undefined;
}

/**
 * The entries right below a prefix: those that lie in it and in no other entry of it. What a child holds is jumped over, so that a prefix with a
 * million addresses costs a question for each child.
 *
 * @param within where to look: the prefix, or the `rest` of an earlier answer.
 * @param own key of the prefix, which is not a child of itself; "" for the root.
 * @throws ApiFailure
 */
export async function readChildren(within: string, own: string, signal: AbortSignal): Promise<TreeChildren> {
  const outer = spanOf(within);
  if (outer === undefined) return { entries: [], rest: undefined };
  const entries: Entry[] = [];
  let last: KeySpan | undefined;
  let place: string | undefined = within;
  while (place !== undefined && entries.length < mostChildren) {
    const { udms = [], nextPageToken = "" }: SearchAnswer = await callApi<SearchAnswer>(
      searchCall({ filter: `key in ${place}`, pageSize }),
      { signal },
    );
    for (const entry of udms) {
      const span = spanOf(entry.key);
      if (span === undefined || entry.key === own || (last !== undefined && holds(last, span))) continue;
      if (entries.length === mostChildren) return { entries, rest: last && restBehind(last, outer) };
      entries.push(entry);
      last = span;
    }
    // The page ended within the last child, or behind it: go on behind that child.
    place = nextPageToken === "" || last === undefined ? undefined : restBehind(last, outer);
  }
  return { entries, rest: place };
}
