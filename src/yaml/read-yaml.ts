import { EVENT_ID, parseEvents, YAMLException } from "js-yaml";
import { createPlainYamlReader, plainYamlSteps } from "./plain-yaml.ts";
import { positionAt, YamlFault } from "./yaml-fault.ts";
import { createYamlComposer } from "./yaml-composer.ts";
import type { YamlNode } from "./yaml-node.ts";

/**
 * Reads a text that holds one YAML document at most: scalars as they are spelt, aliases followed. What most people write
 * is read by a reader of our own, which is several times faster than the library behind it.
 *
 * @param twice is given keys that are there twice in a mapping, for who wants to know all faults. Left out: they are refused.
 * @returns undefined for a text that says nothing.
 * @throws YamlFault for a syntax error, and for what {@link createYamlComposer} refuses.
 */
export function readYaml(text: string, twice?: (message: string, at: number) => void): YamlNode | undefined {
  const plain = createPlainYamlReader()(text);
  return plain === undefined ? readByLibrary(text, twice) : plain.root;
}

/** The same in steps, one for each pair of the outermost mapping; a text that the library has to read is one step. */
export function* readYamlSteps(text: string): Generator<void, YamlNode | undefined> {
  const plain = yield* plainYamlSteps(text);
  return plain === undefined ? readByLibrary(text) : plain.root;
}

function readByLibrary(text: string, twice?: (message: string, at: number) => void): YamlNode | undefined {
  const composer = createYamlComposer(text, parse(text), twice);
  let root: YamlNode | undefined;
  for (let event = composer.peek(); event !== undefined; event = composer.peek()) {
    composer.skip();
    if (event.type !== EVENT_ID.DOCUMENT) continue;
    if (event.directives.some((directive) => directive.kind === "tag")) {
      composer.fail("the %TAG directive is not supported", 0);
    }
    const node = composer.node();
    if (root !== undefined) composer.fail("a second document: the file must hold one", node.at);
    root = node;
  }
  return root;
}

/** The library's words for slips that they do not lead to. */
const hints: ReadonlyMap<string, string> = new Map([
  ["deficient indentation", "a bracket or a quote before this is not closed, or this line is not indented enough"],
  ["bad indentation of a mapping entry", "bad indentation of a mapping entry, or a text that needs quotes"],
]);

function parse(text: string): ReturnType<typeof parseEvents> {
  try {
    return parseEvents(text, {});
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    throw new YamlFault(hints.get(error.reason) ?? error.reason, positionAt(text, error.mark?.position ?? 0));
  }
}
