import {
  EVENT_ID,
  getScalarValue,
  SCALAR_STYLE,
  type Event,
  type ScalarEvent,
  parseEvents,
  YAMLException,
} from "js-yaml";
import {
  YamlFault,
  positionAt,
  type TextPosition,
  type YamlMapping,
  type YamlNode,
  type YamlPair,
  type YamlScalar,
  type YamlSequence,
  isNullNode,
} from "./yaml-node.ts";
import { createPlainYamlReader, plainYamlSteps } from "./plain-yaml.ts";

/** Maximum depth of a composed node. It is less than the parser allows, so that written text can be read again. */
const maxDepth = 50;

/** The alias weight that every text may have, in units of {@link YamlNode} weight, however small the text is. */
const freeAliasWeight = 16 * 1024 * 1024;

/** The anchors for the aliases of a text, or of its parts that are composed one after another. */
interface YamlAnchors {
  readonly nodes: Map<string, YamlNode | "open">;
  /** The total weight of aliases so far, and its limit. */
  weight: number;
  readonly maxWeight: number;
}

function createYamlAnchors(text: string): YamlAnchors {
  return { nodes: new Map(), weight: 0, maxWeight: Math.max(freeAliasWeight, 10 * text.length) };
}

/** Builds nodes from a stream of parser events, one at a time, in the order of the text. */
interface YamlComposer {
  /** Returns the next event without consuming it; undefined at the end. */
  peek(): Event | undefined;
  skip(): void;
  /** Consumes a whole node. */
  node(): YamlNode;
  /** Throws a {@link YamlFault} for an offset of the text. */
  readonly fail: (message: string, at: number) => never;
}

/**
 * Creates a composer. It refuses with a {@link YamlFault}: unknown and self-containing aliases, aliases that stand for far more than the text (a
 * "billion laughs" bomb), deep nesting, keys that are collections, duplicate keys in a mapping, unpaired surrogates.
 *
 * @param twice receives duplicate keys, and reading continues with the first; left out: they are refused.
 */
function createYamlComposer(
  text: string,
  events: readonly Event[],
  twice?: (message: string, at: number) => void,
  anchors = createYamlAnchors(text),
): YamlComposer {
  let next = 0;
  let lastAt = 0;

  const fail = (message: string, at: number): never => {
    throw new YamlFault(message, positionAt(text, at));
  };

  const slice = (start: number, end: number): string | undefined => (start < 0 ? undefined : text.slice(start, end));

  const alias = (start: number, end: number): YamlNode => {
    const name = text.slice(start, end);
    const target = anchors.nodes.get(name);
    lastAt = start - 1;
    if (target === undefined) return fail(`alias *${name} has no anchor before it`, lastAt);
    if (target === "open") return fail(`alias *${name} stands inside the node that it names`, lastAt);
    anchors.weight += target.weight;
    if (anchors.weight > anchors.maxWeight)
      return fail(
        `alias *${name} makes the file too large: its aliases stand for more than ten times its text`,
        lastAt,
      );
    return target;
  };

  const scalar = (event: ScalarEvent): YamlScalar => {
    const { style } = event;
    if (event.anchorStart >= 0) lastAt = event.anchorStart - 1;
    else if (event.tagStart >= 0) lastAt = event.tagStart;
    else if (style === SCALAR_STYLE.PLAIN && event.valueStart >= 0) lastAt = event.valueStart;
    else if (style === SCALAR_STYLE.SINGLE_QUOTED || style === SCALAR_STYLE.DOUBLE_QUOTED)
      lastAt = event.valueStart - 1;
    const value = getScalarValue(text, event);
    // Only escapes can bring surrogates into valid UTF-8 text.
    if (style === SCALAR_STYLE.DOUBLE_QUOTED && !event.fast && /\p{Surrogate}/u.test(value)) {
      fail("the escapes make an unpaired surrogate, which is no Unicode character", lastAt);
    }
    const tag = slice(event.tagStart, event.tagEnd);
    return {
      kind: "scalar",
      at: lastAt,
      tag,
      text: value,
      isPlain: style === SCALAR_STYLE.PLAIN,
      weight: 1 + value.length,
      depth: 1,
    };
  };

  const measured = (parts: readonly YamlNode[], at: number): { weight: number; depth: number } => {
    let weight = 1;
    let depth = 0;
    for (const part of parts) {
      weight += part.weight;
      depth = Math.max(depth, part.depth);
    }
    if (depth >= maxDepth) fail(`nested deeper than ${maxDepth} levels`, at);
    return { weight, depth: depth + 1 };
  };

  const sequence = (at: number, tag: string | undefined): YamlSequence => {
    const items: YamlNode[] = [];
    while (events[next]?.type !== EVENT_ID.POP) items.push(node());
    next++;
    return { kind: "sequence", at, tag, items, ...measured(items, at) };
  };

  const mapping = (at: number, tag: string | undefined): YamlMapping => {
    const pairs: YamlPair[] = [];
    const seen = new Map<string, YamlScalar>();
    while (events[next]?.type !== EVENT_ID.POP) {
      const key = keyNode();
      const earlier = seen.get(key.text);
      if (earlier !== undefined) {
        const { line, column } = positionAt(text, earlier.at);
        const message = `key ${JSON.stringify(key.text)} is given twice, first at line ${line}, column ${column}`;
        (twice ?? fail)(message, key.at);
        node();
        continue;
      }
      seen.set(key.text, key);
      pairs.push({ key, value: node() });
    }
    next++;
    const parts = pairs.flatMap((pair) => [pair.key, pair.value]);
    return { kind: "mapping", at, tag, pairs, ...measured(parts, at) };
  };

  const node = (): YamlNode => {
    const event = events[next++];
    if (event === undefined || event.type === EVENT_ID.POP || event.type === EVENT_ID.DOCUMENT) {
      return fail("a value is missing", lastAt);
    }
    if (event.type === EVENT_ID.ALIAS) return alias(event.anchorStart, event.anchorEnd);
    const anchor = slice(event.anchorStart, event.anchorEnd);
    if (anchor !== undefined) anchors.nodes.set(anchor, "open");
    let built: YamlNode;
    if (event.type === EVENT_ID.SCALAR) {
      built = scalar(event);
    } else {
      lastAt = event.start;
      const tag = slice(event.tagStart, event.tagEnd);
      built = event.type === EVENT_ID.SEQUENCE ? sequence(event.start, tag) : mapping(event.start, tag);
    }
    if (anchor !== undefined) anchors.nodes.set(anchor, built);
    return built;
  };

  const keyNode = (): YamlScalar => {
    const built = node();
    return built.kind === "scalar" ? built : fail("a key must be a scalar", built.at);
  };

  return {
    peek: () => events[next],
    skip: () => void next++,
    node,
    fail,
  };
}

