import { cpSync, symlinkSync } from "node:fs";
import { join, relative } from "node:path";

const root = join(import.meta.dirname, "../../..");
const modules = ["node_modules", "web/node_modules"];
const notInAClone = new Set([...modules, "dist", "var", "coverage", ".git"]);

/**
 * Copies the tree as a clone has it: without what is built, installed or written.
 *
 * @param withModules the copy uses the installed packages of this tree.
 */
export function copyTree(copy: string, { withModules = false } = {}): void {
  // With the times of the tree: installed packages that are older than the lock would be installed anew.
  const options = { recursive: true, preserveTimestamps: true };
  cpSync(root, copy, { ...options, filter: (path) => !notInAClone.has(relative(root, path)) });
  if (withModules) for (const folder of modules) symlinkSync(join(root, folder), join(copy, folder));
}
