import {
  isNullNode,
  mergedPairs,
  type Fail,
  type YamlMapping,
  type YamlNode,
  type YamlPair,
} from "../../yaml/index.ts";

/** A variable of a service, with the offset of its name. */
export interface ComposeVariable {
  readonly name: string;
  readonly text: string;
  readonly at: number;
}

/**
 * The settings among the variables below `environment` of the services of a Compose file, in its order. A variable without a value, which
 * Compose takes from the shell, has the empty text. Files named by `env_file` are not read.
 *
 * @returns undefined when the mapping is no Compose file: it has no `services`.
 * @throws what `fail` does, for a value that Compose would fill in.
 */
export function composeVariables(root: YamlMapping, fail: Fail): ComposeVariable[] | undefined {
  const services = valueOf(root, "services", fail);
  if (services?.kind !== "mapping") return undefined;
  return mergedPairs(services, fail)
    .map(({ value }) => (value.kind === "mapping" ? valueOf(value, "environment", fail) : undefined))
    .flatMap((environment) => (environment === undefined ? [] : variablesOf(environment, fail)))
    .filter(({ name }) => /^(?:SVC|EF)_/.test(name))
    .map(({ name, text, at }) => ({ name, text: filledIn(text, at, fail), at }));
}

function valueOf(mapping: YamlMapping, name: string, fail: Fail): YamlNode | undefined {
  return mergedPairs(mapping, fail).find(({ key }) => key.text === name)?.value;
}

function variablesOf(environment: YamlNode, fail: Fail): ComposeVariable[] {
  if (environment.kind === "mapping") return mergedPairs(environment, fail).map((pair) => variableOf(pair, fail));
  if (environment.kind === "scalar") return [];
  return environment.items.map((item) => {
    if (item.kind !== "scalar") return fail("expected NAME=value", item.at);
    const [, name = item.text, text = ""] = /^([^=]*)=(.*)$/s.exec(item.text) ?? [];
    return { name, text, at: item.at };
  });
}

function variableOf({ key, value }: YamlPair, fail: Fail): ComposeVariable {
  if (value.kind !== "scalar") return fail("expected a scalar: a text, number, true or false", value.at);
  return { name: key.text, text: isNullNode(value) ? "" : value.text, at: key.at };
}

/** `$$` is a dollar; anything else behind a dollar is for Compose, which knows the values. */
function filledIn(text: string, at: number, fail: Fail): string {
  if (/\$[A-Za-z_{]/.test(text.replaceAll("$$", ""))) {
    fail("a variable of Compose is not filled in here: write its value in place of it", at);
  }
  return text.replaceAll("$$", "$");
}
