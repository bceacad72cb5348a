// Removes what scripts/prepack.js wrote for the package alone: npm would read npm-shrinkwrap.json before package-lock.json.
import { rmSync } from "node:fs";
import { join } from "node:path";

for (const name of ["npm-shrinkwrap.json", "THIRD-PARTY-LICENCES.txt"]) {
  rmSync(join(import.meta.dirname, "..", name), { force: true });
}
