// Writes docs/reference/file-formats.md from the shapes of the files. Builds first, for they are TypeScript.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

process.chdir(join(import.meta.dirname, ".."));
const { status } = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc"], { stdio: "inherit" });
if (status !== 0) console.error("there are type errors; the formats are generated all the same");
const { fileFormatsPage } = await import(pathToFileURL("dist/src/app/index.js").href);
writeFileSync("docs/reference/file-formats.md", fileFormatsPage());
