// Builds the pages of web/ into dist/pages/, each file compressed: the API serves them so. Does nothing when they are up to date.
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const root = join(import.meta.dirname, "..");
const out = join(root, "dist/pages");
/** Written last: a build that was broken off is begun again. */
const index = join(out, "index.html.gz");

const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

const sources = [...filesIn(join(root, "web")), join(root, "package-lock.json"), import.meta.filename];
const newest = Math.max(...sources.map((file) => statSync(file).mtimeMs));
if (!existsSync(index) || statSync(index).mtimeMs < newest) {
  const { build } = await import("vite");
  await build({ configFile: join(root, "web/vite.config.js"), logLevel: "warn" });
  for (const file of filesIn(out).sort((a) => (a.endsWith("index.html") ? 1 : -1))) {
    writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
    rmSync(file);
  }
}