/**
 * Reads a text with at most one YAML document. Scalars keep their spelling; aliases are followed. Our own reader handles common texts several times
 * faster than the library, which reads all others.
 *
 * @param twice receives duplicate keys of mappings, for callers that want to know all faults. Left out: they are refused.
 * @returns undefined for a text without content.
 * @throws YamlFault for a syntax error, and for what {@link createYamlComposer} refuses.
 */
export function readYaml(text: string, twice?: (message: string, at: number) => void): YamlNode | undefined {
  const plain = createPlainYamlReader()(text);
  return plain === undefined ? readByLibrary(text, twice) : plain.root;
}

/** Reads a text in steps, one for each pair of the outermost mapping. A text that the library has to read is one step. */
export function* readYamlSteps(text: string): Generator<void, YamlNode | undefined> {
  const plain = yield* plainYamlSteps(text);
  return plain === undefined ? readByLibrary(text) : plain.root;
}

/** A part of a text as a document: some pairs or items of the outermost collection. */
export interface YamlPart {
  readonly root: YamlMapping | YamlSequence;
  readonly text: string;
  /** Number of lines before it. */
  readonly linesBefore: number;
}

/** Characters of a part, of a text that is read as a whole, and the maximum for one entry. */
const partLength = 16 * 1024;
const shortText = 64 * 1024;
const longestPart = 1024 * 1024;

/**
 * Reads a long text in parts that each take a few milliseconds: some pairs or items of the outermost collection, in block or flow style. The caller must
 * find keys that repeat in different parts.
 *
 * @param twice receives keys that repeat in one part, with the line of the whole text.
 * @throws YamlFault with the position in the whole text, also for a pair or item of more than 1 MiB.
 */
export function* readYamlParts(
  text: string,
  twice: (message: string, line: number) => void,
): Generator<YamlPart, void> {
  const plain = createPlainYamlReader();
  const anchors = createYamlAnchors(text);
  let kind: YamlNode["kind"] | undefined;
  let line = 1;
  let lineStart = 0;
  for (const { start, end, text: part } of text.length <= shortText ? [wholeOf(text)] : cutText(text)) {
    const column = start - lineStart;
    const place = (at: TextPosition): TextPosition =>
      at.line === 1 ? { line, column: column + at.column } : { line: line + at.line - 1, column: at.column };
    const note = (message: string, at: number): void => twice(message, place(positionAt(part, at)).line);
    if (part.length > longestPart) {
      throw new YamlFault(`an entry takes more than ${longestPart} characters`, { line, column: column + 1 });
    }
    try {
      const read = plain(part);
      const root = read === undefined ? readByLibrary(part, note, anchors) : read.root;
      if (root !== undefined && !isNullNode(root)) {
        if (root.kind === "scalar") throw new YamlFault("neither a list nor a mapping", positionAt(part, root.at));
        kind ??= root.kind;
        if (root.kind !== kind)
          throw new YamlFault("a list and a mapping, one behind the other", positionAt(part, root.at));
        yield { root, text: part, linesBefore: line - 1 };
      }
    } catch (error) {
      if (!(error instanceof YamlFault)) throw error;
      throw new YamlFault(error.message, place(error.position));
    }
    for (let at = part.indexOf("\n"); at >= 0 && start + at < end; at = part.indexOf("\n", at + 1)) {
      line++;
      lineStart = start + at + 1;
    }
  }
}

