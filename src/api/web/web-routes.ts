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

const notBuilt = `<!doctype html><html lang="en"><title>netgloss</title>
<p>The pages are not built: run <code>npm run build</code> and start again. The API works: see <a href="openapi.json">openapi.json</a>.`;

/** What the pages consist of, by path: one document at each page's path, and its files. At `/` programs get a list of paths instead. */
export function webRoutes({ folder, index }: WebParts): Map<string, (call: Call) => Promise<void>> {
  const files = folder === undefined ? undefined : readPageFiles(folder);
  const document = files?.get("index.html");
  const serveDocument = (call: Call): Promise<void> => {
    if (document !== undefined) return servePageFile(call, document, false);
    const header = { ...pageHeader, "cache-control": "no-store", "content-type": "text/html; charset=utf-8" };
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
  return routes;
}

/** A browser names text/html; programs say nothing, or that they take anything. */
function wantsHtml(accept: string | undefined): boolean {
  return (accept ?? "").split(",").some((part) => part.split(";", 1)[0]?.trim().toLowerCase() === "text/html");
}
