import { existsSync, readdirSync, readFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { extname, join, relative, sep } from "node:path";
import { type Call, hasTag, headerOf, sendBytes, sendJson, tagOf } from "./http/call.ts";
import { anybody, anyObject, describe, jsonResponse, page, type Endpoint } from "./methods/endpoint.ts";
import { takesGzip } from "./rpc/protocol.ts";

/** A file of the pages, compressed by the build. */
interface PageFile {
  readonly gzip: Uint8Array;
  /** Returns the uncompressed content, which is unpacked on first use. */
  readonly plain: () => Uint8Array;
  readonly type: string;
  /** The entity tag. It is weak, because it is the same for the compressed and the plain file. */
  readonly etag: string;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/**
 * Reads the files of the pages by their path below the folder: `index.html`, `assets/…`. It reads all at once, so that the files in memory belong
 * together even when the package is replaced. A requested name is only looked up here and never becomes a path.
 *
 * @returns an empty map where the pages have not been built.
 */
function readPageFiles(folder: string): ReadonlyMap<string, PageFile> {
  if (!existsSync(folder)) return new Map();
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".gz"))
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    files.map((file) => {
      const path = relative(folder, file).split(sep).join("/").slice(0, -".gz".length);
      const gzip = readFileSync(file);
      const etag = tagOf(gzip);
      let unpacked: Uint8Array | undefined;
      const plain = (): Uint8Array => (unpacked ??= gunzipSync(gzip));
      return [path, { gzip, plain, etag, type: types[extname(path)] ?? "application/octet-stream" }];
    }),
  );
}

/** The Content-Security-Policy: only files of this server, nothing inline, and no frame of another site. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const pageHeader = {
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
} as const;

/** The cache header of files with a hash of their content in their name. */
const keptForGood = "public, max-age=31536000, immutable";
const askedAgain = "no-cache";

/**
 * Answers with a file of the pages: compressed where the client accepts it, 304 where the client has it already.
 *
 * @param isHashed true where its name changes with its content.
 */
function servePageFile(call: Call, { gzip, plain, type, etag }: PageFile, isHashed: boolean): Promise<void> {
  const header = {
    ...pageHeader,
    etag,
    "cache-control": isHashed ? keptForGood : askedAgain,
    vary: isHashed ? "accept-encoding" : "accept, accept-encoding",
  };
  call.code = "ok";
  if (hasTag(call, etag)) {
    call.answer(304, header, "");
    return Promise.resolve();
  }
  const isCompressed = takesGzip(headerOf(call.headers, "accept-encoding"));
  const body = isCompressed ? gzip : plain();
  return sendBytes(
    call,
    200,
    { ...header, "content-type": type, ...(isCompressed && { "content-encoding": "gzip" }) },
    body,
  );
}

/** The paths of pages below `/`. The pages have their own table in `web/src/navigation/page-paths.ts`, and a test keeps both equal. */
export const pagePaths: readonly string[] = [
  "",
  "alerts",
  "explore",
  "boards",
  "explain",
  "metadata",
  "live",
  "exporters",
  "devices",
  "map",
  "outputs",
  "settings",
];

/** The pages of one thing, whose path continues after a slash. The pages have the same list in the same file. */
export const deepPaths: readonly string[] = ["address", "value"];
/** The most segments after such a page: `/value/prefix/10.0.0.0/8` has three. A tag may also contain slashes. */
export const deepest = 6;

const htmlType = "text/html; charset=utf-8";

const notBuilt = `<!doctype html><html lang="en"><title>netgloss</title>
<p>The pages are not built: run <code>npm run build</code> and start again. The API works: see <a href="openapi.json">openapi.json</a>.`;

/** Returns the answer for an unknown path below the pages. The document of the pages cannot be used, because its files are beside it. */
const noPage = (up: string): string => `<!doctype html><html lang="en"><title>netgloss</title>
<h1>There is no such page</h1><p><a href="${up}">Go to the Overview</a>`;

