import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import type { Health } from "../../report/index.ts";
import {
  HealthCheckResponse_ServingStatus as Status,
  HealthCheckResponseSchema,
  type Health as HealthDesc,
  type HealthCheckRequest,
  type HealthCheckResponse,
} from "../gen/grpc/health/v1/health_pb.ts";
import { apiError } from "./api-error.ts";
import { quote } from "../../text/index.ts";

export interface HealthServiceOptions {
  readonly health: Health;
  /** Fully qualified names; the empty name, which stands for the whole server, is always known. */
  readonly services: ReadonlySet<string>;
  readonly maxWatchers: number;
  readonly onTooManyWatchers: () => void;
  /** How often a watched state is looked at, milliseconds. */
  readonly interval?: number;
}

/** grpc.health.v1.Health: every service is SERVING when the collector is ready. */
export function createHealthService(options: HealthServiceOptions): ServiceImpl<typeof HealthDesc> {
  const { health, services, maxWatchers, interval = 500 } = options;
  let watchers = 0;

  const isKnown = (name: string): boolean => name === "" || services.has(name);
  const state = (): Status => (health.isReady() ? Status.SERVING : Status.NOT_SERVING);
  const response = (status: Status): HealthCheckResponse => create(HealthCheckResponseSchema, { status });

  return {
    check({ service }: HealthCheckRequest) {
      if (!isKnown(service)) {
        throw apiError("not_found", "UNKNOWN_SERVICE", `there is no service ${quote(service)}`);
      }
      return response(state());
    },

    async *watch({ service }: HealthCheckRequest, context: HandlerContext) {
      if (watchers >= maxWatchers) {
        options.onTooManyWatchers();
        throw apiError(
          "resource_exhausted",
          "TOO_MANY_WATCHERS",
          `no more than ${maxWatchers} clients may watch at a time`,
        );
      }
      watchers++;
      try {
        let last: Status | undefined;
        while (!context.signal.aborted) {
          const status = isKnown(service) ? state() : Status.SERVICE_UNKNOWN;
          if (status !== last) yield response(status);
          last = status;
          await pause(interval, context.signal);
        }
        const reason: unknown = context.signal.reason;
        throw reason instanceof ConnectError ? reason : new ConnectError("the watch has ended", Code.Canceled);
      } finally {
        watchers--;
      }
    },
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    timer.unref();
    signal.addEventListener("abort", done);
  });
}
