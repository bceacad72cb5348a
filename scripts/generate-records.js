// Writes the tables of docs/reference/records.md, and that of short names in docs/filters.md, from the table of fields. Builds first, for what makes them is TypeScript.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { checksumFile, writeChecksums } from "./checksums.js";

process.chdir(join(import.meta.dirname, ".."));
const { status } = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc"], { stdio: "inherit" });
if (status !== 0) console.error("there are type errors; the tables are generated all the same");
const built = (path) => import(pathToFileURL(join("dist", path)).href);
const { fieldsPage } = await built("scripts/records-page.js");
const { findElement } = await built("src/flow/elements/registry/registry.js");
const pages = ["docs/reference/records.md", "docs/filters.md"];
const elementName = (id) => findElement(0, id)?.name ?? "";
for (const page of pages) writeFileSync(page, fieldsPage(readFileSync(page, "utf8"), elementName));
writeChecksums(join("src/record/fields", `records-${checksumFile}`), pages);
