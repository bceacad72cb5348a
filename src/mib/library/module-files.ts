import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";

/** Endings that files of modules have. */
const endings = ["", ".txt", ".mib", ".my", ".MIB", ".asn1", ".asn", ".smi"];

/** Finds the files of modules in directories, the first directory first. */
export interface ModuleFiles {
  /** Files that may have the module, the likeliest first. */
  find(module: string): readonly string[];
}

export function createModuleFiles(directories: readonly string[]): ModuleFiles {
  const listings = directories.map((directory) => ({ directory, names: new Set(filesIn(directory)) }));
  let byModule: ReadonlyMap<string, readonly string[]> | undefined;
  return {
    find(module) {
      const named = listings.flatMap(({ directory, names }) =>
        endings.filter((ending) => names.has(module + ending)).map((ending) => join(directory, module + ending)),
      );
      if (named.length > 0) return named;
      byModule ??= indexFiles(
        listings.flatMap(({ directory, names }) => [...names].map((name) => join(directory, name))),
      );
      return byModule.get(module) ?? [];
    },
  };
}

/** Directories that cannot be read have none. */
function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => !name.startsWith(".") && !name.endsWith("~"));
  } catch {
    return [];
  }
}

/** A file has a module's name at the beginning of a line, and no more than 8 MiB. */
function indexFiles(files: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const file of files) {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats?.isFile() !== true || stats.size > 8 << 20) continue;
    const text = readFileSync(file, "latin1");
    for (const [, name = ""] of text.matchAll(/^\s*([A-Za-z][\w-]*)\s*(?:\{[^}]*\}\s*)?DEFINITIONS\b/gm))
      found.set(name, [...(found.get(name) ?? []), file]);
  }
  for (const list of found.values()) list.sort((a, b) => basename(a).length - basename(b).length);
  return found;
}
