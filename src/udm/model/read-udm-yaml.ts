import { EVENT_ID, parseEvents, YAMLException, type Event } from "js-yaml";
import { KeyError, parseKey, type Key } from "../../ip/index.ts";
import { YamlFault, positionAt } from "../../yaml/index.ts";
import { itemsATurn, nextTurn } from "./next-turn.ts";
import type { UdmContext, UdmEntry } from "./udm-entry.ts";
import { createYamlComposer, type YamlComposer } from "../../yaml/index.ts";
import { mergedPairs, readBool, readContexts, readText, readTextMap, readTexts, readVlan } from "./read-fields.ts";
import { isNullNode, type YamlNode, type YamlScalar } from "../../yaml/index.ts";
import { renderPair } from "../../yaml/index.ts";

/** What a metadata file says. */
export interface UdmFileContent {
  /** In the order of the file. */
  readonly entries: readonly UdmEntry[];
  /** Names of fields that are kept but mean nothing here, and how many entries have them. */
  readonly unknownFields: ReadonlyMap<string, number>;
}

/**
 * Reads a metadata file: one YAML document, a mapping from key to `{name, tags, vlan, internal, metadata, contexts}`.
 * An empty document is an empty database, a null entry one without values. Scalars are taken as they are spelt, so that
 * `01`, `1.10`, `1e3` and `yes` are those texts, and no key is ever read as a number. Aliases and merge keys are
 * followed. Rules on length and characters are not checked here.
 *
 * @throws YamlFault for a syntax error, a bad key, a key twice (also in two spellings) or a value of a wrong shape.
 */
export async function readUdmYaml(text: string): Promise<UdmFileContent> {
  const composer = createYamlComposer(text, parse(text));
  const entries: UdmEntry[] = [];
  const unknownFields = new Map<string, number>();
  const firstAt = new Map<string, number>();

  for (const { keyNode, value } of topPairs(composer)) {
    const key = readKey(keyNode, composer);
    const earlier = firstAt.get(key.text);
    if (earlier !== undefined) {
      const { line, column } = positionAt(text, earlier);
      composer.fail(
        `key ${JSON.stringify(keyNode.text)} is given twice, first at line ${line}, column ${column}`,
        keyNode.at,
      );
    }
    firstAt.set(key.text, keyNode.at);
    entries.push(readEntry(key, value, composer, unknownFields));
    if (entries.length % itemsATurn === 0) await nextTurn();
  }
  return { entries, unknownFields };
}

function parse(text: string): Event[] {
  try {
    return parseEvents(text, {});
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    throw new YamlFault(error.reason, positionAt(text, error.mark?.position ?? 0));
  }
}

/** The pairs of the root mapping of the one document that says anything. */
function* topPairs(composer: YamlComposer): Generator<{ keyNode: YamlScalar; value: YamlNode }> {
  let isRead = false;
  for (let event = composer.peek(); event !== undefined; event = composer.peek()) {
    if (event.type === EVENT_ID.DOCUMENT && event.directives.some((directive) => directive.kind === "tag")) {
      composer.fail("the %TAG directive is not supported", 0);
    }
    composer.skip();
    const root = composer.peek();
    if (root?.type === EVENT_ID.MAPPING) {
      if (isRead) composer.fail("a second document: the file must hold one", root.start);
      isRead = true;
      composer.skip();
      while (composer.peek()?.type !== EVENT_ID.POP) {
        const keyNode = composer.scalar("a key");
        yield { keyNode, value: composer.node() };
      }
      composer.skip();
    } else {
      const node = composer.node();
      if (!isNullNode(node)) composer.fail("expected a mapping from keys (IP, CIDR or range) to entries", node.at);
    }
    composer.skip();
  }
}

function readKey(node: YamlScalar, composer: YamlComposer): Key {
  try {
    return parseKey(node.text);
  } catch (error) {
    if (error instanceof KeyError) composer.fail(error.message, node.at);
    throw error;
  }
}

function readEntry(key: Key, node: YamlNode, composer: YamlComposer, unknownFields: Map<string, number>): UdmEntry {
  const fail = composer.fail;
  let name = "";
  let tags: readonly string[] = [];
  let vlan = 0n;
  let internal = false;
  let metadata: ReadonlyMap<string, string> = new Map();
  let contexts: readonly UdmContext[] | undefined;
  let yaml = "";

  if (node.kind !== "mapping" && !isNullNode(node)) fail(`the entry of ${key.text} must be a mapping`, node.at);
  for (const pair of node.kind === "mapping" ? mergedPairs(node, fail) : []) {
    const { value } = pair;
    switch (pair.key.text) {
      case "name":
        name = readText(value, "name", fail);
        break;
      case "tags":
        tags = readTexts(value, "tags", fail);
        break;
      case "vlan":
        vlan = readVlan(value, fail);
        break;
      case "internal":
        internal = readBool(value, "internal", fail);
        break;
      case "metadata":
        metadata = readTextMap(value, "metadata", fail);
        break;
      case "contexts":
        contexts = readContexts(value, fail);
        yaml += renderPair(pair, "  ");
        break;
      default:
        unknownFields.set(pair.key.text, (unknownFields.get(pair.key.text) ?? 0) + 1);
        yaml += renderPair(pair, "  ");
    }
  }

  const values = { key, name, tags, vlan, internal, metadata };
  if (yaml === "") return values;
  return { ...values, fileOnly: contexts === undefined ? { yaml } : { yaml, contexts } };
}
