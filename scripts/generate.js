// Runs every scripts/generate-*.js: each writes committed files from a source in this repository.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { spawnSync } from "node:child_process";

const generators = readdirSync(import.meta.dirname)
  .filter((name) => /^generate-.*\.js$/.test(name))
  .toSorted();

for (const name of generators) {
  console.log(`scripts/${name}`);
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, name)], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
