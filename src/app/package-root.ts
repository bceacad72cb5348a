import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The path of a file that comes with the program, seen from the package's root. */
export function packagePath(path: string): string {
  return join(folderWith("package.json", import.meta.dirname), path);
}

/** The nearest folder upwards that has a file. Its depth differs: the program runs joined files, tests run the modules. */
function folderWith(file: string, folder: string): string {
  if (existsSync(join(folder, file))) return folder;
  const above = dirname(folder);
  if (above === folder) throw new Error(`${file} is in no folder above ${import.meta.dirname}`);
  return folderWith(file, above);
}

/** The version of the program. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(packagePath("package.json"), "utf8")) as { version: string };
  return version;
}
