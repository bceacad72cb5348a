import { readFileSync } from "node:fs";

/**
 * A package-lock.json without the packages and the entries that only development needs: what `npm-shrinkwrap.json` of a package says.
 * Consumers then install the versions that were tested, not those of the day.
 */
export function productionLock(path) {
  const lock = JSON.parse(readFileSync(path, "utf8"));
  const { devDependencies: _, ...root } = lock.packages[""];
  const packages = Object.entries(lock.packages).filter(([folder, one]) => folder !== "" && one.dev !== true);
  return { ...lock, packages: { "": root, ...Object.fromEntries(packages) } };
}
