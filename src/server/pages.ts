import { Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { type Call, headerOf, writeBytes, type HeaderFields, sendJson, writePieces } from "./http/call.ts";
import { lacks } from "./access/role.ts";
import type { Clock, Health, Metrics } from "../base/report/index.ts";
import type { ListView, View } from "./methods/collector-methods.ts";
import { apiError } from "./api-error.ts";
import { takesGzip } from "./rpc/protocol.ts";

/** A GET whose answer goes on until the client has enough: lines, or server-sent events for who asks for them. */
export interface StreamPage extends StreamDescription {
  /** Of an answer that has an end and is no JSON; else it is lines of JSON, or events. */
  readonly contentType?: string;
  /**
   * @param signal is aborted when the client has gone, or the server stops.
   * @returns whole lines; the next are asked for when the client has taken those before.
   * @throws ConnectError to refuse.
   */
  open(query: URLSearchParams, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

const types = { lines: "application/x-ndjson", events: "text/event-stream" } as const;

/** Answers with a stream. */
export async function serveStream(call: Call, page: StreamPage): Promise<void> {
  const isEvents = headerOf(call.headers, "accept")?.includes(types.events) === true && page.contentType === undefined;
  const header = {
    "content-type": page.contentType ?? (isEvents ? types.events : types.lines),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  if (call.method === "HEAD") {
    call.answer(200, header, "");
    return;
  }
  const lines = page.open(call.query, call.signal);
  call.isEndless = page.contentType === undefined;
  call.begin(200, header, { hasTrailers: false });
  for await (const piece of lines) {
    if (call.isGone()) return;
    await writeBytes(call, isEvents ? toEvents(piece) : piece);
  }
  call.end();
}

/** An event for each line, a comment for an empty one. */
function toEvents(lines: Uint8Array): Uint8Array {
  const text = Buffer.from(lines).toString("utf8").replace(/\n$/, "");
  const events = text.split("\n").map((line) => (line === "" ? ":\n\n" : `data: ${line}\n\n`));
  return Buffer.from(events.join(""));
}

/** What the document says of a page whose answer goes on. */
export interface StreamDescription {
  readonly summary: string;
  /** What may stand in the query, with what it means. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Renderings that are kept for clients that take them slowly. */
const mostKept = 8;
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

interface PageParts {
  readonly health: Health;
  readonly metrics: Metrics;
  readonly openApi: () => unknown;
  /** Whether those who ask have to prove who they are. */
  readonly isGuarded: boolean;
  readonly views: ReadonlyMap<string, View | ListView>;
  readonly clock: Pick<Clock, "monotonic">;
  /** How old the metrics that are shown may be, milliseconds. */
  readonly metricsAge: number;
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
  const metrics = new SharedPage(
    () => parts.metrics.pieces(),
    { ...fresh, "content-type": "text/plain; version=0.0.4; charset=utf-8" },
    parts.metricsAge,
    parts.clock,
  );
  pages.set("/metrics", (call) => metrics.serve(call));
  const openApi = new SharedPage(
    () => [JSON.stringify(parts.openApi())],
    { ...fresh, "content-type": "application/json" },
    Infinity,
    parts.clock,
  );
  pages.set("/openapi.json", (call) => openApi.serve(call));
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

/** @returns undefined when the escapes are broken. */
function decodeSegment(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** What was rendered at one time, in pieces. */
interface Rendering {
  readonly since: number;
  readonly plain: Promise<readonly Uint8Array[]>;
  compressed?: Promise<readonly Uint8Array[]>;
  /** Those who have not taken all of it. */
  readonly readers: Set<Call>;
}

/**
 * A page that all who ask within a while get the same rendering of, however many they are. Nothing is rendered for a client that has gone,
 * or asks for the header alone.
 */
class SharedPage {
  readonly #render: () => Texts;
  readonly #header: HeaderFields;
  readonly #maxAge: number;
  readonly #clock: Pick<Clock, "monotonic">;
  /** Those that are new enough, or have readers; the newest is the last. */
  #kept: readonly Rendering[] = [];

  /** @param maxAge how old a rendering may be, milliseconds. */
  constructor(render: () => Texts, header: HeaderFields, maxAge: number, clock: Pick<Clock, "monotonic">) {
    this.#render = render;
    this.#header = header;
    this.#maxAge = maxAge;
    this.#clock = clock;
  }

  /** Answers a GET or a HEAD. @throws what rendering throws. */
  async serve(call: Call): Promise<void> {
    const vary = { ...this.#header, vary: "accept-encoding" };
    if (call.method === "HEAD") {
      // Without a length: it would have to be rendered for that.
      call.begin(200, vary, { hasTrailers: false });
      call.end();
      return;
    }
    const rendering = this.#current();
    rendering.readers.add(call);
    try {
      const isCompressed = takesGzip(headerOf(call.headers, "accept-encoding"));
      const pieces = await (isCompressed ? compressedOf(rendering) : rendering.plain);
      if (call.isGone()) return;
      const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
      const header = { ...vary, "content-length": String(length) };
      call.begin(200, isCompressed ? { ...header, "content-encoding": "gzip" } : header, { hasTrailers: false });
      await writePieces(call, pieces);
      call.end();
    } finally {
      rendering.readers.delete(call);
    }
  }

  #current(): Rendering {
    const now = this.#clock.monotonic();
    const newest = this.#kept.at(-1);
    if (newest !== undefined && now - newest.since < this.#maxAge) return newest;
    const fresh: Rendering = { since: now, plain: encoded(this.#render()), readers: new Set() };
    // A fault is for those who ask now.
    fresh.plain.catch(() => {
      this.#kept = this.#kept.filter((one) => one !== fresh);
    });
    this.#kept = [...this.#kept.filter(({ readers }) => readers.size > 0), fresh];
    const oldest = this.#kept[0];
    if (this.#kept.length > mostKept) for (const reader of oldest?.readers ?? []) reader.breakOff();
    return fresh;
  }
}

type Texts = Iterable<string> | AsyncIterable<string>;

async function encoded(texts: Texts): Promise<readonly Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for await (const text of texts) pieces.push(Buffer.from(text));
  return pieces;
}

function compressedOf(rendering: Rendering): Promise<readonly Uint8Array[]> {
  rendering.compressed ??= rendering.plain.then((pieces) =>
    Readable.from(pieces, { objectMode: false })
      .pipe(createGzip({ level: 1 }))
      .toArray(),
  );
  return rendering.compressed;
}
