import { dirname, isAbsolute, join } from "node:path";
import {
  isNullNode,
  mergedPairs,
  type Fail,
  type YamlMapping,
  type YamlNode,
  type YamlPair,
  createPositions,
  readYaml,
  YamlFault,
  type TextPosition,
} from "../../base/yaml/index.ts";
import { environmentVariables, isEnvFile, parseEnvFile } from "./env-file.ts";
import { SettingsError } from "./settings-source.ts";
import type { GivenSetting } from "./settings-source.ts";

/** A variable of a service, with the offset of its name. */
interface ComposeVariable {
  readonly name: string;
  readonly text: string;
  readonly at: number;
  /** The reason why there is no text: a variable in it has no known value. */
  readonly unfilled?: string;
}

/** The sources of values that Compose substitutes for variables. */
interface ComposeSurroundings {
  /** The variables of the shell, which win over the file `.env`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads a file; undefined: there is none. */
  readonly read: (path: string) => string | undefined;
}

/**
 * Returns the settings among the variables of the services of a Compose file, in its order. Variables of the files in `env_file` come
 * before those below `environment`, which win. Variables in values are substituted as in Compose, from the shell and from
 * the file `.env` beside the file. One without a value makes the setting {@link ComposeVariable.unfilled}.
 *
 * @returns undefined when the mapping is not a Compose file: it has no `services`.
 * @throws the error of `fail`.
 */
function composeVariables(
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
    return shell(name) ?? filledText(beside.get(name));
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
  // A variable without a value takes it from the shell.
  if (isNullNode(value)) return { name: key.text, text: lookUp(key.text) ?? "", at: key.at };
  return { name: key.text, at: key.at, ...filledIn(value.text, lookUp) };
}

/** Reads `env_file`: a path, a list of paths, or of mappings with `path` and `required`. For each name, the last file counts. */
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

/**
 * Reads the variables of a file beside a Compose file. A variable is substituted from `lookUp`, then from earlier ones, but not in
 * single quotes.
 */
function filledVariables(source: string, lookUp: LookUp): ReadonlyMap<string, Filled> {
  const filled = new Map<string, Filled>();
  for (const { name, text, isLiteral } of environmentVariables(source)) {
    filled.set(name, isLiteral ? { text } : filledIn(text, (one) => lookUp(one) ?? filledText(filled.get(one))));
  }
  return filled;
}

function filledText(filled: Filled | undefined): string | undefined {
  return filled?.unfilled === undefined ? filled?.text : undefined;
}

/** A text with its variables substituted, or why that is impossible. */
type Filled = { readonly text: string; readonly unfilled?: string };

/** The greatest depth of nested variables: `${A:-${B}}` is two. */
const maxDepth = 32;

/**
 * Substitutes variables as Compose does: `$NAME`, `${NAME}`, `${NAME:-text}` and `${NAME-text}` (the text where it has no value), `${NAME:?text}`
 * and `${NAME?text}` (Compose ends where it has none), `${NAME:+text}` and `${NAME+text}` (the text where it has one). With the colon,
 * an empty value counts as none. `$$` is a dollar.
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

/** Finds the brace that closes the one at `open`; -1: there is none. */
function closingBrace(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === "{") depth++;
    else if (text[at] === "}" && --depth === 0) return at;
  }
  return -1;
}

const nowhere: ComposeSurroundings = { env: {}, read: () => undefined };

/**
 * Reads the text of a settings file: one YAML mapping from setting names to scalars, or to sequences of scalars for
 * lists. Values keep their spelling, so `0123` stays as it is; `null`, `~` and nothing are the empty text. It reads the variables
 * of the services in a Compose file. It also reads nested settings in Kubernetes manifests, Helm values and the like.
 *
 * @param surroundings the values for variables of Compose; absent: none.
 * @throws SettingsError naming file:line:column for anything else.
 */
export function parseSettingsFile(file: string, source: string, surroundings = nowhere): GivenSetting[] {
  if (!/^apiVersion:/m.test(source)) return parseDocument(file, source, surroundings);
  // Lines keep their numbers.
  let before = 0;
  return source.split(/^---.*$/m).flatMap((document) => {
    const given = parseDocument(file, "\n".repeat(before) + document, surroundings);
    before += document.split("\n").length - 1;
    return given;
  });
}

