// Builds the pages of web/ into dist/pages/, each file compressed: the API serves them so. Does nothing when they are up to date.
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const root = join(import.meta.dirname, "..");
const web = join(root, "web");
const out = join(root, "dist/pages");
/** Written last: a build that was broken off is begun again. */
const index = join(out, "index.html.gz");

const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

const alone = ["index.html", "package-lock.json", "tsconfig.json", "vite.config.js"].map((name) => join(web, name));
const sources = [...filesIn(join(web, "src")), ...alone, import.meta.filename];
const newest = Math.max(...sources.map((file) => statSync(file).mtimeMs));
if (!existsSync(index) || statSync(index).mtimeMs < newest) {
  const vite = createRequire(join(web, "package.json")).resolve("vite");
  const { build } = await import(pathToFileURL(vite).href);
  await build({ configFile: join(web, "vite.config.js"), logLevel: "warn" });
  for (const file of filesIn(out).sort((a) => (a.endsWith("index.html") ? 1 : -1))) {
    writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
    rmSync(file);
  }
}
