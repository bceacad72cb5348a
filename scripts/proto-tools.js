// buf and protoc-gen-es, which are fetched for the run of a generator: they are needed only when a schema changes.
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const tools = ["@bufbuild/buf@1.74.0", "@bufbuild/protoc-gen-es@2.13.0"];

/**
 * Installs the tools into a folder.
 *
 * @param {string} scratch a temporary folder
 * @returns {(name: string) => string} where a tool is, by its name
 */
export function protoTools(scratch) {
  const flags = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
  const { status, error } = spawnSync("npm", ["install", "--prefix", scratch, ...flags, ...tools], {
    stdio: "inherit",
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`npm failed with status ${status}`);
  return (name) => join(scratch, "node_modules/.bin", name);
}
