import { cpSync, symlinkSync } from "node:fs";
import { join, relative } from "node:path";

const root = join(import.meta.dirname, "../../..");
const notInAClone = new Set(["node_modules", "dist", "var", "coverage", ".git"]);

/**
 * Copies the tree as a clone has it: without what is built, installed or written.
 *
 * @param withModules the copy uses the installed packages of this tree.
 */
export function copyTree(copy: string, { withModules = false } = {}): void {
  cpSync(root, copy, { recursive: true, filter: (path) => !notInAClone.has(relative(root, path)) });
  if (withModules) symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
}