/** A part of a text: its place, and a form that can be read separately. */
interface Cut {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function wholeOf(text: string): Cut {
  return { start: 0, end: text.length, text };
}

function cutText(text: string): Iterable<Cut> {
  // The text before the first sign of the outermost collection: marks, directives, comments.
  const head =
    /^(?:\uFEFF|---[ \t]*(?:#.*)?\r?\n|---[ \t]+(?=[[{])|%.*\r?\n|[ \t]*(?:#.*)?\r?\n)*([ \t]*)(?=[^ \t\r\n])/.exec(
      text,
    );
  if (head === null) return [];
  const first = head[0].length;
  return /[[{]/.test(text[first] ?? "") ? cutFlow(text, first) : cutBlock(text, first, (head[1] as string).length);
}

/** Cuts before lines that begin a pair or an item of the outermost collection. */
function* cutBlock(text: string, first: number, indent: number): Generator<Cut, void> {
  const begins = /^-[ \r\n]/.test(text.slice(first, first + 2))
    ? /^-[ \r\n]/
    : /^(?!: |---|\.\.\.|- |-\r?\n)[^ \t\r\n#\]}%]/;
  const margin = " ".repeat(indent);
  let start = 0;
  for (let at = text.indexOf("\n", partLength) + 1; at > 0 && at < text.length; at = text.indexOf("\n", at) + 1) {
    if (at < start + partLength || !text.startsWith(margin, at)) continue;
    if (!begins.test(text.slice(at + indent, at + indent + 4))) continue;
    yield { start, end: at, text: text.slice(start, at) };
    start = at;
  }
  yield { start, end: text.length, text: text.slice(start) };
}

/** Cuts at commas of the outermost collection, and adds its brackets to each part. */
function* cutFlow(text: string, first: number): Generator<Cut, void> {
  const opening = text[first] as string;
  const closing = opening === "{" ? "}" : "]";
  let start = 0;
  let depth = 0;
  /** True if a quote here begins a scalar and is not a character of one. */
  let begins = true;
  // A part begins at its comma. The bracket replaces the comma, so that columns stay.
  const cut = (end: number, close: string): Cut => {
    const inside = start === 0 ? text.slice(0, end) : opening + text.slice(start + 1, end);
    return { start, end, text: inside + close };
  };
  for (let at = first; at < text.length; at++) {
    if (text.charCodeAt(at) <= 0x20) continue;
    const sign = text[at] as string;
    if (sign === "#" && /\s/.test(text[at - 1] ?? "")) {
      at = endOf(text, "\n", at);
    } else if (begins && (sign === '"' || sign === "'")) {
      at = closingQuote(text, at);
      begins = false;
    } else if (begins && (sign === "!" || sign === "&")) {
      while (/[^\s,[\]{}]/.test(text[at + 1] ?? " ")) at++;
    } else if (sign === "[" || sign === "{") {
      depth++;
      begins = true;
    } else if (sign === "]" || sign === "}") {
      if (--depth === 0) break;
      begins = false;
    } else if (sign === ",") {
      if (depth === 1 && at - start >= partLength) {
        yield cut(at, closing);
        start = at;
      }
      begins = true;
    } else begins = sign === ":" && (/["'\]}]/.test(text[at - 1] ?? "") || /\s/.test(text[at + 1] ?? " "));
  }
  yield cut(text.length, "");
}

function closingQuote(text: string, opening: number): number {
  const quote = text[opening] as string;
  for (let at = endOf(text, quote, opening + 1); at < text.length; at = endOf(text, quote, at + 1)) {
    let before = at - 1;
    if (quote === "'" && text[at + 1] === "'") at++;
    else if (quote === "'") return at;
    else {
      while (text[before] === "\\") before--;
      if ((at - before) % 2 === 1) return at;
    }
  }
  return text.length;
}

function endOf(text: string, sign: string, from: number): number {
  const at = text.indexOf(sign, from);
  return at < 0 ? text.length : at;
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

/** Better words for library messages that do not point to the mistake. */
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
