import {
  createPositions,
  isNullNode,
  readYaml,
  YamlFault,
  type YamlNode,
  type YamlPair,
} from "../../../base/yaml/index.ts";
import { nearName } from "../../../base/text/index.ts";
import type { Profile } from "./profile.ts";

export interface Profiles {
  /** The name of the default profile. */
  readonly current: string | undefined;
  readonly profiles: ReadonlyMap<string, Profile>;
}

/**
 * Reads a file of profiles:
 *
 *     current: lab
 *     profiles:
 *       lab: {url: "https://netgloss.example.com", user: alice, ca: lab-ca.pem}
 *
 * @param names fields of a profile by their names in the file.
 */
export function parseProfiles(
  path: string,
  text: string,
  names: Readonly<Record<string, keyof Profile>>,
  fail: (message: string) => never,
): Profiles {
  const positionOf = createPositions(text);
  const failAt = (node: YamlNode, why: string): never => {
    const { line, column } = positionOf(node.at);
    return fail(`${path}:${line}:${column}: ${why}`);
  };
  const pairsOf = (node: YamlNode | undefined): readonly YamlPair[] => {
    if (node === undefined || isNullNode(node)) return [];
    return node.kind === "mapping" ? node.pairs : failAt(node, "expected a mapping");
  };
  const textOf = (node: YamlNode): string =>
    node.kind === "scalar" && !isNullNode(node) ? node.text : failAt(node, "expected a text");
  const unknown = ({ key }: YamlPair, known: readonly string[]): never => {
    const near = nearName(key.text, known);
    return failAt(key, `${key.text} is not known here: ${near === undefined ? known.join(", ") : `is ${near} meant?`}`);
  };

  let current: string | undefined;
  const profiles = new Map<string, Profile>();
  for (const pair of pairsOf(readRoot(path, text, fail))) {
    if (pair.key.text === "current") current = textOf(pair.value);
    else if (pair.key.text === "profiles") {
      for (const { key, value } of pairsOf(pair.value)) {
        const fields = pairsOf(value).map((field) => {
          const name = Object.hasOwn(names, field.key.text) ? names[field.key.text] : undefined;
          return name === undefined ? unknown(field, Object.keys(names)) : [name, textOf(field.value)];
        });
        profiles.set(key.text, Object.fromEntries(fields) as Profile);
      }
    } else unknown(pair, ["current", "profiles"]);
  }
  return { current, profiles };
}

function readRoot(path: string, text: string, fail: (message: string) => never): YamlNode | undefined {
  try {
    return readYaml(text);
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    return fail(`${path}:${error.position.line}:${error.position.column}: ${error.message}`);
  }
}
