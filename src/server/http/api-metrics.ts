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

export class ApiMetrics {
  readonly failures: Counter;
  readonly certificateFailures: Counter;
  readonly #rejected: Counter;
  /** Plain numbers, turned into series when they are read: finding a series by its labels takes as long as a tenth of a call. */
  readonly #ways = new Map<string, Map<string, Way>>();

  constructor(metrics: Metrics) {
    this.#rejected = metrics.counter(
      "netgloss_api_rejected_total",
      "Requests and connections turned away before a handler saw them, by reason.",
      { reason: rejections },
    );
    metrics.counterFrom(
      "netgloss_api_requests_total",
      "Requests answered, by method, transport and code.",
      ["method", "transport", "code"],
      () => this.#all().flatMap(outcomesOf),
    );
    metrics.addSource(async () => [{ ...seconds, samples: this.#all().flatMap(histogramOf) }]);
    this.failures = metrics.counter("netgloss_api_failures_total", "Requests that failed by a fault of the collector.");
    this.certificateFailures = metrics.counter(
      "netgloss_api_certificate_failures_total",
      "TLS certificates that could not be re-read; the previous one stays in use.",
    );
  }

  reject(reason: Rejection): void {
    this.#rejected.add(1, { reason });
  }

  /** Counts a request and the time from its header to the end of its answer, in seconds. */
  answered(method: string, transport: string, code: string, taken: number): void {
    const way = this.#wayOf(method, transport);
    way.codes.set(code, (way.codes.get(code) ?? 0) + 1);
    let bucket = 0;
    while (taken > (buckets[bucket] ?? Infinity)) bucket++;
    way.counts[bucket] = (way.counts[bucket] as number) + 1;
    way.sum += taken;
  }

  #wayOf(method: string, transport: string): Way {
    let transports = this.#ways.get(method);
    if (transports === undefined) this.#ways.set(method, (transports = new Map()));
    let way = transports.get(transport);
    if (way === undefined) {
      const counts = Array.from({ length: buckets.length + 1 }, () => 0);
      way = { labels: { method, transport }, codes: new Map(), counts, sum: 0 };
      transports.set(transport, way);
    }
    return way;
  }

  #all(): Way[] {
    return Array.from(this.#ways.values(), (transports) => Array.from(transports.values())).flat();
  }
}
