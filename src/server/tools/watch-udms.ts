import { create, toBinary } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import { WatchUdmsResponseSchema, type WatchUdmsRequest } from "../gen/udm/v1/tools_pb.ts";
import { encode, type CodecName, type Encodable, type Encoded, isLong } from "../rpc/protocol.ts";
import { changeMessage, changeChunks, isLongChange, messageField } from "./list-changes.ts";
import { longMessage, entryChangeJson } from "./full-udm.ts";
import { readFilter, matcherOf } from "./search-udms.ts";
import { keyReaders, type UdmChange, type EntryChange, type KeyForm, type UdmHistory } from "../../metadata/index.ts";
import { headerOf, type Call, writeChunks } from "../http/call.ts";
import { badRequest } from "../udm/udm-service.ts";
import type { Filter } from "../../record/index.ts";
import { apiError } from "../api-error.ts";
import type { Counter, Metrics } from "../../base/report/index.ts";
import type { ApiMetrics } from "../http/call-log.ts";
import type { ApiLimits } from "../http/limits.ts";
import { turn } from "./tools-context.ts";

/** The encoded changes. Each is encoded once for all followers that get the whole change. */
const encodedChanges = new WeakMap<object, Map<CodecName, Encoded>>();

export async function* watchUdms(
  feed: ChangeFeed,
  { after, fromNow, filter: text, withoutLayers, epoch }: WatchUdmsRequest,
  keys: KeyForm,
  signal: AbortSignal,
): AsyncGenerator<Encodable> {
  const filter = readFilter(text, keyReaders[keys]);
  const follow = {
    after: fromNow ? undefined : after,
    epoch: fromNow ? "" : epoch,
    filter,
    filterText: text,
    withoutLayers,
    signal,
  };
  const changes = feed.follow(follow);
  for await (const followed of changes) yield watchAnswer(followed);
}

/** Returns the message of a followed change. */
export function watchAnswer({ change, last, epoch }: FollowedChange): Encodable {
  const make = (codec: CodecName): Encoded => {
    const message = create(WatchUdmsResponseSchema, {
      last,
      ...(change === undefined ? { epoch } : { change: changeMessage(change) }),
    });
    return encode(codec, WatchUdmsResponseSchema, message);
  };
  if (change === undefined) return { encode: make };
  const message = (codec: CodecName): Encoded =>
    isLongChange(change) ? longMessage(() => responseChunks(codec, change, last), true) : make(codec);
  return {
    encode(codec) {
      const known = encodedChanges.get(change) ?? new Map<CodecName, Encoded>();
      encodedChanges.set(change, known);
      const found = known.get(codec) ?? message(codec);
      known.set(codec, found);
      return found;
    },
  };
}

function* responseChunks(codec: CodecName, change: UdmChange, last: number): Generator<Buffer, void> {
  if (codec === "proto") {
    yield* messageField(WatchUdmsResponseSchema.field.change.number, changeChunks(codec, change));
    yield Buffer.from(toBinary(WatchUdmsResponseSchema, create(WatchUdmsResponseSchema, { last })));
    return;
  }
  yield Buffer.from('{"change":');
  yield* changeChunks(codec, change);
  yield Buffer.from(`,"last":${last}}`);
}

/** The milliseconds between keep-alive lines, so that no intermediary takes the connection for dead. */
const keepAliveMs = 15_000;

/**
 * Answers a GET with changes as server-sent events. The data of each event is an answer of WatchUdms, and its id the number of the change, from
 * which a browser continues by itself (`Last-Event-ID`). A failure ends the stream with an event `error`.
 */
