// Runs before `npm pack` and `npm publish`: builds from nothing, so that no file of an earlier build is shipped, and writes the two files
// that only packages have: the exact versions that consumers install, and the licences of what is shipped.
import { rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { productionLock } from "./package-files/production-lock.js";
import { thirdPartyLicences } from "./package-files/third-party-licences.js";

process.chdir(join(import.meta.dirname, ".."));
for (const built of ["dist/src", "dist/program", "dist/pages", "dist/.tsbuildinfo"])
  rmSync(built, { recursive: true, force: true });
const { status } = spawnSync(process.execPath, ["scripts/prepare.js"], { stdio: "inherit" });
if (status !== 0) process.exit(status ?? 1);
const lock = productionLock("package-lock.json");
writeFileSync("npm-shrinkwrap.json", `${JSON.stringify(lock, null, 2)}\n`);
writeFileSync("THIRD-PARTY-LICENCES.txt", thirdPartyLicences(lock, "dist/pages/licences.json.gz"));
