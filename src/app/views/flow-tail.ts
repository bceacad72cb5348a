import { setTimeout as pause } from "node:timers/promises";
import { apiError, type StreamPage } from "../../server/index.ts";
import { compileLineFilter, FilterError, parseFilter, recordVocabulary, type MatchesLine } from "../../record/index.ts";
import type { RecordTap, TapCounts } from "../../output/index.ts";
import type { Clock, Metrics } from "../../base/report/index.ts";

const maxListeners = 16;
const maxRate = 10_000;
const defaultRate = 100;
/** The time between two sends of what has come, and between two messages of the counts or two empty lines, milliseconds. */
const sendMs = 100;
const noteMs = 1_000;

/**
 * `GET /api/v1/flow/tail`: flows as they leave, one JSON object a line. `filter` is an expression, `rate` the most records a second (100), and
 * with `notes=true` each second has a line `{"tail": {seen, examined, matched, passed}}`.
 */
export function createFlowTail(tap: RecordTap, { metrics, clock }: { metrics: Metrics; clock: Clock }): StreamPage {
  const sent = metrics.counter("netgloss_flow_tail_records_total", "Records sent to those who watch flows.");
  sent.add(0);
  metrics.gaugeFrom("netgloss_flow_tail_listeners", "Clients that watch flows.", [], () => [[{}, tap.listeners]]);

  return {
    summary: "Flows as they leave, a part of them when they are many: one JSON object a line",
    parameters: {
      filter: "An expression over the fields of records.",
      rate: `The most records a second, up to ${maxRate}; ${defaultRate} when left out.`,
      notes: "true: each second has a line with counts.",
    },
    open(query, signal) {
      const matches = filterOf(query.get("filter") ?? "");
      const rate = rateOf(query.get("rate"));
      const hasNotes = query.get("notes") === "true";
      if (tap.listeners >= maxListeners) {
        throw apiError(
          "resource_exhausted",
          "TOO_MANY_WATCHERS",
          `no more than ${maxListeners} clients may watch flows`,
        );
      }
      return lines(tap, { matches, rate, hasNotes, clock, signal, sent: (records) => sent.add(records) });
    },
  };
}

interface TailParts {
  readonly matches: MatchesLine | undefined;
  readonly rate: number;
  readonly hasNotes: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly sent: (records: number) => void;
}

async function* lines(tap: RecordTap, parts: TailParts): AsyncGenerator<Uint8Array> {
  const { matches, rate, hasNotes, clock, signal, sent } = parts;
  const listener = tap.listen({ matches, maxRate: rate, clock });
  let noted = clock.monotonic();
  try {
    while (!signal.aborted) {
      const taken = listener.take();
      if (taken.length > 0) yield taken;
      if (clock.monotonic() - noted >= noteMs) {
        noted = clock.monotonic();
        const counts = listener.counts();
        sent(counts.passed);
        // An empty line finds out whether anybody is still there.
        yield Buffer.from(hasNotes ? note(counts) : "\n");
      }
      await pause(sendMs, undefined, { signal }).catch(() => {});
    }
  } finally {
    sent(listener.counts().passed);
    listener.close();
  }
}

function note(counts: TapCounts): string {
  return `${JSON.stringify({ tail: counts })}\n`;
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

function rateOf(text: string | null): number {
  const rate = text === null ? defaultRate : Number(text);
  if (Number.isInteger(rate) && rate >= 1 && rate <= maxRate) return rate;
  throw apiError("invalid_argument", "BAD_RATE", `rate must be a whole number from 1 to ${maxRate}`);
}
