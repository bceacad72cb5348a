// Writes docs/reference/commands.md and the manual page docs/netgloss.1 from the table of commands. Builds first, for the table is TypeScript.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

process.chdir(join(import.meta.dirname, ".."));
const { status } = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc"], { stdio: "inherit" });
if (status !== 0) console.error("there are type errors; the commands are generated all the same");
const load = (name) => import(pathToFileURL(`dist/${name}`).href);
const { commandsPage, createProgram, manualPage } = await load("src/app/index.js");
const { createFakeTerminal } = await load("test/support/fake-terminal.js");
const program = await createProgram(createFakeTerminal([]), () => {});
writeFileSync("docs/netgloss.1", manualPage(program));
writeFileSync("docs/reference/commands.md", commandsPage(program));
