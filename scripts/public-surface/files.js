// What users read and edit as files: definitions, the schema, tables of the documentation, what the package declares.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

/** The files below a directory, as sorted relative paths. */
export function filesBelow(/** @type {string} */ directory) {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort();
}

/**
 * @param {string} tree
 * @param {(path: string, text: string) => void} put
 */
export function describeFiles(tree, put) {
  const definitions = filesBelow(join(tree, "definitions")).map((path) => {
    const hash = createHash("sha256").update(readFileSync(join(tree, "definitions", path)));
    return `${path} ${hash.digest("hex").slice(0, 12)}`;
  });
  put("definitions.txt", definitions.join("\n"));
  for (const path of filesBelow(join(tree, "proto")))
    put(`proto/${path}`, readFileSync(join(tree, "proto", path), "utf8"));
  for (const page of ["metrics", "netobserv-settings", "pages", "records", "settings"])
    put(`documented/${page}.txt`, tableRows(pageOf(tree, `${page}.md`)).join("\n"));
  const { name, bin, engines, type } = JSON.parse(readFileSync(join(tree, "package.json"), "utf8"));
  put("package.json", JSON.stringify({ name, bin, engines, type }, null, 2));
}

/** Returns where a page of the documentation is. Generated reference is in docs/reference/, in earlier trees in docs/. */
export function pageOf(/** @type {string} */ tree, /** @type {string} */ name) {
  const path = join(tree, "docs/reference", name);
  return existsSync(path) ? path : join(tree, "docs", name);
}

/** The rows of all tables of a page, sorted. */
export function tableRows(/** @type {string} */ page) {
  const lines = readFileSync(page, "utf8").split("\n");
  return lines.filter((line) => line.startsWith("|") && !line.startsWith("|-")).sort();
}
