// Writes the tables of docs/reference/records.md from the table of record fields. Builds first, for the table is TypeScript.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { checksumFile, writeChecksums } from "./checksums.js";

process.chdir(join(import.meta.dirname, ".."));
const { status } = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc"], { stdio: "inherit" });
if (status !== 0) console.error("there are type errors; the tables are generated all the same");
const built = (path) => import(pathToFileURL(join("dist/src", path)).href);
const { fieldsPage } = await built("record/index.js");
const { findElement } = await built("flow/elements/registry/registry.js");
const page = "docs/reference/records.md";
writeFileSync(
  page,
  fieldsPage(readFileSync(page, "utf8"), (id) => findElement(0, id)?.name ?? ""),
);
const folder = "src/record/fields";
const sources = readdirSync(folder).filter((name) => name.endsWith(".ts"));
writeChecksums(join(folder, checksumFile), [page, ...sources.map((name) => `${folder}/${name}`)]);
