import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { extname, join, relative, sep } from "node:path";

/** A file of the pages, compressed as the build left it. */
export interface PageFile {
  readonly gzip: Uint8Array;
  /** The same as it was, unpacked when it is first asked for. */
  readonly plain: () => Uint8Array;
  readonly type: string;
  /** A weak one: it is the same for the file compressed and plain. */
  readonly etag: string;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/**
 * The files of the pages by their path below the folder: `index.html`, `assets/…`. All are read at once, so that those in memory belong together
 * when the package is replaced; what is asked for is looked up here and never becomes a path.
 *
 * @returns nothing where the pages have not been built.
 */
export function readPageFiles(folder: string): ReadonlyMap<string, PageFile> {
  if (!existsSync(folder)) return new Map();
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".gz"))
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    files.map((file) => {
      const path = relative(folder, file).split(sep).join("/").slice(0, -".gz".length);
      const gzip = readFileSync(file);
      const etag = `W/"${createHash("sha256").update(gzip).digest("base64url").slice(0, 22)}"`;
      let unpacked: Uint8Array | undefined;
      const plain = (): Uint8Array => (unpacked ??= gunzipSync(gzip));
      return [path, { gzip, plain, etag, type: types[extname(path)] ?? "application/octet-stream" }];
    }),
  );
}
