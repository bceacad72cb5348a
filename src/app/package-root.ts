import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The path of a file that comes with the program, seen from the package's root. */
export function packagePath(path: string): string {
  // This module runs from dist/src/app.
  return join(import.meta.dirname, "../../..", path);
}

/** The version of the program. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(packagePath("package.json"), "utf8")) as { version: string };
  return version;
}
