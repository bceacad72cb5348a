import { EVENT_ID, getScalarValue, parseEvents, type Event } from "js-yaml";
import type { NodePath } from "./yaml-node.ts";

export interface Position {
  /** From 1. */
  readonly line: number;
  readonly column: number;
}

/** Positions of the keys and values of one document. */
export interface Positions {
  /** Of the value at the path, or of what comes nearest on the way to it. */
  value(path: NodePath): Position;
  /** Of the last key of the path. */
  key(path: NodePath): Position;
  /** The first key that a mapping has twice, and where it was first. */
  readonly duplicate: { readonly path: NodePath; readonly first: Position; readonly second: Position } | undefined;
}

interface Node {
  readonly keyStart: number;
  start: number;
  readonly children: Map<string | number, Node>;
}

/**
 * Reads the positions of a document's nodes. Costs as much as parsing, so it is for files about which there is
 * something to say. What aliases and merges bring in has the position of the mapping that takes it.
 */
export function locateNodes(text: string): Positions {
  const root: Node = { keyStart: 0, start: 0, children: new Map() };
  let duplicate: { path: NodePath; first: number; second: number } | undefined;
  let events: Event[] = [];
  try {
    events = parseEvents(text, {});
  } catch {
    // A broken text has no positions; the error that broke it has its own.
  }
  let at = events[0]?.type === EVENT_ID.DOCUMENT ? 1 : 0;
  if (events.length > at) readNode(root, []);

  const lineStarts = [0];
  for (let i = text.indexOf("\n"); i >= 0; i = text.indexOf("\n", i + 1)) lineStarts.push(i + 1);
  const positionOf = (offset: number): Position => {
    let low = 0;
    let high = lineStarts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((lineStarts[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (lineStarts[low] as number) + 1 };
  };
  const find = (path: NodePath): { node: Node; isWhole: boolean } => {
    let node = root;
    for (const step of path) {
      const child = node.children.get(step);
      if (child === undefined) return { node, isWhole: false };
      node = child;
    }
    return { node, isWhole: true };
  };
  return {
    value: (path) => {
      const { node, isWhole } = find(path);
      return positionOf(isWhole ? node.start : node.keyStart);
    },
    key: (path) => positionOf(find(path).node.keyStart),
    duplicate: duplicate && {
      path: duplicate.path,
      first: positionOf(duplicate.first),
      second: positionOf(duplicate.second),
    },
  };

  function readNode(node: Node, path: NodePath): void {
    const event = events[at++];
    if (event?.type === EVENT_ID.SEQUENCE) {
      node.start = event.start;
      for (let i = 0; !isEnd(); i++) readChild(node, i, startOf(events[at]), [...path, i]);
      at++;
    } else if (event?.type === EVENT_ID.MAPPING) {
      node.start = event.start;
      while (!isEnd()) readEntry(node, path);
      at++;
    } else {
      node.start = startOf(event) ?? node.start;
    }
  }

  function readEntry(node: Node, path: NodePath): void {
    const event = events[at];
    if (event?.type !== EVENT_ID.SCALAR) {
      // A key that is no scalar has no name to find it by.
      const nameless: Node = { keyStart: node.start, start: node.start, children: new Map() };
      readNode(nameless, path);
      readNode(nameless, path);
      return;
    }
    at++;
    const key = getScalarValue(text, event);
    const earlier = node.children.get(key);
    if (earlier !== undefined) {
      duplicate ??= { path: [...path, key], first: earlier.keyStart, second: quoteStart(event.valueStart) };
    }
    readChild(node, key, quoteStart(event.valueStart), [...path, key]);
  }

  function readChild(parent: Node, step: string | number, keyStart: number | undefined, path: NodePath): void {
    const start = keyStart ?? parent.start;
    const child: Node = { keyStart: start, start, children: new Map() };
    if (!parent.children.has(step)) parent.children.set(step, child);
    readNode(child, path);
  }

  function isEnd(): boolean {
    return at >= events.length || events[at]?.type === EVENT_ID.POP;
  }

  /** Where a node starts; an empty scalar has no place of its own. */
  function startOf(event: Event | undefined): number | undefined {
    if (event === undefined) return undefined;
    if (event.type === EVENT_ID.SCALAR) {
      return event.valueStart === event.valueEnd && !isQuote(event.valueStart - 1)
        ? undefined
        : quoteStart(event.valueStart);
    }
    if (event.type === EVENT_ID.ALIAS) return event.anchorStart;
    return event.type === EVENT_ID.SEQUENCE || event.type === EVENT_ID.MAPPING ? event.start : undefined;
  }

  /** The offset of a quoted scalar is that of the text in its quotes. */
  function quoteStart(offset: number): number {
    return isQuote(offset - 1) ? offset - 1 : offset;
  }

  function isQuote(offset: number): boolean {
    return text[offset] === '"' || text[offset] === "'";
  }
}
