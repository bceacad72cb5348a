import { gunzipSync } from "node:zlib";
import type { Call } from "../http/call.ts";
import { headerOf } from "../http/http-message.ts";
import { sendBytes, sendJson } from "../http/send.ts";
import { readPageFiles } from "./page-files.ts";
import { pagePaths } from "./page-paths.ts";
import { pageHeader, servePageFile } from "./serve-page-file.ts";

export interface WebParts {
  /** Where the built pages are; undefined: there are none. */
  readonly folder: string | undefined;
  /** What programs get at `/`. */
  readonly index: () => unknown;
}

const htmlType = "text/html; charset=utf-8";

const notBuilt = `<!doctype html><html lang="en"><title>netgloss</title>
<p>The pages are not built: run <code>npm run build</code> and start again. The API works: see <a href="openapi.json">openapi.json</a>.`;

/** Below the pages: their document finds its files only beside it. */
const noPage = (up: string): string => `<!doctype html><html lang="en"><title>netgloss</title>
<h1>There is no such page</h1><p><a href="${up}">Go to the Overview</a>`;

export interface WebRoutes {
  /** What the pages consist of, by path: one document at each page's path, and its files. At `/` programs get a list of paths instead. */
  readonly routes: ReadonlyMap<string, (call: Call) => Promise<void>>;
  /** @returns what answers a browser at a path where nothing is: undefined for programs. */
  noPage(call: Call): ((call: Call) => Promise<void>) | undefined;
}

export function webRoutes({ folder, index }: WebParts): WebRoutes {
  const files = folder === undefined ? undefined : readPageFiles(folder);
  const document = files?.get("index.html");
  const plainDocument = document && gunzipSync(document.gzip);
  const serveDocument = (call: Call): Promise<void> => {
    if (document !== undefined) return servePageFile(call, document, false);
    const header = { ...pageHeader, "cache-control": "no-store", "content-type": htmlType };
    return sendBytes(call, 503, header, notBuilt);
  };
  const routes = new Map<string, (call: Call) => Promise<void>>();
  if (files !== undefined) {
    for (const path of pagePaths) routes.set(`/${path}`, serveDocument);
    for (const [path, file] of files) {
      if (path !== "index.html") routes.set(`/${path}`, (call) => servePageFile(call, file, true));
    }
  }
  routes.set("/", (call) => {
    if (files !== undefined && wantsHtml(headerOf(call.headers, "accept"))) return serveDocument(call);
    return sendJson(call, 200, index(), { "cache-control": "no-store", vary: "accept", ...pageHeader });
  });
  const serveNoPage = (call: Call): Promise<void> => {
    call.code = "not_found";
    const depth = call.path.split("/").length - 2;
    const body = (depth === 0 && plainDocument) || noPage("../".repeat(depth) || ".");
    return sendBytes(
      call,
      404,
      { ...pageHeader, "cache-control": "no-store", vary: "accept", "content-type": htmlType },
      body,
    );
  };
  return {
    routes,
    noPage({ method, headers }) {
      const isReading = method === "GET" || method === "HEAD";
      return files !== undefined && isReading && wantsHtml(headerOf(headers, "accept")) ? serveNoPage : undefined;
    },
  };
}

/** A browser names text/html; programs say nothing, or that they take anything. */
function wantsHtml(accept: string | undefined): boolean {
  return (accept ?? "").split(",").some((part) => part.split(";", 1)[0]?.trim().toLowerCase() === "text/html");
}
