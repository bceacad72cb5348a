import {
  createPositions,
  isNullNode,
  readYaml,
  YamlFault,
  type TextPosition,
  type YamlNode,
} from "../../yaml/index.ts";
import { composeVariables } from "./compose-file.ts";
import { SettingsError } from "./settings-error.ts";
import type { GivenSetting } from "./settings-source.ts";

/**
 * Reads the text of a settings file: one YAML mapping from setting names to scalars, or to sequences of scalars for
 * lists. Values are taken as they are spelt, so `0123` stays what it is; `null`, `~` and nothing are the empty text. Of a Compose file it takes the
 * variables of its services.
 *
 * @throws SettingsError naming file:line:column for anything else.
 */
export function parseSettingsFile(file: string, source: string): GivenSetting[] {
  const positionOf = createPositions(source);
  const placeOf = ({ line, column }: TextPosition): string => `${file}:${line}:${column}`;
  const fail = (node: YamlNode, why: string): never => {
    throw new SettingsError([`${placeOf(positionOf(node.at))}: ${why}`]);
  };

  const scalar = (node: YamlNode): string => {
    if (node.kind !== "scalar") return fail(node, "expected a scalar: a text, number, true or false");
    return isNullNode(node) ? "" : node.text;
  };

  const item = (node: YamlNode): string => {
    const text = scalar(node);
    return text.includes(",") ? fail(node, "a comma separates values and cannot be part of one") : text;
  };

  let root: YamlNode | undefined;
  try {
    root = readYaml(source);
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw new SettingsError([`${placeOf(error.position)}: ${error.message}`]);
  }
  if (root === undefined || isNullNode(root)) return [];
  if (root.kind !== "mapping") return fail(root, "expected a mapping from setting names to values");
  const variables = composeVariables(root, (why, at) => {
    throw new SettingsError([`${placeOf(positionOf(at))}: ${why}`]);
  });
  if (variables !== undefined) {
    return variables.map(({ name, text, at }) => ({ name, text, origin: placeOf(positionOf(at)) }));
  }
  return root.pairs.map(({ key, value }) => ({
    name: key.text,
    text: value.kind === "sequence" ? value.items.map(item).join(",") : scalar(value),
    origin: placeOf(positionOf(key.at)),
  }));
}
