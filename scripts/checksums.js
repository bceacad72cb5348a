// Lists of checksums that tie committed generated files to their sources, in the format of `sha256sum`.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

/** The name of such a list; scripts/check-generated.js verifies every one it finds under src/. */
export const checksumFile = "generated.sha256";

/**
 * Writes the checksums of sources and outputs.
 *
 * @param {string} listPath where to; a path that ends in {@link checksumFile}
 * @param {readonly string[]} paths relative to the root of the repository, the working directory
 */
export function writeChecksums(listPath, paths) {
  const lines = paths.toSorted().map((path) => `${sha256(path)}  ${path}\n`);
  writeFileSync(listPath, lines.join(""));
}

/** @param {string} path */
export function sha256(path) {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}
