import { Readable } from "node:stream";
import { createGzip } from "node:zlib";
import {
  type Call,
  headerOf,
  writeBytes,
  type HeaderFields,
  sendJson,
  sendTaggedJson,
  writeChunks,
} from "./http/call.ts";
import { lacks, type Area, type RouteAccess, type RouteReach } from "./access/role.ts";
import type { Clock, Health, Reporting } from "../base/report/index.ts";
import { quote } from "../base/text/index.ts";
import { methodAt, type ListView, type View } from "./methods/collector-methods.ts";
import {
  allowed,
  anyObject,
  binary,
  describe,
  failure,
  formatOf,
  formatParameter,
  hasId,
  idIn,
  idParameter,
  jsonResponse,
  page,
  pageId,
  parameter,
  refusals,
  type AnswerFormats,
  type Endpoint,
} from "./methods/endpoint.ts";
import { flag, list, openObject, text as textShape, type JsonSchema, type Shape } from "./methods/shape.ts";
import { apiError } from "./api-error.ts";
import { takesGzip } from "./rpc/protocol.ts";

/** A GET whose answer goes on until the client ends it: lines, or server-sent events on request. */
export interface StreamPage {
  readonly summary: string;
  /** The parameters of the query, with their meanings. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The content type of an answer that ends and is not JSON. By default, the answer is lines of JSON, or events. */
  readonly contentType?: string;
  /** The shape of a line. The default is any object. */
  readonly line?: Shape;
  /** Returns the id of a line, after which a stream can continue by the parameter `after` or the header `Last-Event-ID`. */
  readonly idOf?: (line: string) => string | undefined;
  /** Further forms of an answer in addition to lines and events. */
  readonly forms?: AnswerFormats;
  /** The reach. The default is the whole collector, which callers limited to scopes may not use. */
  readonly reach?: RouteReach;
  /**
   * Opens the stream.
   *
   * @param signal aborts when the client disconnects or the server stops.
   * @param form `lines`, `events`, or a name of `forms`.
   * @param scopes the metadata scopes to which the caller is limited; undefined means no limit.
   * @returns whole lines, also for events. The next lines are requested after the client has read the earlier ones.
   * @throws ConnectError to refuse.
   */
  open(
    query: URLSearchParams,
    signal: AbortSignal,
    form: string,
    scopes: readonly string[] | undefined,
  ): AsyncIterable<Uint8Array>;
}

const types = { lines: "application/x-ndjson", events: "text/event-stream" } as const;

const formsOf = ({ forms, contentType }: StreamPage): AnswerFormats =>
  contentType === undefined ? { ...types, ...forms } : { text: contentType };
const schemas: Readonly<Record<string, JsonSchema>> = { lines: anyObject, events: anyObject, text: { type: "string" } };

