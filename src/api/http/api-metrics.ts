import type { Counter, Metrics } from "../../report/index.ts";
import { createCallTimes } from "./call-times.ts";

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
