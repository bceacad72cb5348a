import type { Labels, Metrics, Counter } from "../../base/report/index.ts";

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
function createCallTimes(metrics: Metrics): (method: string, transport: string, code: string, seconds: number) => void {
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

/** Why a request or a connection was turned away before a handler saw it. */
const rejections = [
  "auth",
  "body",
  "connections",
  "flood",
  "headers",
  "host",
  "memory",
  "origin",
  "protocol",
  "requests",
  "role",
  "timeout",
  "tls",
  "watchers",
] as const;
export type Rejection = (typeof rejections)[number];

export interface ApiMetrics {
  /** Counts a request and the time from its header to the end of its answer. */
  answered(method: string, transport: string, code: string, seconds: number): void;
  readonly failures: Counter;
  readonly certificateFailures: Counter;
  reject(reason: Rejection): void;
}

export function createApiMetrics(metrics: Metrics): ApiMetrics {
  const rejected = metrics.counter(
    "netgloss_api_rejected_total",
    "Requests and connections turned away before a handler saw them, by reason.",
    { reason: rejections },
  );
  return {
    answered: createCallTimes(metrics),
    failures: metrics.counter("netgloss_api_failures_total", "Requests that failed by a fault of the collector."),
    certificateFailures: metrics.counter(
      "netgloss_api_certificate_failures_total",
      "TLS certificates that could not be re-read; the previous one stays in use.",
    ),
    reject: (reason) => rejected.add(1, { reason }),
  };
}
