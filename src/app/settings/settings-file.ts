import {
  createPositions,
  isNullNode,
  readYaml,
  YamlFault,
  type TextPosition,
  type YamlMapping,
  type YamlNode,
} from "../../yaml/index.ts";
import { composeVariables, type ComposeSurroundings, type ComposeVariable } from "./compose-file.ts";
import { isEnvFile, parseEnvFile } from "./env-file.ts";
import { SettingsError } from "./settings-error.ts";
import type { GivenSetting } from "./settings-source.ts";

const nowhere: ComposeSurroundings = { env: {}, read: () => undefined };

/**
 * Reads the text of a settings file: one YAML mapping from setting names to scalars, or to sequences of scalars for
 * lists. Values are taken as they are spelt, so `0123` stays what it is; `null`, `~` and nothing are the empty text. Of a Compose
 * file it takes the variables of its services; of manifests of Kubernetes, values of Helm and other files that have settings further
 * below, those.
 *
 * @param surroundings what variables of Compose are filled in with; left out: nothing.
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

/** The text of a value of a setting. @throws SettingsError for what is none. */
type TextOf = (value: YamlNode) => string;

const isName = (text: string): boolean => /^(?:SVC|EF)_[A-Z]/.test(text);

/** Whether a mapping is an object of Kubernetes. */
function isManifest(root: YamlMapping): boolean {
  return scalarBelow(root, "apiVersion") !== undefined && scalarBelow(root, "kind") !== undefined;
}

/**
 * Settings that stand anywhere in a document: `NAME: value` (data of a ConfigMap, a map of variables), `{name: NAME, value: …}` (variables
 * of a container), `NAME=value`, and files of settings (`flowcoll.yml: |` in a ConfigMap). Values of a Secret are decoded; one that another
 * object has, or a template fills in, is unfilled.
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
