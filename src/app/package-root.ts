import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Returns the path of a file that comes with the program, relative to the package's root. */
export function packagePath(path: string): string {
  return join(folderWith("package.json", import.meta.dirname), path);
}

/** Returns the nearest parent folder that has a file. Its depth varies: the program runs joined files, tests run the modules. */
function folderWith(file: string, folder: string): string {
  if (existsSync(join(folder, file))) return folder;
  const above = dirname(folder);
  if (above === folder) throw new Error(`${file} is in no folder above ${import.meta.dirname}`);
  return folderWith(file, above);
}

/** Returns the version of the program. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(packagePath("package.json"), "utf8")) as { version: string };
  return version;
}
