// Writes the types of what the collector answers for the pages. Builds first, for the table of methods is TypeScript.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

process.chdir(join(import.meta.dirname, ".."));
const { status } = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc"], { stdio: "inherit" });
if (status !== 0) console.error("there are type errors; the types of answers are generated all the same");
const { answerTypes } = await import(pathToFileURL("dist/scripts/answer-types.js").href);
const file = "web/src/api/answers.gen.ts";
writeFileSync(file, answerTypes());
spawnSync(process.execPath, ["node_modules/oxfmt/bin/oxfmt", file], { stdio: "inherit" });
