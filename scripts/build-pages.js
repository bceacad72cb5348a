// Builds the pages of web/ into dist/pages/, each file compressed: the API serves them so. Does nothing when they are up to date.
// web/ is a package of its own; its packages are installed first where they are missing or older than its lock.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const root = join(import.meta.dirname, "..");
const web = join(root, "web");
const out = join(root, "dist/pages");
/** Written last: a build that was broken off is begun again. */
const index = join(out, "index.html.gz");

const changedAt = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

const alone = ["index.html", "package-lock.json", "tsconfig.json", "vite.config.js"].map((name) => join(web, name));
const sources = [...filesIn(join(web, "src")), ...alone, import.meta.filename];
const newest = Math.max(...sources.map(changedAt));
// npm writes the first of these files at the end of an installation.
if (changedAt(join(web, "node_modules/.package-lock.json")) < changedAt(join(web, "package-lock.json")))
  installPackages();
if (changedAt(index) < newest) {
  const vite = createRequire(join(web, "package.json")).resolve("vite");
  const { build } = await import(pathToFileURL(vite).href);
  await build({ configFile: join(web, "vite.config.js"), logLevel: "warn" });
  for (const file of filesIn(out).sort((a) => (a.endsWith("index.html") ? 1 : -1))) {
    writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
    rmSync(file);
  }
}

function installPackages() {
  // An outer npm hands on its settings; those of `npm pack --dry-run` or `npm install --global` are not meant for this.
  const args = "ci --include=dev --global=false --dry-run=false --no-audit --no-fund --loglevel=error".split(" ");
  const options = { cwd: web, stdio: ["ignore", "ignore", "inherit"] };
  const npm = process.env.npm_execpath;
  const { status } =
    npm === undefined
      ? spawnSync("npm", args, { ...options, shell: process.platform === "win32" })
      : spawnSync(process.execPath, [npm, ...args], options);
  if (status === 0) return;
  console.error("netgloss: the packages of the pages are not installed: `npm ci` in web/ failed.");
  process.exit(1);
}
