import { dirname, isAbsolute, join } from "node:path";
import {
  isNullNode,
  mergedPairs,
  type Fail,
  type YamlMapping,
  type YamlNode,
  type YamlPair,
} from "../../yaml/index.ts";
import { environmentVariables } from "./env-file.ts";

/** A variable of a service, with the offset of its name. */
export interface ComposeVariable {
  readonly name: string;
  readonly text: string;
  readonly at: number;
  /** Why there is no text: what it is to be filled in with is not known. */
  readonly unfilled?: string;
}

/** What Compose fills variables in with. */
export interface ComposeSurroundings {
  /** What the shell has. It counts before the file `.env`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads a file; undefined: there is none. */
  readonly read: (path: string) => string | undefined;
}

/**
 * The settings among the variables of the services of a Compose file, in its order: those below `environment`, before them those of
 * the files that `env_file` names and that are not below it. Variables in values are filled in as Compose does it, from the shell and from
 * the file `.env` beside the file. One that has no value makes the setting {@link ComposeVariable.unfilled}.
 *
 * @returns undefined when the mapping is no Compose file: it has no `services`.
 * @throws what `fail` does.
 */
export function composeVariables(
  file: string,
  root: YamlMapping,
  { env, read }: ComposeSurroundings,
  fail: Fail,
): ComposeVariable[] | undefined {
  const services = valueOf(root, "services", fail);
  if (services?.kind !== "mapping") return undefined;
  const readBeside = (path: string): string | undefined => read(isAbsolute(path) ? path : join(dirname(file), path));
  let beside: ReadonlyMap<string, Filled> | undefined;
  const shell: LookUp = (name) => (Object.hasOwn(env, name) ? env[name] : undefined);
  const lookUp: LookUp = (name) => {
    beside ??= filledVariables(readBeside(".env") ?? "", shell);
    return shell(name) ?? textOf(beside.get(name));
  };
  return mergedPairs(services, fail).flatMap(({ value }) => {
    if (value.kind !== "mapping") return [];
    const files = valueOf(value, "env_file", fail);
    const environment = valueOf(value, "environment", fail);
    const variables = environment === undefined ? [] : variablesOf(environment, lookUp, fail);
    const own = new Set(variables.map(({ name }) => name));
    const ofFiles = files === undefined ? [] : variablesOfFiles(files, readBeside, lookUp, fail);
    return [...ofFiles.filter(({ name }) => !own.has(name)), ...variables].filter(
      ({ name }) => /^(?:SVC|EF)_/.test(name) || name === fileKey,
    );
  });
}

const fileKey = "env_file";

function valueOf(mapping: YamlMapping, name: string, fail: Fail): YamlNode | undefined {
  return mergedPairs(mapping, fail).find(({ key }) => key.text === name)?.value;
}

function variablesOf(environment: YamlNode, lookUp: LookUp, fail: Fail): ComposeVariable[] {
  if (environment.kind === "mapping") {
    return mergedPairs(environment, fail).map((pair) => variableOf(pair, lookUp, fail));
  }
  if (environment.kind === "scalar") return [];
  return environment.items.map((item) => {
    if (item.kind !== "scalar") return fail("expected NAME=value", item.at);
    const [, name, text] = /^([^=]*)=(.*)$/s.exec(item.text) ?? [];
    if (name === undefined) return { name: item.text, text: lookUp(item.text) ?? "", at: item.at };
    return { name, at: item.at, ...filledIn(text ?? "", lookUp) };
  });
}

function variableOf({ key, value }: YamlPair, lookUp: LookUp, fail: Fail): ComposeVariable {
  if (value.kind !== "scalar") return fail("expected a scalar: a text, number, true or false", value.at);
  // Without a value it is the one of the shell.
  if (isNullNode(value)) return { name: key.text, text: lookUp(key.text) ?? "", at: key.at };
  return { name: key.text, at: key.at, ...filledIn(value.text, lookUp) };
}

