import { EVENT_ID, getScalarValue, SCALAR_STYLE, type Event, type ScalarEvent } from "js-yaml";
import { YamlFault, positionAt } from "./yaml-fault.ts";
import type { YamlMapping, YamlNode, YamlPair, YamlScalar, YamlSequence } from "./yaml-node.ts";

/** Levels of a composed node. Less than the parser allows, so that what is written back can be read again. */
const maxDepth = 50;

/** How much aliases may add to a text, in units of {@link YamlNode} weight, however small the text is. */
const freeAliasWeight = 16 * 1024 * 1024;

/** What aliases of a text, or of its parts that are composed one after the other, refer to. */
export interface YamlAnchors {
  readonly nodes: Map<string, YamlNode | "open">;
  /** What aliases stand for so far, and may. */
  weight: number;
  readonly maxWeight: number;
}

export function createYamlAnchors(text: string): YamlAnchors {
  return { nodes: new Map(), weight: 0, maxWeight: Math.max(freeAliasWeight, 10 * text.length) };
}

/** Builds nodes from a stream of parser events, one at a time, in the order of the text. */
export interface YamlComposer {
  /** The next event, not consumed; undefined at the end. */
  peek(): Event | undefined;
  skip(): void;
  /** Consumes one whole node. */
  node(): YamlNode;
  /** Throws a {@link YamlFault} for an offset of the text. */
  readonly fail: (message: string, at: number) => never;
}

/**
 * Refused with a {@link YamlFault}: unknown and self-containing aliases, aliases that stand for far more than the text (a
 * "billion laughs" bomb), deep nesting, keys that are collections, a key twice in one mapping, unpaired surrogates.
 *
 * @param twice is given keys that are there twice, so that reading goes on with the first; left out: they are refused.
 */
export function createYamlComposer(
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
    // Escapes are the only way into a text that was valid UTF-8.
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
