import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Health } from "../../base/report/index.ts";
import { quote } from "../../base/text/index.ts";
import { apiError } from "../api-error.ts";
import {
  HealthCheckResponse_ServingStatus as Status,
  HealthCheckResponseSchema,
  Health as schema,
  type HealthCheckResponse,
} from "../gen/grpc/health/v1/health_pb.ts";
import { serverStream, unary, type RpcService } from "../rpc/method.ts";

/** How often a watched state is looked at, milliseconds. */
const interval = 500;

/**
 * grpc.health.v1.Health: every service is SERVING when the collector is ready.
 *
 * @param services fully qualified names; the empty name, which stands for the whole server, is always known.
 */
export function healthMethods(
  health: Health,
  services: ReadonlySet<string>,
  maxWatchers: number,
  onTooManyWatchers: () => void,
): RpcService {
  let watchers = 0;

  const isKnown = (name: string): boolean => name === "" || services.has(name);
  const state = (): Status => (health.isReady() ? Status.SERVING : Status.NOT_SERVING);
  const response = (status: Status): HealthCheckResponse => create(HealthCheckResponseSchema, { status });

  async function* watch(service: string, signal: AbortSignal): AsyncGenerator<HealthCheckResponse> {
    if (watchers >= maxWatchers) {
      onTooManyWatchers();
      const message = `no more than ${maxWatchers} clients may watch at a time`;
      throw apiError("resource_exhausted", "TOO_MANY_WATCHERS", message);
    }
    watchers++;
    try {
      let last: Status | undefined;
      while (!signal.aborted) {
        const status = isKnown(service) ? state() : Status.SERVICE_UNKNOWN;
        if (status !== last) yield response(status);
        last = status;
        await pause(interval, signal);
      }
      const reason: unknown = signal.reason;
      throw reason instanceof ConnectError ? reason : new ConnectError("the watch has ended", Code.Canceled);
    } finally {
      watchers--;
    }
  }

  return {
    schema,
    area: undefined,
    methods: [
      unary(schema.method.check, "viewer", ({ service }) => {
        if (isKnown(service)) return response(state());
        throw apiError("not_found", "UNKNOWN_SERVICE", `there is no service ${quote(service)}`);
      }),
      serverStream(schema.method.watch, "viewer", ({ service }, { signal }) => watch(service, signal)),
    ],
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
