import type { Health, Metrics } from "../report/index.ts";
import type { Call } from "./http/call.ts";
import { sendBytes, sendJson } from "./http/send.ts";

/** A read-only view: what it returns is answered as JSON. */
export type View = () => unknown;

export interface PageParts {
  readonly health: Health;
  readonly metrics: Metrics;
  readonly openApi: () => unknown;
  readonly views: ReadonlyMap<string, View>;
}

/** What a GET answers, by path. */
export function createPages(parts: PageParts): ReadonlyMap<string, (call: Call) => Promise<void>> {
  const fresh = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
  const pages = new Map<string, (call: Call) => Promise<void>>();
  const json = (path: string, view: View): void => {
    pages.set(path, async (call) => sendJson(call, 200, view(), fresh));
  };

  json("/livez", () => ({ live: true }));
  pages.set("/readyz", async (call) => {
    const ready = parts.health.isReady();
    return sendJson(call, ready ? 200 : 503, { ready, checks: parts.health.checks() }, fresh);
  });
  pages.set("/metrics", async (call) => {
    const text = await parts.metrics.render();
    return sendBytes(call, 200, { ...fresh, "content-type": "text/plain; version=0.0.4; charset=utf-8" }, text);
  });
  json("/openapi.json", parts.openApi);
  for (const [path, view] of parts.views) json(path, view);
  return pages;
}
