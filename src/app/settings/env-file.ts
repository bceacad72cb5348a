import { SettingsError } from "./settings-source.ts";
import type { GivenSetting } from "./settings-source.ts";

const assignment = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)$/;

/** Reports whether a text is a file of environment variables rather than YAML: by its name, else by its first line. */
export function isEnvFile(file: string, source: string): boolean {
  if (/\.ya?ml$/i.test(file)) return false;
  if (/(?:^|[./])env(?:\.[^/]*)?$/i.test(file)) return true;
  const first = lines(source).find((line) => line !== "" && !line.startsWith("#")) ?? "";
  return assignment.test(first) || section.test(first);
}

/** Returns the text of a file; undefined: there is none. */
type ReadEnvFile = (path: string) => string | undefined;

/**
 * Reads a file of environment variables: `NAME=value` lines in the forms of a shell, Docker and systemd's EnvironmentFile.
 * From a systemd unit it reads `Environment=` and `EnvironmentFile=`, as systemd does: files win over variables of the unit.
 * Variables that are not settings are left out, as in the environment.
 *
 * @param read reads the files of `EnvironmentFile=`; without it they are left out.
 * @throws SettingsError naming file:line for a line of another form, or whose file cannot be read.
 */
export function parseEnvFile(file: string, source: string, read?: ReadEnvFile): GivenSetting[] {
  const problems: string[] = [];
  let given: GivenSetting[] = [];
  let files: GivenSetting[][] = [];
  const readFile = (origin: string, value: string): void => {
    try {
      if (read !== undefined) files.push(readNamedFile(origin, value, read));
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      problems.push(...error.problems);
    }
  };
  for (const { line, number } of isUnit(source) ? joinedLines(source) : numberedLines(source)) {
    const origin = `${file}:${number}`;
    if (line === "" || isComment(line) || section.test(line)) continue;
    const [, name = "", value = ""] = assignment.exec(line) ?? [];
    const isEmpty = value.trim() === "";
    if (name === "EnvironmentFile") {
      if (isEmpty) files = [];
      else readFile(origin, value.trim());
    } else if (name === "Environment") {
      const found = isEmpty ? [] : unitVariables(value);
      if (found === undefined) problems.push(`${origin}: expected NAME=value`);
      else if (isEmpty) given = [];
      else given.push(...found.map(([each, text]) => ({ name: each, text, origin })));
    } else if (name === "") problems.push(`${origin}: expected NAME=value`);
    else given.push({ name, text: unquote(value), origin });
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return [...given, ...files.flat()].filter(({ name }) => /^(?:SVC|EF)_/.test(name));
}

/** A variable of a file as Compose reads it. */
export interface FileVariable {
  readonly name: string;
  /** The text. A name after a dollar is a variable to substitute; `$$` is a dollar. */
  readonly text: string;
  /** True in single quotes: no variables are substituted. */
  readonly isLiteral: boolean;
}

/** Returns all variables of a file of environment variables, settings or not. Lines of other forms are left out. */
export function environmentVariables(source: string): FileVariable[] {
  return lines(source).flatMap((line) => {
    const [, name, value = ""] = assignment.exec(line) ?? [];
    return name === undefined ? [] : [{ name, text: unquote(value, "$$"), isLiteral: /^\s*'/.test(value) }];
  });
}

/** Reads the file of an `EnvironmentFile=`; with `-` in front it may be missing. */
function readNamedFile(origin: string, value: string, read: ReadEnvFile): GivenSetting[] {
  const path = unquote(value.replace(/^-/, ""));
  const source = read(path);
  if (source !== undefined) return parseEnvFile(path, source);
  if (value.startsWith("-")) return [];
  throw new SettingsError([`${origin}: EnvironmentFile: there is no file ${path}`]);
}

const section = /^\[[\w-]+\]$/;
const isComment = (line: string): boolean => /^[#;]/.test(line);
const isUnit = (source: string): boolean => lines(source).some((line) => section.test(line));

interface NumberedLine {
  readonly line: string;
  /** The number, from 1. */
  readonly number: number;
}

function numberedLines(source: string): NumberedLine[] {
  return lines(source).map((line, i) => ({ line, number: i + 1 }));
}

/** Returns the lines of a unit. One that ends in a backslash continues with the next line that is not a comment, and has the number of its first. */
function joinedLines(source: string): NumberedLine[] {
  const joined: NumberedLine[] = [];
  let open: NumberedLine | undefined;
  for (const { line, number } of numberedLines(source)) {
    if (open !== undefined && isComment(line)) continue;
    const text: string = open === undefined ? line : `${open.line} ${line}`;
    const next: NumberedLine = { line: text.replace(/\\$/, ""), number: open?.number ?? number };
    open = text.endsWith("\\") && !isComment(line) ? next : undefined;
    if (open === undefined) joined.push(next);
  }
  return open === undefined ? joined : [...joined, open];
}

function lines(source: string): string[] {
  return source
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .map((line) => line.trim());
}

/** Returns a value without its quotes; without quotes it ends at a comment. @param dollar the replacement of an escaped one. */
function unquote(text: string, dollar = "$"): string {
  const value = text.trim();
  const quoted = /^'([^']*)'(?:\s*#.*)?$/.exec(value);
  if (quoted !== null) return quoted[1] ?? "";
  const double = /^"((?:[^"\\]|\\.)*)"(?:\s*#.*)?$/.exec(value);
  if (double !== null)
    return (double[1] ?? "").replaceAll(/\\(["\\$`])/g, (_, escaped: string) => (escaped === "$" ? dollar : escaped));
  return value.replace(/(?:^|\s+)#.*$/, "");
}

/** Returns the variables of one `Environment=` line: words, each quoted or not; `%%` is a percent sign. @returns undefined for anything else. */
function unitVariables(text: string): (readonly [string, string])[] | undefined {
  const words = text.match(/"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"']+(?:"[^"]*"|'[^']*')?/g) ?? [];
  const found = words.map((word) => assignment.exec(unquote(word)));
  if (found.includes(null) || found.length === 0) return undefined;
  return found.map((match) => [match?.[1] ?? "", unquote(match?.[2] ?? "").replaceAll("%%", "%")] as const);
}