export async function serveEvents(call: Call, feed: ChangeFeed): Promise<void> {
  const filterText = call.query.get("filter") ?? "";
  const filter = readFilter(filterText);
  const from = positionOf(headerOf(call.headers, "last-event-id") ?? call.query.get("after") ?? undefined);
  const header = {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  call.isEndless = true;
  call.code = "ok";
  const withoutLayers = readFlag(call.query.get("without_layers"));
  const changes = feed.follow({ ...from, filter, filterText, withoutLayers, signal: call.signal });
  // If the request is refused at once, the answer has the proper HTTP status.
  let next = await changes.next();
  call.begin(200, header, { hasTrailers: false });
  if (call.method === "HEAD") {
    await changes.return(undefined as never);
    return call.end();
  }
  let isWithinEvent = false;
  const keepAlive = (): void => void (isWithinEvent || call.isGone() || call.write(": nothing new\n\n"));
  const timer = setInterval(keepAlive, keepAliveMs);
  timer.unref();
  try {
    for (; ; next = await changes.next()) {
      const { change, last, epoch } = next.value;
      const head = `event: ${change === undefined ? "at" : "change"}\nid: ${epoch === "" ? "" : `${epoch}.`}${last}\ndata: `;
      const answer = watchAnswer(next.value).encode("json");
      if (isLong(answer)) {
        await answer.size(() => true);
        isWithinEvent = true;
        call.write(head);
        await writeChunks(call, answer.chunks());
        call.write("\n\n");
        isWithinEvent = false;
      } else if (!call.write(`${head}${answer.toString()}\n\n`)) await call.drained();
    }
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    call.code = codeToString(error.code);
    if (call.isGone()) return undefined;
    const body = JSON.stringify({ code: call.code, message: error.rawMessage });
    call.write(`event: error\ndata: ${body}\n\n`);
    call.end();
  } finally {
    clearInterval(timer);
    void changes.return(undefined as never).catch(() => {});
  }
  return undefined;
}

/** Reads a Boolean parameter. @throws ConnectError `invalid_argument` */
function readFlag(text: string | null): boolean {
  if (text === null || text === "false") return false;
  if (text === "true") return true;
  const description = `without_layers must be true or false, not ${JSON.stringify(text)}`;
  throw badRequest([{ field: "without_layers", description }]);
}

/** Reads the id of an event, or the number of a change; without one, the stream starts now. @throws ConnectError `invalid_argument` */
function positionOf(text: string | undefined): { readonly after: number | undefined; readonly epoch?: string } {
  if (text === undefined || text === "") return { after: undefined };
  const [, epoch = "", number] = /^(?:([0-9a-z]{1,64})\.)?(\d{1,10})$/.exec(text) ?? [];
  if (number !== undefined) return { after: Number(number), epoch };
  throw badRequest([
    { field: "after", description: `after must be the number of a change, not ${JSON.stringify(text)}` },
  ]);
}

/** The most of the last changes that all followers share, if they fit into the memory for them. Followers further behind read the history. */
const mostShared = 256;
/** The most entries of a shared change. Each follower reads larger changes from the history. */
const mostSharedEntries = 1000;
/** The changes that are read from the history at a time. Big changes are read one by one. */
const changesAtOnce = 50;
/** The entries that are filtered in one turn of the event loop. */
const entriesPerTurn = 1000;
/** The most changes that a follower may be behind. One that is further behind is ended. */
const mostBehind = 5000;

/** An item for a follower: a change, or the position after skipped changes. */
export interface FollowedChange {
  readonly change: UdmChange | undefined;
  readonly last: number;
  /** The {@link UdmHistory.epoch}. */
  readonly epoch: string;
}

interface FollowOptions {
  /** The number after which changes are sent; undefined starts after the present last change. */
  readonly after: number | undefined;
  /** The epoch of the number `after`; undefined or empty where it is not known. */
  readonly epoch?: string | undefined;
  readonly filter: Filter | undefined;
  /** The text of the filter. Followers with the same text share the result. */
  readonly filterText?: string;
  /** True leaves out changes of sources. */
  readonly withoutLayers?: boolean;
  readonly signal: AbortSignal;
}

/** The metrics of followers of changes, over all stores. */
export class FeedMeters {
  readonly ended: Counter;
  /** The feeds with followers. */
  readonly followed = new Set<ChangeFeed>();

  constructor(metrics: Metrics) {
    this.ended = metrics.counter(
      "netgloss_api_change_watchers_ended_total",
      "Clients that followed changes of the metadata and were ended, because they were too many changes behind, or because changes that clients have not taken fill the memory for them.",
      { reason: ["behind", "bytes"] },
    );
    metrics.gaugeFrom("netgloss_api_change_watchers", "Clients that follow changes of the metadata.", [], () =>
      this.followers(),
    );
    metrics.gaugeFrom(
      "netgloss_api_change_watchers_bytes",
      "Bytes of changes that are on their way to clients that follow them, about; one that several get is counted once.",
      [],
      () => [...this.followed].reduce((sum, { heldBytes }) => sum + heldBytes, 0),
    );
  }

  followers(): number {
    let sum = 0;
    for (const feed of this.followed) sum += feed.followers;
    return sum;
  }
}

/** A feed that distributes changes of one history to many followers. */
export class ChangeFeed {
  readonly #history: () => UdmHistory;
  readonly #limits: Pick<ApiLimits, "maxWatchers" | "maxWatchedBytes">;
  readonly #meters: FeedMeters;
  readonly #metrics: Pick<ApiMetrics, "reject">;
  readonly #held = new HeldChanges();
  readonly #narrowings = new WeakMap<UdmChange, Map<string, Promise<UdmChange | undefined>>>();
  /** The reads of the history in progress, by the position after which they read. */
  readonly #readings = new Map<string, Promise<readonly UdmChange[]>>();
  readonly #shared = new Map<number, UdmChange>();
  #sharedBytes = 0;
  readonly #waiting = new Set<() => void>();
  followers = 0;
  #isWatching = false;

  /** @param limits the most followers, and the most bytes of changes that all slow followers together may hold. */
  constructor(
    history: () => UdmHistory,
    limits: Pick<ApiLimits, "maxWatchers" | "maxWatchedBytes">,
    meters: FeedMeters,
    apiMetrics: Pick<ApiMetrics, "reject">,
  ) {
    this.#history = history;
    this.#limits = limits;
    this.#metrics = apiMetrics;
    this.#meters = meters;
  }

  /**
   * Yields the changes in order, on demand. The first item is the present position of the feed.
   *
   * @throws ConnectError `failed_precondition` for a follower that requests changes no longer kept, or is too slow;
   * `resource_exhausted` for too many followers, and for one that is behind while changes for other followers fill the memory;
   * `unavailable` when the store was stopped, for example because its scope was removed;
   * the reason of the signal.
   */
  async *follow(options: FollowOptions): AsyncGenerator<FollowedChange, never> {
    const { after, filter, filterText = "", withoutLayers = false, signal } = options;
    if (this.#meters.followers() >= this.#limits.maxWatchers) {
      this.#metrics.reject("watchers");
      const message = `no more than ${this.#limits.maxWatchers} clients may watch at a time`;
      throw apiError("resource_exhausted", "TOO_MANY_WATCHERS", message);
    }
    this.followers++;
    this.#meters.followed.add(this);
    try {
      this.#watch();
      /** The most changes to read. A big change is read alone, because several may not fit into memory. */
      let most = 1;
      let position = after ?? this.#history().last();
      const epoch = this.#history().epoch();
      if (options.epoch !== undefined && options.epoch !== "" && options.epoch !== epoch) throw numberedAnew();
      let hasCaughtUp = false;
      requireKept(position, this.#history());
      yield { change: undefined, last: position, epoch };
      for (;;) {
        signal.throwIfAborted();
        if (this.#history().closed?.aborted === true) throw storeStopped();
        if (position >= this.#history().last()) {
          hasCaughtUp = true;
          await this.#changeBehind(signal);
          continue;
        }
        if (this.#history().epoch() !== epoch) throw numberedAnew();
        if (hasCaughtUp && this.#history().last() - position > mostBehind) {
          this.#meters.ended.add(1, { reason: "behind" });
          throw tooSlow(this.#history().last() - position);
        }
        requireKept(position, this.#history());
        const changes = await this.#next(position, most);
        // Damaged lines of the history leave a gap.
        if (changes.length === 0) position = Math.min(position + most, this.#history().last());
        const isBig = changes.some(({ entries }) => entries > mostSharedEntries);
        most = isBig ? 1 : Math.min(2 * most, changesAtOnce);
        for (const change of changes) {
          // Stop when the follower has disconnected.
          signal.throwIfAborted();
          const before = position;
          position = change.number;
          if (withoutLayers && change.layer !== undefined) continue;
          const seen = filter === undefined ? change : await this.#narrow(change, filter, filterText);
          if (seen === undefined) continue;
          // The newest change goes to everybody. Followers that are behind must not fill the memory with older changes.
          // A change that alone exceeds the limit is sent while no other change is held.
          if (
            this.#held.bytes > 0 &&
            this.#held.bytes + this.#held.cost(seen) > this.#limits.maxWatchedBytes &&
            !this.#held.has(seen) &&
            (filter !== undefined || position < this.#history().last())
          ) {
            this.#meters.ended.add(1, { reason: "bytes" });
            throw memoryFull(before, this.#held.bytes);
          }
          this.#held.take(seen);
          try {
            yield { change: seen, last: position, epoch };
          } finally {
            this.#held.release(seen);
          }
        }
      }
    } finally {
      if (--this.followers === 0) this.#meters.followed.delete(this);
    }
  }

  /** Returns the approximate bytes of changes that followers have not received completely. */
  get heldBytes(): number {
    return this.#held.bytes;
  }

  #watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.#history().watch((change) => {
      if (change.entries <= mostSharedEntries) {
        this.#shared.set(change.number, change);
        this.#sharedBytes += this.#held.cost(change);
      }
      for (const [number, old] of this.#shared) {
        if (number > change.number - mostShared && this.#sharedBytes <= this.#limits.maxWatchedBytes) break;
        this.#shared.delete(number);
        this.#sharedBytes -= this.#held.cost(old);
      }
      this.#wakeAll();
    });
    this.#history().closed?.addEventListener("abort", () => this.#wakeAll());
  }

  #wakeAll(): void {
    const awake = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of awake) wake();
  }

  #changeBehind(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const wake = (): void => {
        signal.removeEventListener("abort", end);
        resolve();
      };
      const end = (): void => {
        this.#waiting.delete(wake);
        reject(signal.reason as Error);
      };
      if (signal.aborted) return end();
      signal.addEventListener("abort", end);
      this.#waiting.add(wake);
      return undefined;
    });
  }

  /** Reads the next changes after a position. Concurrent callers share one read. */
  #next(position: number, most: number): Promise<readonly UdmChange[]> {
    const near = this.#shared.get(position + 1);
    if (near !== undefined) return Promise.resolve([near]);
    const question = `${position} ${most}`;
    const asked = this.#readings.get(question);
    if (asked !== undefined) return asked;
    const before = Math.min(position + 1 + most, this.#history().last() + 1);
    const reading = this.#history()
      .list({ after: position, before, limit: most })
      .then((found) => found.toReversed())
      .finally(() => this.#readings.delete(question));
    this.#readings.set(question, reading);
    return reading;
  }

  #narrow(change: UdmChange, filter: Filter, text: string): Promise<UdmChange | undefined> {
    const known = this.#narrowings.get(change) ?? new Map<string, Promise<UdmChange | undefined>>();
    this.#narrowings.set(change, known);
    const found = known.get(text) ?? narrowed(change, matcherOf(filter, ""));
    if (text !== "") known.set(text, found);
    return found;
  }
}

/** The entries of a change that are measured. The others count as equally long. */
const measuredEntries = 100;

/** The changes that are being sent to followers. Each counts once, for any number of followers. */
class HeldChanges {
  readonly #counts = new Map<UdmChange, number>();
  readonly #costs = new WeakMap<UdmChange, number>();
  bytes = 0;

  has(change: UdmChange): boolean {
    return this.#counts.has(change);
  }

  take(change: UdmChange): void {
    const count = this.#counts.get(change) ?? 0;
    this.#counts.set(change, count + 1);
    if (count === 0) this.bytes += this.cost(change);
  }

  release(change: UdmChange): void {
    const count = this.#counts.get(change) ?? 0;
    if (count > 1) this.#counts.set(change, count - 1);
    else if (this.#counts.delete(change)) this.bytes -= this.cost(change);
  }

  /** Returns the approximate bytes of a change as a message. */
  cost(change: UdmChange): number {
    const known = this.#costs.get(change);
    if (known !== undefined) return known;
    const { changes } = change;
    const some = changes.slice(0, measuredEntries);
    const texts = some.reduce((sum, entry) => sum + entryChangeJson(entry).length, 0);
    const cost = 256 + Math.ceil((texts * changes.length) / Math.max(1, some.length));
    this.#costs.set(change, cost);
    return cost;
  }
}

/** Returns the change with only the entries that match before or after it; undefined where none does. */
async function narrowed(change: UdmChange, isMatch: ReturnType<typeof matcherOf>): Promise<UdmChange | undefined> {
  // A change without its entries may have had matching ones.
  if (change.isCut) return change;
  const changes: EntryChange[] = [];
  for (const [i, entry] of change.changes.entries()) {
    if (i % entriesPerTurn === entriesPerTurn - 1) await turn();
    const { before, after } = entry;
    if ([before, after].some((side) => side !== undefined && isMatch(side, change.layer))) changes.push(entry);
  }
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

function numberedAnew(): Error {
  const message = "the numbers of changes began again since the client was here: list the entries again";
  return apiError("failed_precondition", "LIST_AGAIN", message);
}

function tooSlow(behind: number): Error {
  return apiError("failed_precondition", "TOO_SLOW", `the client is ${behind} changes behind: list the entries again`);
}

function storeStopped(): Error {
  return apiError("unavailable", "STORE_STOPPED", "the entries that were watched are gone, or in another file now");
}

function memoryFull(position: number, bytes: number): Error {
  const message = `changes that clients have not taken fill ${bytes} bytes: watch again after change ${position}`;
  return apiError("resource_exhausted", "WATCHERS_BEHIND", message, { metadata: { after: String(position) } });
}
