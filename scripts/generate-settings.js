// Writes docs/reference/settings.md and docs/reference/netobserv-settings.md from the tables of settings. Builds first, for the table is TypeScript.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

process.chdir(join(import.meta.dirname, ".."));
const { status } = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc"], { stdio: "inherit" });
if (status !== 0) console.error("there are type errors; the settings are generated all the same");
const { netObservPage, settingsPage } = await import(pathToFileURL("dist/src/app/settings/index.js").href);
writeFileSync("docs/reference/settings.md", settingsPage());
writeFileSync("docs/reference/netobserv-settings.md", netObservPage());
