import type { Counter, Histogram, Metrics } from "../report/index.ts";

/** Why a request or a connection was turned away before a handler saw it. */
export type Rejection =
  | "auth"
  | "body"
  | "connections"
  | "flood"
  | "headers"
  | "host"
  | "memory"
  | "origin"
  | "protocol"
  | "timeout"
  | "tls"
  | "watchers";

export interface ApiMetrics {
  readonly requests: Counter;
  readonly seconds: Histogram;
  readonly failures: Counter;
  readonly certificateFailures: Counter;
  reject(reason: Rejection): void;
}

export function createApiMetrics(metrics: Metrics): ApiMetrics {
  const rejected = metrics.counter(
    "netgloss_api_rejected_total",
    "Requests and connections turned away before a handler saw them, by reason.",
    ["reason"],
  );
  return {
    requests: metrics.counter("netgloss_api_requests_total", "Requests answered, by method, transport and code.", [
      "method",
      "transport",
      "code",
    ]),
    seconds: metrics.histogram(
      "netgloss_api_request_seconds",
      "Time from the header of a request to the end of its answer.",
      [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10],
      ["method", "transport"],
    ),
    failures: metrics.counter("netgloss_api_failures_total", "Requests that failed by a fault of the collector."),
    certificateFailures: metrics.counter(
      "netgloss_api_certificate_failures_total",
      "TLS certificates that could not be re-read; the one before stays in use.",
    ),
    reject: (reason) => rejected.add(1, { reason }),
  };
}