function parseDocument(file: string, source: string, surroundings: ComposeSurroundings): GivenSetting[] {
  const positionOf = createPositions(source);
  const placeOf = ({ line, column }: TextPosition): string => `${file}:${line}:${column}`;
  const failAt = (why: string, at: number): never => {
    throw new SettingsError([`${placeOf(positionOf(at))}: ${why}`]);
  };
  const fail = (node: YamlNode, why: string): never => failAt(why, node.at);
  const given = ({ at, ...variable }: ComposeVariable): GivenSetting => ({
    ...variable,
    origin: placeOf(positionOf(at)),
  });

  const scalar = (node: YamlNode): string => {
    if (node.kind !== "scalar") return fail(node, "expected a scalar: a text, number, true or false");
    return isNullNode(node) ? "" : node.text;
  };

  const item = (node: YamlNode): string => {
    const text = scalar(node);
    return text.includes(",") ? fail(node, "a comma separates values and cannot be part of one") : text;
  };

  const textOf: TextOf = (value) => (value.kind === "sequence" ? value.items.map(item).join(",") : scalar(value));

  let root: YamlNode | undefined;
  try {
    root = readYaml(source);
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw new SettingsError([`${placeOf(error.position)}: ${error.message}`]);
  }
  if (root === undefined || isNullNode(root)) return [];
  if (root.kind !== "mapping") return fail(root, "expected a mapping from setting names to values");
  const ofServices = composeVariables(file, root, surroundings, failAt);
  if (ofServices !== undefined) return ofServices.map(given);
  const isFlat = root.pairs.some(({ key }) => isName(key.text));
  const nested = isFlat ? [] : nestedSettings(file, root, textOf, given);
  if (nested.length > 0 || isManifest(root)) return nested;
  return root.pairs.map(({ key, value }) => given({ name: key.text, text: textOf(value), at: key.at }));
}

/** Returns the text of a setting's value. @throws SettingsError for another node. */
type TextOf = (value: YamlNode) => string;

const isName = (text: string): boolean => /^(?:SVC|EF)_[A-Z]/.test(text);

/** Reports whether a mapping is an object of Kubernetes. */
function isManifest(root: YamlMapping): boolean {
  return scalarBelow(root, "apiVersion") !== undefined && scalarBelow(root, "kind") !== undefined;
}

/**
 * Returns settings anywhere in a document: `NAME: value` (data of a ConfigMap, a map of variables), `{name: NAME, value: …}` (variables
 * of a container), `NAME=value`, and files of settings (`flowcoll.yml: |` in a ConfigMap). Values of a Secret are decoded. Values from
 * another object, or from a template, are unfilled.
 */
function nestedSettings(
  file: string,
  root: YamlMapping,
  textOf: TextOf,
  given: (variable: ComposeVariable) => GivenSetting,
): GivenSetting[] {
  const found: GivenSetting[] = [];
  const add = (name: string, value: YamlNode, at: number, isEncoded: boolean): void => {
    if (value.kind === "mapping" && value.pairs.some(({ key }) => key.text === "valueFrom")) unfilled(name, at);
    else {
      const text = textOf(value);
      if (text.includes("{{")) unfilled(name, at, "a template of Helm fills it in");
      else found.push(given({ name, text: isEncoded ? decode(text) : text, at }));
    }
  };
  const unfilled = (name: string, at: number, why = "another object of Kubernetes has its value"): void => {
    found.push(given({ name, text: "", at, unfilled: why }));
  };
  const addFile = (name: string, text: string): void => {
    const inner = `${file}:${name}`;
    found.push(...(isEnvFile(name, text) ? parseEnvFile(inner, text) : parseSettingsFile(inner, text)));
  };
  const walk = (node: YamlNode, key: string, isEncoded: boolean): void => {
    if (node.kind === "sequence") for (const item of node.items) walk(item, key, isEncoded);
    else if (node.kind === "scalar") {
      const text = isEncoded ? decode(node.text) : node.text;
      const [, name = "", value = ""] = /^([A-Z0-9_]+)=(.*)$/.exec(text) ?? [];
      if (isName(name)) found.push(given({ name, text: value, at: node.at }));
      else if (settingsFileName.test(key) && settingLine.test(text)) addFile(key, text);
    } else {
      const named = scalarBelow(node, "name") ?? "";
      const value = node.pairs.find((pair) => pair.key.text === "value")?.value;
      const isElsewhere = node.pairs.some((pair) => pair.key.text === "valueFrom");
      if (isName(named) && value !== undefined) add(named, value, node.at, false);
      else if (isName(named) && isElsewhere) unfilled(named, node.at);
      else {
        for (const pair of node.pairs) {
          if (isName(pair.key.text)) add(pair.key.text, pair.value, pair.key.at, isEncoded);
          else walk(pair.value, pair.key.text, isEncoded || (pair.key.text === "data" && isSecret(node)));
        }
      }
    }
  };
  walk(root, "", false);
  return found;
}

const settingsFileName = /\.(?:ya?ml|env|conf)$/i;
const settingLine = /^\s*(?:export\s+|Environment=["']?)?(?:SVC|EF)_[A-Z0-9_]+["']?\s*[:=]/m;
const decode = (text: string): string => Buffer.from(text, "base64").toString();
const isSecret = (node: YamlMapping): boolean => scalarBelow(node, "kind") === "Secret";

function scalarBelow(mapping: YamlMapping, name: string): string | undefined {
  const value = mapping.pairs.find(({ key }) => key.text === name)?.value;
  return value?.kind === "scalar" ? value.text : undefined;
}
