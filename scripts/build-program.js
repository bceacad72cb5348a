// Joins the compiled modules of dist/src/ into the files that bin/netgloss.js runs, in dist/program/: a start, and the start of each
// thread, spends most of its time on opening and linking modules one by one. Packages stay outside. The definitions lie beside them, compiled:
// reading their YAML takes several times as long. Does nothing when it is up to date.
import { hash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";

const root = join(import.meta.dirname, "..");
const source = join(root, "dist/src");
const out = join(root, "dist/program");

/**
 * Each thread is an entry: `new URL("./decode-thread.js", import.meta.url)` finds it here as it does in dist/src/. Each entry is joined
 * alone: in one run, the bundler may put what two entries share into the file of one of them, and importing it would start that thread.
 */
const entries = {
  "receive-thread": "app/threads/receive-thread.js",
  "decode-thread": "app/threads/decode-thread.js",
  "output-thread": "app/threads/output-thread.js",
  "explore-thread": "app/threads/explore-thread.js",
  "watch-thread": "app/threads/watch-thread.js",
  "udm-file-thread": "app/threads/udm-file-thread.js",
  "select-process": "app/select-process.js",
  // Written last: a build that was broken off is begun again.
  main: "app/main.js",
};
const last = join(out, "main.js");

const modules = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".js"));
const files = [...modules.map((path) => join(source, path)), import.meta.filename, join(root, "package-lock.json")];
const newest = Math.max(...files.filter((file) => existsSync(file)).map((file) => statSync(file).mtimeMs));
if (!existsSync(last) || statSync(last).mtimeMs < newest) {
  const { rolldown } = await import("rolldown");
  const joined = [];
  for (const [name, path] of Object.entries(entries)) {
    const build = await rolldown({
      input: { [name]: join(source, path) },
      cwd: root,
      platform: "node",
      external: (id) => !id.startsWith(".") && !isAbsolute(id),
      // A door passes on what its room offers; what nobody takes of it is left out.
      treeshake: { moduleSideEffects: false },
    });
    const chunkFileNames = name === "main" ? "[name].js" : `${name}.[name].js`;
    const { output } = await build.generate({ format: "esm", entryFileNames: "[name].js", chunkFileNames });
    await build.close();
    joined.push(...output);
  }
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const isLast = ({ fileName }) => fileName === "main.js";
  for (const { fileName, code } of joined.toSorted((a, b) => isLast(a) - isLast(b))) {
    writeFileSync(join(out, fileName), code, { flag: "wx" });
  }
}

const { compileDefinitionFile, definitionPathsIn, listDefinitionFiles } = await import(join(source, "snmp/index.js"));
const compiled = join(out, "definitions.compiled");
const { files: definitions } = await listDefinitionFiles(definitionPathsIn(join(root, "definitions")));
const newestDefinition = Math.max(
  ...[last, ...definitions.map(({ path }) => path)].map((file) => statSync(file).mtimeMs),
);
if (!existsSync(compiled) || statSync(compiled).mtimeMs < newestDefinition) {
  const lines = definitions.map(({ kind, path }) => {
    const bytes = readFileSync(path);
    return compileDefinitionFile(kind, bytes, hash("sha256", bytes, "hex")) ?? "";
  });
  writeFileSync(compiled, lines.join(""));
}
