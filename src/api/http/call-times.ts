import type { Labels, Metrics } from "../../report/index.ts";

/** Upper bounds in seconds, ascending. */
const buckets = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];

const seconds = {
  name: "netgloss_api_request_seconds",
  type: "histogram",
  help: "Time from the header of a request to the end of its answer.",
  labelNames: ["method", "transport", "le"],
} as const;

/** All calls of one method by one transport. */
interface Way {
  readonly labels: Labels;
  readonly codes: Map<string, number>;
  /** One for each of `buckets`, not yet summed up, and one for what is slower. */
  readonly counts: number[];
  sum: number;
}

/**
 * The two metrics of every request: how many by outcome, and how long they took. Plain numbers, turned into series when
 * they are read: finding a series by its labels takes as long as a tenth of a call.
 *
 * @returns a function that counts one.
 */
export function createCallTimes(
  metrics: Metrics,
): (method: string, transport: string, code: string, seconds: number) => void {
  const ways = new Map<string, Map<string, Way>>();

  const wayOf = (method: string, transport: string): Way => {
    let transports = ways.get(method);
    if (transports === undefined) ways.set(method, (transports = new Map()));
    let way = transports.get(transport);
    if (way === undefined) {
      const counts = Array.from({ length: buckets.length + 1 }, () => 0);
      way = { labels: { method, transport }, codes: new Map(), counts, sum: 0 };
      transports.set(transport, way);
    }
    return way;
  };
  const all = (): Way[] => Array.from(ways.values(), (transports) => Array.from(transports.values())).flat();

  metrics.counterFrom(
    "netgloss_api_requests_total",
    "Requests answered, by method, transport and code.",
    ["method", "transport", "code"],
    () => all().flatMap(outcomesOf),
  );
  metrics.addSource(async () => [{ ...seconds, samples: all().flatMap(histogramOf) }]);

  return (method, transport, code, taken) => {
    const way = wayOf(method, transport);
    way.codes.set(code, (way.codes.get(code) ?? 0) + 1);
    let bucket = 0;
    while (taken > (buckets[bucket] ?? Infinity)) bucket++;
    way.counts[bucket] = (way.counts[bucket] as number) + 1;
    way.sum += taken;
  };
}

function outcomesOf({ labels, codes }: Way): (readonly [Labels, number])[] {
  return Array.from(codes, ([code, count]) => [Object.assign({ code }, labels), count]);
}

function histogramOf({ labels, counts, sum }: Way): (readonly [Labels, number, string])[] {
  let below = 0;
  const bounded = counts.map((count, i): readonly [Labels, number, string] => {
    below += count;
    return [Object.assign({ le: String(buckets[i] ?? "+Inf") }, labels), below, `${seconds.name}_bucket`];
  });
  return [...bounded, [labels, sum, `${seconds.name}_sum`], [labels, below, `${seconds.name}_count`]];
}