const described = describe("collector", "index", "For programs a list of paths, for browsers the pages", {
  "200": jsonResponse("The list.", anyObject),
});
// The pages have no data, so everybody may load them, also to sign in.
const row = (path: string, serve: Endpoint["serve"]): Endpoint => page(path, anybody, serve, undefined, "pages");

/** The pages: one document at the path of each page, and its files. At `/`, programs get a list of paths instead. */
export class WebPages {
  readonly endpoints: readonly Endpoint[];
  /** The row of `/`. */
  readonly index: Endpoint;
  readonly #files: ReadonlyMap<string, PageFile> | undefined;
  readonly #document: PageFile | undefined;
  /** The document by the number of further segments in the path. */
  readonly #deeper = new Map<number, PageFile>();

  /**
   * @param folder the folder of the built pages; undefined where there are none.
   * @param index returns the answer to programs at `/`.
   */
  constructor(folder: string | undefined, index: () => unknown) {
    this.#files = folder === undefined ? undefined : readPageFiles(folder);
    this.#document = this.#files?.get("index.html");
    const serveDocument = (call: Call): Promise<void> => this.#serveDocument(call);
    const paths = this.#files === undefined ? [] : pagePaths.filter((path) => path !== "");
    const files = [...(this.#files ?? [])].filter(([path]) => path !== "index.html");
    this.endpoints = [
      ...paths.map((path) => row(`/${path}`, serveDocument)),
      ...files.map(([path, file]) => row(`/${path}`, (call) => servePageFile(call, file, true))),
    ];
    const serveIndex = (call: Call): Promise<void> => {
      if (this.#files !== undefined && wantsHtml(headerOf(call.headers, "accept"))) return serveDocument(call);
      return sendJson(call, 200, index(), { "cache-control": "no-store", vary: "accept", ...pageHeader });
    };
    this.index = { ...row("/", serveIndex), described };
  }

  /** Returns the endpoint of a path without a row: a page of one thing, or the missing-page answer for browsers; undefined for programs. */
  other({ method, headers, path }: Call): Endpoint | undefined {
    const [, first = "", thing = "", ...more] = path.split("/");
    if (this.#files !== undefined && deepPaths.includes(first) && thing !== "" && more.length < deepest)
      return row("", (call) => this.#serveDocument(call, 1 + more.length));
    const isReading = method === "GET" || method === "HEAD";
    if (this.#files === undefined || !isReading || !wantsHtml(headerOf(headers, "accept"))) return undefined;
    return row("", (call) => this.#serveNoPage(call));
  }

  /** Serves the document. @param depth the number of segments after the first. The document finds its files that many levels above. */
  #serveDocument(call: Call, depth = 0): Promise<void> {
    if (this.#document !== undefined) return servePageFile(call, this.#documentAt(this.#document, depth), false);
    const header = { ...pageHeader, "cache-control": "no-store", "content-type": htmlType };
    return sendBytes(call, 503, header, notBuilt);
  }

  #documentAt(document: PageFile, depth: number): PageFile {
    if (depth === 0) return document;
    const known = this.#deeper.get(depth);
    if (known !== undefined) return known;
    const text = Buffer.from(document.plain())
      .toString("utf8")
      .replaceAll('"./', `"${"../".repeat(depth)}`);
    const plain = Buffer.from(text);
    const etag = document.etag.replace(/"$/, `-${depth}"`);
    const made = { ...document, gzip: gzipSync(plain), plain: () => plain, etag };
    this.#deeper.set(depth, made);
    return made;
  }

  #serveNoPage(call: Call): Promise<void> {
    call.code = "not_found";
    const depth = call.path.split("/").length - 2;
    const body = (depth === 0 && this.#document?.plain()) || noPage("../".repeat(depth) || ".");
    const header = { ...pageHeader, "cache-control": "no-store", vary: "accept", "content-type": htmlType };
    return sendBytes(call, 404, header, body);
  }
}

/** Reports whether a client wants HTML. A browser names text/html; programs send no `Accept` header, or accept anything. */
function wantsHtml(accept: string | undefined): boolean {
  return (accept ?? "").split(",").some((part) => part.split(";", 1)[0]?.trim().toLowerCase() === "text/html");
}
