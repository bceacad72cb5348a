import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { MibFault } from "../mib-fault.ts";
import { mergeText } from "./merge-text.ts";

/** Below the output: each file as it was written last, which the next run compares with. Definitions do not read it. */
const baseFolder = ".generated";

export interface WrittenFile {
  readonly path: string;
  readonly state: "created" | "unchanged" | "changed" | "removed by hand";
  /** Lines of the file where hand edits and the module disagree. */
  readonly conflicts: readonly number[];
}

interface Plan extends WrittenFile {
  readonly base: string;
  readonly content: string;
  /** Undefined where the file stays as it is. */
  readonly text: string | undefined;
}

/**
 * Writes generated files below a directory and keeps the edits of what was written before. Nothing is written when one
 * of the files is there and was not generated.
 *
 * @throws MibFault that names such a file, or one that cannot be read or written.
 */
export function writeDefinitions(directory: string, files: ReadonlyMap<string, string>): readonly WrittenFile[] {
  const plans = [...files].map(([path, content]) => planOf(directory, path, content));
  for (const { path, base, content, text } of plans) {
    if (text !== undefined) replace(join(directory, path), text);
    replace(base, content);
  }
  return plans.map(({ path, state, conflicts }) => ({ path: join(directory, path), state, conflicts }));
}

function planOf(directory: string, path: string, content: string): Plan {
  const base = join(directory, baseFolder, path);
  const before = read(base);
  const edited = read(join(directory, path));
  const plan = (state: WrittenFile["state"], text: string | undefined, conflicts: readonly number[] = []): Plan => ({
    path,
    base,
    content,
    state,
    text,
    conflicts,
  });
  if (edited === content) return plan("unchanged", undefined);
  if (edited === undefined) return before === undefined ? plan("created", content) : plan("removed by hand", undefined);
  if (before === undefined)
    throw new MibFault(`${join(directory, path)} is there and was not generated; move it, or name another --output`);
  const { text, conflicts } = mergeText(before, edited, content);
  return text === edited ? plan("unchanged", undefined) : plan("changed", text, conflicts);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new MibFault(`${path}: cannot be read (${code})`);
  }
}

function replace(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    const aside = join(dirname(path), `.${path.slice(path.lastIndexOf("/") + 1)}.new`);
    writeFileSync(aside, text);
    renameSync(aside, path);
  } catch (error) {
    throw new MibFault(`${path}: cannot be written (${(error as NodeJS.ErrnoException).code})`);
  }
}
