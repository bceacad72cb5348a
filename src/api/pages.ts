import { lacks } from "../access/index.ts";
import type { Health, Metrics } from "../report/index.ts";
import type { Call } from "./http/call.ts";
import { sendJson, writePieces } from "./http/send.ts";
import { apiError } from "./error/api-error.ts";

/**
 * A read-only view: what it returns, or promises, is answered as JSON. A path whose last segment, or the one before it, is `{id}` takes
 * any one segment there, which is handed to the view; undefined is answered as not found.
 */
export type View = (id: string) => unknown;

/** A view with a list that may be long: its elements are made while it is sent. */
export interface ListView {
  /** Fields that stand before the list. */
  head(): Readonly<Record<string, unknown>>;
  /** The list's field. */
  readonly name: string;
  elements(): Iterable<unknown>;
}

/** What the OpenAPI document says of a view. */
export interface ViewDescription {
  readonly summary: string;
  /** JSON Schema of the answer. */
  readonly schema: Readonly<Record<string, unknown>>;
}

const idSegment = "/{id}";

/** The paths of views that take a segment of this path as their id: the last one, or the one before it. */
export function viewsWithId(path: string): readonly [string, string] {
  const last = path.lastIndexOf("/");
  const before = path.lastIndexOf("/", last - 1);
  return [path.slice(0, last) + idSegment, path.slice(0, Math.max(0, before)) + idSegment + path.slice(last)];
}

/** The id in a path that has `{id}` in this place; undefined when its escapes are broken. */
export function idIn(template: string, path: string): string | undefined {
  return decodeSegment(path.split("/").at(template.endsWith(idSegment) ? -1 : -2) ?? "");
}

export interface PageParts {
  readonly health: Health;
  readonly metrics: Metrics;
  readonly openApi: () => unknown;
  /** Whether those who ask have to prove who they are. */
  readonly isGuarded: boolean;
  readonly views: ReadonlyMap<string, View | ListView>;
}

/** What a GET answers, by path. */
export function createPages(parts: PageParts): Map<string, (call: Call) => Promise<void>> {
  const fresh = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
  const pages = new Map<string, (call: Call) => Promise<void>>();
  const json = (path: string, view: View): void => {
    pages.set(path, async (call) => sendJson(call, 200, await view(""), fresh));
  };

  json("/livez", () => ({ live: true }));
  pages.set("/readyz", async (call) => {
    const { health } = parts;
    const ready = health.isReady();
    // What is wrong may name what only some may see: keys, hosts, what a store has answered.
    const isTold =
      !parts.isGuarded || (call.principal !== undefined && lacks(call.principal, "viewer", "collector") === undefined);
    const checks = isTold
      ? health.checks()
      : health.checks().map((check) => ({ name: check.name, ready: check.ready, degraded: check.degraded }));
    return sendJson(call, ready ? 200 : 503, { ready, degraded: health.isDegraded(), checks }, fresh);
  });
  pages.set("/metrics", async (call) => {
    const headers = { ...fresh, "content-type": "text/plain; version=0.0.4; charset=utf-8" };
    const pieces = parts.metrics.pieces()[Symbol.asyncIterator]();
    // Once it is there, a fault of the metrics can still be answered as one.
    const first = await pieces.next();
    call.begin(200, headers, { hasTrailers: false });
    if (call.method !== "HEAD") await writePieces(call, encoded(first, pieces));
    call.end();
  });
  json("/openapi.json", parts.openApi);
  for (const [path, view] of parts.views) {
    if (typeof view !== "function") {
      pages.set(path, (call) => sendList(call, view, fresh));
      continue;
    }
    const isLast = path.endsWith(idSegment);
    if (!isLast && !path.includes(`${idSegment}/`)) {
      json(path, view);
      continue;
    }
    pages.set(path, async (call) => {
      const id = idIn(path, call.path);
      const shown = id === undefined ? undefined : await view(id);
      if (shown !== undefined) return sendJson(call, 200, shown, fresh);
      throw apiError("not_found", "UNKNOWN_ID", `there is nothing at ${call.path.slice(0, 256)}`);
    });
  }
  return pages;
}

/** Elements of a list are made in pieces of this many. */
const elementsAtOnce = 100;

async function sendList(call: Call, view: ListView, headers: Readonly<Record<string, string>>): Promise<void> {
  const pieces = listPieces(view);
  // Once it is there, a fault of the view can still be answered as one.
  const first = pieces.next();
  call.begin(200, { ...headers, "content-type": "application/json" }, { hasTrailers: false });
  if (call.method !== "HEAD" && first.done !== true) {
    await writePieces(call, [first.value]);
    await writePieces(call, pieces);
  }
  call.end();
}

function* listPieces(view: ListView): Generator<Uint8Array> {
  const fields = JSON.stringify(view.head()).slice(1, -1);
  let text = `{${fields}${fields === "" ? "" : ","}${JSON.stringify(view.name)}:[`;
  let count = 0;
  for (const element of view.elements()) {
    text += `${count === 0 ? "" : ","}${JSON.stringify(element)}`;
    if (++count % elementsAtOnce !== 0) continue;
    yield Buffer.from(text);
    text = "";
  }
  yield Buffer.from(`${text}]}`);
}

async function* encoded(first: IteratorResult<string>, rest: AsyncIterator<string>): AsyncGenerator<Uint8Array> {
  for (let piece = first; piece.done !== true; piece = await rest.next()) yield Buffer.from(piece.value);
}

/** @returns undefined when the escapes are broken. */
function decodeSegment(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
