import type { Filter } from "../../../filter/index.ts";
import type { UdmChange, UdmHistory } from "../../../udm/index.ts";
import { apiError } from "../../error/api-error.ts";
import { matcherOf } from "../search/search-udms.ts";

/** Changes that all who follow share, the last ones; those further behind read them from the history. */
const mostShared = 256;
/** A change of more entries is read from the history by each. */
const mostSharedEntries = 1000;
/** Changes read from the history at a time. */
const changesAtOnce = 50;
/** Who has followed and is further behind is ended. */
const mostBehind = 5000;

/** What somebody who follows gets: a change, or how far all is that was passed over. */
export interface FollowedChange {
  readonly change: UdmChange | undefined;
  readonly last: number;
}

export interface FollowOptions {
  /** Changes with higher numbers; undefined: those behind the last one of now. */
  readonly after: number | undefined;
  readonly filter: Filter | undefined;
  /** Leaves out what sources change. */
  readonly withoutLayers?: boolean;
  readonly signal: AbortSignal;
}

/** Hands changes of one history to many. */
export interface ChangeFeed {
  /**
   * The changes in order, each when it is asked for. It begins with how far the feed is.
   *
   * @throws ConnectError `failed_precondition` for one who asks for what is not kept any more, or is too slow;
   * `resource_exhausted` for one too many; the reason of the signal.
   */
  follow(options: FollowOptions): AsyncGenerator<FollowedChange, never>;
  readonly followers: number;
}

/** @param onTooMany called when there are `maxFollowers` already. */
export function createChangeFeed(history: () => UdmHistory, maxFollowers: number, onTooMany: () => void): ChangeFeed {
  const shared = new Map<number, UdmChange>();
  const waiting = new Set<() => void>();
  let followers = 0;
  let isWatching = false;

  const watch = (): void => {
    if (isWatching) return;
    isWatching = true;
    history().watch((change) => {
      if (change.entries <= mostSharedEntries) shared.set(change.number, change);
      shared.delete(change.number - mostShared);
      const awake = [...waiting];
      waiting.clear();
      for (const wake of awake) wake();
    });
  };

  const changeBehind = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const wake = (): void => {
        signal.removeEventListener("abort", end);
        resolve();
      };
      const end = (): void => {
        waiting.delete(wake);
        reject(signal.reason as Error);
      };
      if (signal.aborted) return end();
      signal.addEventListener("abort", end);
      waiting.add(wake);
      return undefined;
    });

  /** The next changes behind a position. */
  const next = async (position: number): Promise<readonly UdmChange[]> => {
    const near = shared.get(position + 1);
    if (near !== undefined) return [near];
    const found = await history().list({
      after: position,
      before: Math.min(position + 1 + changesAtOnce, history().last() + 1),
      limit: changesAtOnce,
    });
    return found.toReversed();
  };

  async function* follow(options: FollowOptions): AsyncGenerator<FollowedChange, never> {
    const { after, filter, withoutLayers = false, signal } = options;
    if (followers >= maxFollowers) {
      onTooMany();
      const message = `no more than ${maxFollowers} clients may watch at a time`;
      throw apiError("resource_exhausted", "TOO_MANY_WATCHERS", message);
    }
    followers++;
    try {
      watch();
      const isMatch = filter && matcherOf(filter, "");
      let position = after ?? history().last();
      let hasCaughtUp = false;
      requireKept(position, history());
      yield { change: undefined, last: position };
      for (;;) {
        if (position >= history().last()) {
          hasCaughtUp = true;
          await changeBehind(signal);
          continue;
        }
        if (hasCaughtUp && history().last() - position > mostBehind) throw tooSlow(history().last() - position);
        requireKept(position, history());
        const changes = await next(position);
        // A gap: lines of the history were damaged.
        if (changes.length === 0) position = Math.min(position + changesAtOnce, history().last());
        for (const change of changes) {
          position = change.number;
          if (withoutLayers && change.layer !== undefined) continue;
          const seen = isMatch === undefined ? change : narrowed(change, isMatch);
          if (seen !== undefined) yield { change: seen, last: position };
        }
      }
    } finally {
      followers--;
    }
  }

  return {
    follow,
    get followers() {
      return followers;
    },
  };
}

/** The change with the entries that matched, before or after; undefined when none did. */
function narrowed(change: UdmChange, isMatch: ReturnType<typeof matcherOf>): UdmChange | undefined {
  // Nobody knows what one without its entries was about.
  if (change.isCut) return change;
  const changes = change.changes.filter(({ before, after }) =>
    [before, after].some((entry) => entry !== undefined && isMatch(entry, change.layer)),
  );
  return changes.length === 0 ? undefined : { ...change, entries: changes.length, changes };
}

function requireKept(position: number, history: UdmHistory): void {
  if (position + 1 >= history.first() && position <= history.last()) return;
  const message =
    position > history.last()
      ? `there is no change ${position} yet: the last one is ${history.last()}; list the entries again`
      : `changes after ${position} are not kept any more: the oldest is ${history.first()}; list the entries again`;
  throw apiError("failed_precondition", "LIST_AGAIN", message);
}

function tooSlow(behind: number): Error {
  return apiError("failed_precondition", "TOO_SLOW", `the client is ${behind} changes behind: list the entries again`);
}