/** Answers with a stream. */
async function serveStream(call: Call, stream: StreamPage): Promise<void> {
  const forms = formsOf(stream);
  const form = stream.contentType === undefined ? formatOf(call, forms) : "text";
  const header = {
    "content-type": forms[form] as string,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  if (call.method === "HEAD") {
    call.answer(200, header, "");
    return;
  }
  const query = stream.idOf === undefined ? call.query : withLastEvent(call);
  const lines = stream.open(query, call.signal, form, call.principal?.scopes);
  call.isEndless = stream.contentType === undefined;
  call.begin(200, header, { hasTrailers: false });
  for await (const chunk of lines) {
    if (call.isGone()) return;
    await writeBytes(call, form === "events" ? toEvents(chunk, stream.idOf) : chunk);
  }
  call.end();
}

/** Returns the query of a call. A browser that continues a stream sends its position in a header. */
function withLastEvent(call: Call): URLSearchParams {
  const last = headerOf(call.headers, "last-event-id");
  if (last === undefined || call.query.has("after")) return call.query;
  const query = new URLSearchParams(call.query);
  query.set("after", last);
  return query;
}

/** Returns an event for each line, and a comment for an empty line. */
function toEvents(lines: Uint8Array, idOf?: StreamPage["idOf"]): Uint8Array {
  const text = Buffer.from(lines).toString("utf8").replace(/\n$/, "");
  const events = text.split("\n").map((line) => {
    const id = line === "" ? undefined : idOf?.(line);
    return line === "" ? ":\n\n" : `${id === undefined ? "" : `id: ${id}\n`}data: ${line}\n\n`;
  });
  return Buffer.from(events.join(""));
}

/** The most renderings that are kept for slow clients. */
const mostKept = 8;

interface PageParts extends Pick<Reporting, "health" | "metrics" | "clock"> {
  readonly openApi: () => unknown;
  /** True where callers must authenticate. */
  readonly isGuarded: boolean;
  /** True where /metrics needs authentication, too. */
  readonly authMetrics: boolean;
  /** The milliseconds for which rendered metrics are reused. */
  readonly metricsAge: number;
}

const fresh = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
/** The headers with which a browser caches the answer and revalidates it each time. */
const asked = { "cache-control": "private, no-cache", "x-content-type-options": "nosniff" };

/** Returns the rows of health, metrics and the document. */
export function pageEndpoints(parts: PageParts): readonly Endpoint[] {
  const { clock, metricsAge, isGuarded } = parts;
  const textType = "text/plain; version=0.0.4; charset=utf-8";
  const metricsHeader = { ...fresh, "content-type": textType };
  const metrics = new SharedPage(() => parts.metrics.pieces(), metricsHeader, metricsAge, clock);
  const documentHeader = { ...fresh, "content-type": "application/json" };
  const openApi = new SharedPage(() => [JSON.stringify(parts.openApi())], documentHeader, Infinity, clock);
  const metricsContent = { "text/plain": { schema: { type: "string" } } };
  return [
    page(
      "/livez",
      openToAll,
      (call) => sendJson(call, 200, { live: true }, fresh),
      describe("collector", "livez", "Whether the process runs", { "200": jsonResponse("It does.", anyObject) }),
    ),
    page(
      "/readyz",
      { ...openToAll, isPersonal: true },
      (call) => sendReadiness(call, parts.health, isGuarded),
      describe("collector", "readyz", "Whether the collector is ready, check by check", {
        "200": jsonResponse("Ready.", readiness.schema),
        "503": jsonResponse("Not ready.", readiness.schema),
      }),
    ),
    page(
      "/metrics",
      parts.authMetrics ? ofCollector : openToAll,
      (call) => metrics.serve(call),
      describe("collector", "metrics", "Metrics in the Prometheus text format", {
        "200": { description: "The metrics.", content: metricsContent },
      }),
    ),
    page(
      "/openapi.json",
      allowed("viewer", undefined, "nothing"),
      (call) => openApi.serve(call),
      describe("collector", "openapi", "This document", { "200": jsonResponse("OpenAPI 3.1.", anyObject) }),
    ),
  ];
}

const ofCollector = allowed("viewer", "collector");
const openToAll: RouteAccess = { role: undefined, area: "collector" };

const readiness = openObject({
  ready: flag(),
  degraded: flag("It is ready, but not all of it works: the checks say what."),
  checks: list(
    openObject({ name: textShape(), ready: flag(), degraded: flag(), detail: textShape() }, "degraded", "detail"),
  ),
});

async function sendReadiness(call: Call, health: Health, isGuarded: boolean): Promise<void> {
  const ready = health.isReady();
  // The faults may contain protected data: keys, hosts, answers of a store.
  const isTold = !isGuarded || (call.principal !== undefined && lacks(call.principal, ofCollector) === undefined);
  const checks = isTold
    ? health.checks()
    : health.checks().map((check) => ({ name: check.name, ready: check.ready, degraded: check.degraded }));
  return sendJson(call, ready ? 200 : 503, { ready, degraded: health.isDegraded(), checks }, fresh);
}

/** Returns the rows of views. A view outside the table of methods is any JSON in the document. */
export function viewEndpoints(views: ReadonlyMap<string, View | ListView>): readonly Endpoint[] {
  return Array.from(views, ([path, view]) => {
    const method = methodAt(path);
    const responses = {
      "200": jsonResponse("The state.", method?.answer.schema ?? {}),
      ...(hasId(path) && { "404": failure }),
    };
    const ofQuery = Object.entries(method?.parameters ?? {}).map(([name, text]) =>
      parameter(name, text, { type: "string" }),
    );
    const all = [...(hasId(path) ? [idParameter] : []), ...ofQuery];
    const parameters = all.length > 0 ? { parameters: all } : {};
    const summary = method?.summary ?? `The state at ${path}`;
    const described = describe("collector", pageId("view", path), summary, responses, parameters);
    const access = allowed(method?.role ?? "viewer", method?.area ?? areaAt(path), method?.reach);
    const serve = (call: Call): Promise<void> =>
      typeof view === "function" ? sendView(call, path, view, method?.parameters) : sendList(call, view);
    return page(path, access, serve, described);
  });
}

async function sendView(
  call: Call,
  path: string,
  view: View,
  parameters?: Readonly<Record<string, string>>,
): Promise<void> {
  // A misspelt parameter would be ignored and would select too much.
  const unknown = parameters && [...call.query.keys()].find((name) => !Object.hasOwn(parameters, name));
  if (unknown !== undefined) throw badParameter(unknown, `expected ${Object.keys(parameters ?? {}).join(", ")}`);
  const id = hasId(path) ? idIn(path, call.path) : "";
  const shown = id === undefined ? undefined : await view(id, call.query);
  if (shown !== undefined || !hasId(path)) return sendTaggedJson(call, shown, asked);
  throw apiError("not_found", "UNKNOWN_ID", `there is nothing at ${call.path.slice(0, 256)}`);
}

/** Returns the error for a query parameter. */
export function badParameter(name: string, expected: string): Error {
  const description = `the parameter ${quote(name.slice(0, 100))} of the query: ${expected}`;
  return apiError("invalid_argument", "BAD_PARAMETER", description, { violations: [{ field: name, description }] });
}

/** Returns the rows of streams. */
export function streamEndpoints(streams: ReadonlyMap<string, StreamPage>): readonly Endpoint[] {
  return Array.from(streams, ([path, stream]) => {
    const forms = formsOf(stream);
    const parameters = Object.entries(stream.parameters).map(([name, description]) =>
      parameter(name, description, { type: "string" }),
    );
    if (Object.keys(forms).length > 1) parameters.push(formatParameter(forms));
    const content = Object.fromEntries(
      Object.entries(forms).map(([form, type]) => [type, { schema: stream.line?.schema ?? schemas[form] ?? binary }]),
    );
    const responses = { "200": { description: "A line or a row for each.", content }, ...refusals };
    return page(
      path,
      allowed("viewer", areaAt(path), stream.reach),
      (call) => serveStream(call, stream),
      describe("collector", pageId("stream", path), stream.summary, responses, { parameters }),
    );
  });
}

function areaAt(path: string): Area {
  if (path.startsWith("/api/v1/flow/") || path.startsWith("/api/v1/watch/")) return "flow";
  if (path.startsWith("/api/v1/snmp/")) return "snmp";
  return path.startsWith("/api/v1/enrich/") ? "metadata" : "collector";
}

/** The elements of a chunk of a list. */
const elementsAtOnce = 100;

async function sendList(call: Call, view: ListView): Promise<void> {
  const chunks = listChunks(view);
  // Make the first chunk before the header, so that a fault of the view can still be the answer.
  const first = chunks.next();
  call.begin(200, { ...fresh, "content-type": "application/json" }, { hasTrailers: false });
  if (call.method !== "HEAD" && first.done !== true) {
    await writeChunks(call, [first.value]);
    await writeChunks(call, chunks);
  }
  call.end();
}

function* listChunks(view: ListView): Generator<Uint8Array> {
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

/** One rendering, as chunks. */
interface Rendering {
  readonly since: number;
  readonly plain: Promise<readonly Uint8Array[]>;
  compressed?: Promise<readonly Uint8Array[]>;
  /** The calls that have not read all of it. */
  readonly readers: Set<Call>;
}

/**
 * A page whose rendering is shared by all requests within some time. Nothing is rendered for a client that has disconnected,
 * or that requests only the header.
 */
class SharedPage {
  readonly #render: () => Texts;
  readonly #header: HeaderFields;
  readonly #maxAge: number;
  readonly #clock: Pick<Clock, "monotonic">;
  /** The renderings that are recent enough or have readers. The newest is the last. */
  #kept: readonly Rendering[] = [];

  /** @param maxAge the greatest age of a rendering in milliseconds. */
  constructor(render: () => Texts, header: HeaderFields, maxAge: number, clock: Pick<Clock, "monotonic">) {
    this.#render = render;
    this.#header = header;
    this.#maxAge = maxAge;
    this.#clock = clock;
  }

  /** Answers a GET or a HEAD. @throws the errors of rendering. */
  async serve(call: Call): Promise<void> {
    const vary = { ...this.#header, vary: "accept-encoding" };
    if (call.method === "HEAD") {
      // Leave out the length, because it would need a rendering.
      call.begin(200, vary, { hasTrailers: false });
      call.end();
      return;
    }
    const rendering = this.#current();
    rendering.readers.add(call);
    try {
      const isCompressed = takesGzip(headerOf(call.headers, "accept-encoding"));
      const chunks = await (isCompressed ? compressedOf(rendering) : rendering.plain);
      if (call.isGone()) return;
      const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
      const header = { ...vary, "content-length": String(length) };
      call.begin(200, isCompressed ? { ...header, "content-encoding": "gzip" } : header, { hasTrailers: false });
      await writeChunks(call, chunks);
      call.end();
    } finally {
      rendering.readers.delete(call);
    }
  }

  #current(): Rendering {
    const now = this.#clock.monotonic();
    const newest = this.#kept.at(-1);
    if (newest !== undefined && now - newest.since < this.#maxAge) return newest;
    const made: Rendering = { since: now, plain: encoded(this.#render()), readers: new Set() };
    // Only the present requests get the fault.
    made.plain.catch(() => {
      this.#kept = this.#kept.filter((one) => one !== made);
    });
    this.#kept = [...this.#kept.filter(({ readers }) => readers.size > 0), made];
    const oldest = this.#kept[0];
    if (this.#kept.length > mostKept) for (const reader of oldest?.readers ?? []) reader.breakOff();
    return made;
  }
}

type Texts = Iterable<string> | AsyncIterable<string>;

async function encoded(texts: Texts): Promise<readonly Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for await (const text of texts) chunks.push(Buffer.from(text));
  return chunks;
}

function compressedOf(rendering: Rendering): Promise<readonly Uint8Array[]> {
  rendering.compressed ??= rendering.plain.then((chunks) =>
    Readable.from(chunks, { objectMode: false })
      .pipe(createGzip({ level: 1 }))
      .toArray(),
  );
  return rendering.compressed;
}
