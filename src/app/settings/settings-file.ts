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
import { SettingsError } from "./settings-error.ts";
import type { GivenSetting } from "./settings-source.ts";

const nowhere: ComposeSurroundings = { env: {}, read: () => undefined };

/**
 * Reads the text of a settings file: one YAML mapping from setting names to scalars, or to sequences of scalars for
 * lists. Values are taken as they are spelt, so `0123` stays what it is; `null`, `~` and nothing are the empty text. Of a Compose file it takes the
 * variables of its services; of manifests of Kubernetes, values of Helm and other files that have settings further below, those.
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

  const ofMapping = (root: YamlMapping): GivenSetting[] =>
    root.pairs.map(({ key, value }) => ({
      name: key.text,
      text: value.kind === "sequence" ? value.items.map(item).join(",") : scalar(value),
      origin: placeOf(positionOf(key.at)),
    }));

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
  const isFlat = root.pairs.some(({ key }) => /^(?:SVC|EF)_/.test(key.text));
  const nested = isFlat ? [] : nestedVariables(root);
  return nested.length > 0 || isManifest(root) ? nested.map(given) : ofMapping(root);
}

const isName = (text: string): boolean => /^(?:SVC|EF)_[A-Z]/.test(text);

/** Whether a mapping is an object of Kubernetes. */
function isManifest(root: YamlMapping): boolean {
  return textOf(root, "apiVersion") !== undefined && textOf(root, "kind") !== undefined;
}

/**
 * Settings that stand anywhere in a document: `NAME: value` (data of a ConfigMap, a map of variables), `{name: NAME, value: …}` (variables
 * of a container) and `NAME=value`. Values of a Secret are decoded; one that another object has, or a template fills in, is unfilled.
 */
function nestedVariables(root: YamlMapping): ComposeVariable[] {
  const found: ComposeVariable[] = [];
  const add = (name: string, value: YamlNode, at: number, isEncoded: boolean): void => {
    if (value.kind !== "scalar") return;
    const text = isNullNode(value) ? "" : value.text;
    if (text.includes("{{")) found.push({ name, text: "", at, unfilled: "a template of Helm fills it in" });
    else found.push({ name, text: isEncoded ? Buffer.from(text, "base64").toString() : text, at });
  };
  const walk = (node: YamlNode, isEncoded: boolean): void => {
    if (node.kind === "sequence") for (const item of node.items) walk(item, isEncoded);
    if (node.kind === "scalar") {
      const [, name = "", text = ""] = /^([A-Z0-9_]+)=(.*)$/s.exec(node.text) ?? [];
      if (isName(name)) found.push({ name, text, at: node.at });
    }
    if (node.kind !== "mapping") return;
    const named = textOf(node, "name") ?? "";
    const value = node.pairs.find(({ key }) => key.text === "value");
    const elsewhere = node.pairs.some(({ key }) => key.text === "valueFrom");
    if (isName(named) && value !== undefined) add(named, value.value, node.at, false);
    else if (isName(named) && elsewhere) {
      found.push({ name: named, text: "", at: node.at, unfilled: "another object of Kubernetes has its value" });
    } else {
      for (const { key, value: below } of node.pairs) {
        if (isName(key.text)) add(key.text, below, key.at, isEncoded);
        else walk(below, key.text === "data" && textOf(node, "kind") === "Secret");
      }
    }
  };
  walk(root, false);
  return found;
}

function textOf(mapping: YamlMapping, name: string): string | undefined {
  const value = mapping.pairs.find(({ key }) => key.text === name)?.value;
  return value?.kind === "scalar" ? value.text : undefined;
}
