import { diff3Merge } from "node-diff3";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { MibFault } from "./mib-module.ts";

interface MergedText {
  readonly text: string;
  /** Lines (from 1) of the merged text where a person and the module changed the same. */
  readonly conflicts: readonly number[];
}

/**
 * Three versions of a generated file become one: what was written last time, the file as a person left it, and what is
 * written now. A change of one side counts. Where both changed the same lines, the person's stay, and what would be
 * there now follows as a comment: the file can be read, and nothing is lost.
 */
export function mergeText(before: string, edited: string, now: string): MergedText {
  const lines: string[] = [];
  const conflicts: number[] = [];
  const regions = diff3Merge(placedLines(edited), placedLines(before), placedLines(now), {
    excludeFalseConflicts: true,
  });
  for (const region of regions) {
    if (region.ok !== undefined) lines.push(...region.ok.map(lineOf));
    if (region.conflict === undefined) continue;
    const { a, o, b } = region.conflict;
    for (const { mine, theirs } of narrow(a.map(lineOf), o.map(lineOf), b.map(lineOf))) {
      if (theirs === undefined) {
        lines.push(...mine);
        continue;
      }
      conflicts.push(lines.length + 1);
      lines.push(...mine, ...proposal(theirs));
    }
  }
  return { text: lines.length === 0 ? "" : `${lines.join("\n")}\n`, conflicts };
}

interface Part {
  readonly mine: readonly string[];
  /** Lines that the module has now; undefined where there is no conflict. */
  readonly theirs: readonly string[] | undefined;
}

/** Judges each line alone where all three have as many lines. */
function narrow(mine: readonly string[], before: readonly string[], theirs: readonly string[]): Part[] {
  if (mine.length !== before.length || theirs.length !== before.length) return [{ mine, theirs }];
  return mine.map((line, i): Part => {
    const [was = "", next = ""] = [before[i], theirs[i]];
    if (line === next || next === was) return { mine: [line], theirs: undefined };
    return line === was ? { mine: [next], theirs: undefined } : { mine: [line], theirs: [next] };
  });
}

function proposal(lines: readonly string[]): string[] {
  const indent = /^ */.exec(lines[0] ?? "")?.[0] ?? "";
  const shown =
    lines.length === 0 ? ["(nothing)"] : lines.map((line) => line.slice(Math.min(indent.length, line.search(/\S|$/))));
  return [`${indent}# conflict: the module would have here`, ...shown.map((line) => `${indent}#   ${line}`)];
}

const separator = "\u0000";

/**
 * Lines with the keys that they belong to, so that the same `syntax:` of two attributes is never taken for one another.
 * Comments belong to the key that follows them.
 */
function placedLines(text: string): string[] {
  const lines = text.replace(/\r\n/g, "\n").replace(/\n$/, "").split("\n");
  if (text === "") return [];
  const placed: string[] = [];
  let keys: string[] = [];
  let waiting: string[] = [];
  for (const line of lines) {
    if (/^\s*(?:#.*)?$/.test(line)) {
      waiting.push(line);
      continue;
    }
    const depth = (/^ */.exec(line)?.[0].length ?? 0) >> 1;
    const key = /^\s*(?:- )?([^:#]+|'[^']*'):/.exec(line)?.[1] ?? line.trim();
    if (depth <= 2) keys = [...keys.slice(0, depth), key];
    for (const one of [...waiting, line]) placed.push(keys.join(" ") + separator + one);
    waiting = [];
  }
  for (const one of waiting) placed.push(separator + one);
  return placed;
}

function lineOf(placed: string): string {
  return placed.slice(placed.indexOf(separator) + 1);
}

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
