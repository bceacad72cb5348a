import { EVENT_ID, parseEvents, YAMLException } from "js-yaml";
import { createPlainYamlReader, plainYamlSteps } from "./plain-yaml.ts";
import { positionAt, YamlFault } from "./yaml-fault.ts";
import { createYamlAnchors, createYamlComposer } from "./yaml-composer.ts";
import { isNullNode, type YamlMapping, type YamlNode, type YamlSequence } from "./yaml-node.ts";

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

/** A part of a text, read as if it were one: some pairs or items of the outermost collection. */
export interface YamlPart {
  readonly root: YamlMapping | YamlSequence;
  readonly text: string;
  /** Lines of the text before it. */
  readonly linesBefore: number;
}

/** Characters of a part, of a text that is read as a whole, and of one that can only be read so and is refused. */
const partLength = 16 * 1024;
const shortText = 256 * 1024;
const longestWhole = 1024 * 1024;

/**
 * Reads a long text part by part, each of which takes some milliseconds. It does so where the outermost collection is in block style and
 * begins at the start of a line. Keys that are there twice in different parts are for the caller to find.
 *
 * @param twice is given keys that are there twice in one part, and the line of the whole text.
 * @throws YamlFault with the position in the whole text, also for a long text that can only be read as a whole.
 */
export function* readYamlParts(
  text: string,
  twice: (message: string, line: number) => void,
): Generator<YamlPart, void> {
  const first = text.length <= shortText ? undefined : firstSign(text);
  if (first === undefined || /[ \t{[|>]/.test(first)) {
    if (text.length > longestWhole) {
      const message = `a text of more than ${longestWhole} characters is read in parts: its entries must begin at the start of a line, in block style`;
      throw new YamlFault(message, { line: 1, column: 1 });
    }
    const root = readYaml(text, (message, at) => twice(message, positionAt(text, at).line));
    if (root !== undefined && !isNullNode(root)) yield { root: collection(root), text, linesBefore: 0 };
    return;
  }
  const plain = createPlainYamlReader();
  const anchors = createYamlAnchors(text);
  let linesBefore = 0;
  for (let start = 0; start < text.length;) {
    const end = partEnd(text, start, first === "-");
    const part = text.slice(start, end);
    const note = (message: string, at: number): void => twice(message, linesBefore + positionAt(part, at).line);
    try {
      const read = plain(part);
      const root = read === undefined ? readByLibrary(part, note, anchors) : read.root;
      if (root !== undefined && !isNullNode(root)) {
        if ((root.kind === "sequence") !== (first === "-")) {
          throw new YamlFault("a list and a mapping, one behind the other", positionAt(part, root.at));
        }
        yield { root: collection(root), text: part, linesBefore };
      }
    } catch (error) {
      if (!(error instanceof YamlFault)) throw error;
      const { line, column } = error.position;
      throw new YamlFault(error.message, { line: linesBefore + line, column });
    }
    linesBefore += part.split("\n").length - 1;
    start = end;
  }
}

function collection(root: YamlNode): YamlMapping | YamlSequence {
  if (root.kind !== "scalar") return root;
  throw new YamlFault("the text is neither a list nor a mapping", { line: 1, column: 1 });
}

/** The first sign of the first line that says anything. */
function firstSign(text: string): string | undefined {
  return /^(?:\uFEFF|---[ \t]*\r?\n|[ \t]*(?:#.*)?\r?\n)*([^])/.exec(text)?.[1];
}

/** Where the part that starts here may end: before the first line behind its length that begins a pair, or an item. */
function partEnd(text: string, start: number, isList: boolean): number {
  const begins = isList ? /^-[ \r\n]/ : /^(?!: |---|\.\.\.|- |-\r?\n)[^ \t\r\n#\]}%]/;
  for (
    let at = text.indexOf("\n", start + partLength) + 1;
    at > 0 && at < text.length;
    at = text.indexOf("\n", at) + 1
  ) {
    if (begins.test(text.slice(at, at + 4))) return at;
  }
  return text.length;
}

function readByLibrary(
  text: string,
  twice?: (message: string, at: number) => void,
  anchors = createYamlAnchors(text),
): YamlNode | undefined {
  const composer = createYamlComposer(text, parse(text), twice, anchors);
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
