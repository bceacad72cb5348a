import { setTimeout as pause } from "node:timers/promises";
import { apiError, type StreamPage } from "../../server/index.ts";
import {
  ArrowStream,
  arrowStreamType,
  columnOf,
  compileLineFilter,
  FilterError,
  LimitedLines,
  parseFilter,
  recordVocabulary,
  type Column,
  type MatchesLine,
} from "../../record/index.ts";
import { exploreColumns } from "../../explore/index.ts";
import type { RecordTap, TapCounts } from "../../output/index.ts";
import type { Clock, Metrics } from "../../base/report/index.ts";
import { quote } from "../../base/text/index.ts";

const maxListeners = 16;
/** The number of listeners from which callers limited to scopes are refused: they must not block the operator. */
const maxWithLimited = 12;
const maxRate = 10_000;
const defaultRate = 100;
const maxRecords = 1_000_000_000;
const maxFields = 200;
/** The interval between sends of new lines, and the one between counts or empty lines, milliseconds. */
const tailMs = 100;
const noteMs = 1_000;
/** The number of notes without a record after which an empty batch of Arrow detects a client that has gone. */
const silentNotes = 5;
/** The column for all fields without a column. */
const restName = "rest";

interface TailParts {
  readonly matches: MatchesLine | undefined;
  readonly limit: LimitedLines | undefined;
  readonly maxRate: number;
  readonly maxRecords: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly sent: (records: number) => void;
}

/** The new lines since the last look. */
interface Look {
  readonly lines: Uint8Array;
  /** The counts, once a second. */
  readonly counts: TapCounts | undefined;
}

/** Serves `GET /api/v1/flow/tail`: flows as they leave, as lines, events or batches of Arrow; `parameters` describes the options. */
export function flowTail(tap: RecordTap, { metrics, clock }: { metrics: Metrics; clock: Clock }): StreamPage {
  const sent = metrics.counter("netgloss_flow_tail_records_total", "Records sent to those who watch flows.");
  sent.add(0);
  metrics.gaugeFrom("netgloss_flow_tail_listeners", "Clients that watch flows.", [], () => [[{}, tap.listeners]]);

  return {
    summary: "Flows as they leave, a part of them when they are many: one JSON object a line, or a row of Arrow",
    parameters: {
      filter: "An expression over the fields of records.",
      rate: `The most records a second, up to ${maxRate}; ${defaultRate} when left out.`,
      limit: "The stream ends after so many records.",
      notes: "true: each second has a line with counts; with format=arrow a batch whose metadata has them as `tail`.",
      fields: `With format=arrow: the fields that have columns, with commas between them; ${restName} is a column of all others as JSON. Left out: the fields that Explore keeps, and ${restName}.`,
    },
    forms: { arrow: arrowStreamType },
    reach: "own",
    open(query, signal, form, scopes) {
      const matches = filterOf(query.get("filter") ?? "");
      const rate = wholeOf(query, "rate", maxRate) ?? defaultRate;
      const limit = wholeOf(query, "limit", maxRecords) ?? Number.POSITIVE_INFINITY;
      const hasNotes = query.get("notes") === "true";
      const [columns, hasRest] = columnsOf(query.get("fields"), form);
      const most = scopes === undefined ? maxListeners : maxWithLimited;
      if (tap.listeners >= most) {
        const message = `no more than ${most} clients may watch flows`;
        throw apiError("resource_exhausted", "TOO_MANY_WATCHERS", message);
      }
      const looks = lookAt(tap, {
        matches,
        limit: scopes && new LimitedLines(scopes),
        maxRate: rate,
        maxRecords: limit,
        clock,
        signal,
        sent: (records) => sent.add(records),
      });
      return form === "arrow"
        ? asArrow(looks, new ArrowStream(columns, { hasRest }), hasNotes)
        : asLines(looks, hasNotes);
    },
  };
}

async function* lookAt(tap: RecordTap, parts: TailParts): AsyncGenerator<Look, void, undefined> {
  const { clock, signal, sent } = parts;
  const listener = tap.listen(parts);
  let noted = clock.monotonic();
  try {
    for (let isOver = false; !isOver && !signal.aborted;) {
      isOver = listener.isOver();
      const lines = listener.take();
      const isNoted = isOver || clock.monotonic() - noted >= noteMs;
      const counts = isNoted ? listener.counts() : undefined;
      if (counts !== undefined) {
        noted = clock.monotonic();
        sent(counts.passed);
      }
      if (lines.length > 0 || isNoted) yield { lines, counts };
      if (!isOver) await pause(tailMs, undefined, { signal }).catch(() => {});
    }
  } finally {
    sent(listener.counts().passed);
    listener.close();
  }
}

async function* asLines(looks: AsyncIterable<Look>, hasNotes: boolean): AsyncGenerator<Uint8Array> {
  for await (const { lines, counts } of looks) {
    if (lines.length > 0) yield lines;
    // An empty line detects a client that has gone.
    if (counts !== undefined) yield Buffer.from(hasNotes ? `${JSON.stringify({ tail: counts })}\n` : "\n");
  }
}

/** Yields batches when they are full, and once a second with the lines so far. */
async function* asArrow(
  looks: AsyncGenerator<Look, void, undefined>,
  stream: ArrowStream,
  hasNotes: boolean,
): AsyncGenerator<Uint8Array> {
  // Start to listen now.
  const first = looks.next();
  try {
    yield stream.begin();
    let silent = 0;
    for (let look = await first; look.done !== true; look = await looks.next()) {
      const { lines, counts } = look.value;
      yield* stream.take(lines);
      if (counts === undefined) continue;
      silent = stream.rows > 0 || hasNotes ? 0 : silent + 1;
      if (silent % silentNotes === 0) yield stream.flush(hasNotes ? { tail: JSON.stringify(counts) } : {});
    }
    if (stream.rows > 0) yield stream.flush();
    yield stream.end();
  } finally {
    await looks.return();
  }
}

function filterOf(text: string): MatchesLine | undefined {
  if (text.trim() === "") return undefined;
  try {
    return compileLineFilter(parseFilter(text, "filter", recordVocabulary));
  } catch (error) {
    if (error instanceof FilterError) throw apiError("invalid_argument", "BAD_FILTER", error.message);
    throw error;
  }
}

function wholeOf(query: URLSearchParams, name: "rate" | "limit", most: number): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw apiError("invalid_argument", `BAD_${name.toUpperCase()}`, `${name} must be a whole number from 1 to ${most}`);
}

/** @returns the columns of a stream, and whether it has one for the rest. */
function columnsOf(text: string | null, form: string): readonly [readonly Column[], boolean] {
  if (text === null) return [exploreColumns([]), true];
  const refused = (message: string): never => {
    throw apiError("invalid_argument", "BAD_FIELDS", message);
  };
  if (form !== "arrow") return refused("fields are columns, which only format=arrow has");
  const names = [...new Set(text.split(",").map((name) => name.trim()))];
  if (names.length > maxFields) return refused(`fields has at most ${maxFields} names`);
  const columns = names
    .filter((name) => name !== restName)
    .map((name) => columnOf(name) ?? refused(`records have no field ${quote(name)}`));
  return [columns, names.includes(restName)];
}
