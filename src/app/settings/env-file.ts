import { SettingsError } from "./settings-error.ts";
import type { GivenSetting } from "./settings-source.ts";

const assignment = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)$/;

/** Whether a text is a file of environment variables rather than YAML: by its name, else by its first line. */
export function isEnvFile(file: string, source: string): boolean {
  if (/\.ya?ml$/i.test(file)) return false;
  if (/(?:^|[./])env(?:\.[^/]*)?$/i.test(file)) return true;
  const first = lines(source).find((line) => line !== "" && !line.startsWith("#")) ?? "";
  return assignment.test(first) || /^\[\w+\]$/.test(first);
}

/**
 * Reads a file of environment variables: `NAME=value` lines as a shell, Docker and systemd's EnvironmentFile take them,
 * and the `Environment=` lines of a systemd unit. Variables that are no settings are left out, as in the environment.
 *
 * @throws SettingsError naming file:line for a line that is none of these.
 */
export function parseEnvFile(file: string, source: string): GivenSetting[] {
  const problems: string[] = [];
  const given: GivenSetting[] = [];
  for (const [i, line] of lines(source).entries()) {
    const origin = `${file}:${i + 1}`;
    if (line === "" || /^[#;]/.test(line) || /^\[\w+\]$/.test(line)) continue;
    const [, name = "", text = ""] = assignment.exec(line) ?? [];
    const found = name === "Environment" ? unitVariables(text) : [[name, unquote(text)] as const];
    if (name === "" || found === undefined) problems.push(`${origin}: expected NAME=value`);
    else
      given.push(
        ...found.filter(([each]) => isOurs(each)).map(([each, value]) => ({ name: each, text: value, origin })),
      );
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return given;
}

const isOurs = (name: string): boolean => /^(?:SVC|EF)_/.test(name);

function lines(source: string): string[] {
  return source
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .map((line) => line.trim());
}

/** A value without the quotes around it; without quotes it ends at a comment. */
function unquote(text: string): string {
  const value = text.trim();
  const quoted = /^'([^']*)'(?:\s*#.*)?$/.exec(value);
  if (quoted !== null) return quoted[1] ?? "";
  const double = /^"((?:[^"\\]|\\.)*)"(?:\s*#.*)?$/.exec(value);
  if (double !== null) return (double[1] ?? "").replaceAll(/\\(["\\$`])/g, "$1");
  return value.replace(/(?:^|\s+)#.*$/, "");
}

/** The variables of one `Environment=` line: words, each quoted or not. @returns undefined for anything else. */
function unitVariables(text: string): (readonly [string, string])[] | undefined {
  const words = text.match(/"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"']+(?:"[^"]*"|'[^']*')?/g) ?? [];
  const found = words.map((word) => assignment.exec(unquote(word)));
  if (found.includes(null) || found.length === 0) return undefined;
  return found.map((match) => [match?.[1] ?? "", unquote(match?.[2] ?? "")] as const);
}