/** `env_file`: a path, a list of paths, or of mappings with `path` and `required`. Of a name, the last file counts. */
function variablesOfFiles(
  node: YamlNode,
  read: ComposeSurroundings["read"],
  lookUp: LookUp,
  fail: Fail,
): ComposeVariable[] {
  if (node.kind === "sequence") {
    const all = node.items.flatMap((item) => variablesOfFiles(item, read, lookUp, fail));
    const last = new Map(all.map((one) => [one.name, one]));
    return all.filter((one) => one.name === fileKey || last.get(one.name) === one);
  }
  const named = node.kind === "mapping" ? valueOf(node, "path", fail) : node;
  if (named?.kind !== "scalar") return fail("expected the path of a file", node.at);
  const missing = (unfilled: string): ComposeVariable[] => [{ name: fileKey, text: "", at: named.at, unfilled }];
  const path = filledIn(named.text, lookUp);
  if (path.unfilled !== undefined) return missing(path.unfilled);
  const source = read(path.text);
  if (source !== undefined) {
    return Array.from(filledVariables(source, lookUp), ([name, filled]) => ({ name, at: named.at, ...filled }));
  }
  const required = node.kind === "mapping" ? valueOf(node, "required", fail) : undefined;
  return required?.kind === "scalar" && required.text === "false" ? [] : missing(`there is no file ${path.text}`);
}

type LookUp = (name: string) => string | undefined;

/** The variables of a file beside a Compose file. Earlier ones fill in later ones, after what `lookUp` knows; nothing does in single quotes. */
function filledVariables(source: string, lookUp: LookUp): ReadonlyMap<string, Filled> {
  const filled = new Map<string, Filled>();
  for (const { name, text, isLiteral } of environmentVariables(source)) {
    filled.set(name, isLiteral ? { text } : filledIn(text, (one) => lookUp(one) ?? textOf(filled.get(one))));
  }
  return filled;
}

function textOf(filled: Filled | undefined): string | undefined {
  return filled?.unfilled === undefined ? filled?.text : undefined;
}

/** A text with its variables filled in, or why it cannot be. */
type Filled = { readonly text: string; readonly unfilled?: string };

/** How deep variables lie in each other at most: `${A:-${B}}` is two. */
const maxDepth = 32;

/**
 * Fills in what Compose fills in: `$NAME`, `${NAME}`, `${NAME:-text}` and `${NAME-text}` (the text where it has no value), `${NAME:?text}`
 * and `${NAME?text}` (Compose ends where it has none), `${NAME:+text}` and `${NAME+text}` (the text where it has one). With the colon,
 * empty is no value. `$$` is a dollar.
 */
function filledIn(text: string, lookUp: LookUp): Filled {
  const reasons: string[] = [];
  const fill = (part: string, depth = 0): string => {
    if (depth > maxDepth) {
      reasons.push(`variables lie in each other more than ${maxDepth} deep`);
      return "";
    }
    let filled = "";
    for (let at = 0; at < part.length;) {
      const dollar = part.indexOf("$", at);
      if (dollar < 0) return filled + part.slice(at);
      filled += part.slice(at, dollar);
      const name = /^[A-Za-z_]\w*/.exec(part.slice(dollar + 1))?.[0];
      const end = part[dollar + 1] === "{" ? closingBrace(part, dollar + 1) : -1;
      if (name !== undefined) {
        filled += valueOfName(name);
        at = dollar + 1 + name.length;
      } else if (end > 0) {
        filled += valueOfBraces(part.slice(dollar + 2, end), depth + 1);
        at = end + 1;
      } else {
        filled += "$";
        at = dollar + (part[dollar + 1] === "$" ? 2 : 1);
      }
    }
    return filled;
  };
  const valueOfName = (name: string): string => {
    const value = lookUp(name);
    if (value === undefined) reasons.push(`\${${name}} has no value, neither in the environment nor in .env`);
    return value ?? "";
  };
  const valueOfBraces = (inner: string, depth: number): string => {
    const [, name = "", colon = "", operator = "", word = ""] =
      /^([A-Za-z_]\w*)(?:(:?)([-?+])(.*))?$/s.exec(inner) ?? [];
    if (name === "") {
      reasons.push("what stands in its ${…} is not a variable of Compose");
      return "";
    }
    if (operator === "") return valueOfName(name);
    const value = lookUp(name);
    const hasValue = value !== undefined && (colon === "" || value !== "");
    if (operator === "+") return hasValue ? fill(word, depth) : "";
    if (hasValue) return value;
    if (operator === "-") return fill(word, depth);
    reasons.push(`\${${name}} has no value: ${fill(word, depth)}`);
    return "";
  };
  const filled = fill(text);
  return reasons.length === 0 ? { text: filled } : { text: "", unfilled: reasons.join("; ") };
}

/** Where the brace is closed that stands at `open`; -1: nowhere. */
function closingBrace(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === "{") depth++;
    else if (text[at] === "}" && --depth === 0) return at;
  }
  return -1;
}
