import { EVENT_ID, getScalarValue, parseEvents, YAMLException, type Event } from "js-yaml";
import { convertType } from "../mapping/convert-type.ts";
import type { DataType } from "../registry/information-element.ts";
import { reversePen } from "../registry/registry.ts";
import type { CustomElement } from "./custom-element.ts";
import { quote } from "../../text/index.ts";

/** An element and where a file has it: `file:line:column`. */
export interface PlacedElement extends CustomElement {
  readonly place: string;
}

export interface ElementsParsed {
  readonly elements: readonly PlacedElement[];
  /** What is wrong, each beginning with its place. */
  readonly problems: readonly string[];
}

interface Scalar {
  readonly text: string;
  readonly offset: number;
}

/** More problems than this say nothing new. */
const maxProblems = 100;

/**
 * Reads the text of a file of elements: one YAML mapping from `<enterprise number>/<element id>` to `{name, type}` or to
 * `name, type`. Whatever the text is, this does not throw.
 */
export function parseElements(file: string, text: string): ElementsParsed {
  const elements: PlacedElement[] = [];
  const problems: string[] = [];
  const placeOf = (offset: number): string => {
    const before = text.slice(0, offset).split("\n");
    return `${file}:${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
  };
  const problem = (offset: number, why: string): void => {
    if (problems.length < maxProblems) problems.push(`${placeOf(offset)}: ${why}`);
  };

  let events: Event[];
  try {
    events = parseEvents(text, {});
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { mark, reason } = error;
    return {
      elements,
      problems: [mark ? `${file}:${mark.line + 1}:${mark.column + 1}: ${reason}` : `${file}: ${reason}`],
    };
  }
  let at = 0;
  const peek = (): Event | undefined => events[at];
  const scalar = (): Scalar | undefined => {
    const event = events[at];
    if (event?.type !== EVENT_ID.SCALAR) return undefined;
    at++;
    return { text: getScalarValue(text, event), offset: event.valueStart };
  };
  /** Behind the node that is next. */
  const skip = (): void => {
    let depth = 0;
    do {
      const type = events[at++]?.type;
      if (type === EVENT_ID.MAPPING || type === EVENT_ID.SEQUENCE) depth++;
      else if (type === EVENT_ID.POP) depth--;
    } while (depth > 0 && at < events.length);
  };

  if (peek()?.type !== EVENT_ID.DOCUMENT) return { elements, problems };
  at++;
  const root = events[at++];
  if (root?.type === EVENT_ID.SCALAR && root.valueStart === root.valueEnd) return { elements, problems };
  if (root?.type !== EVENT_ID.MAPPING) {
    problem(0, "expected a mapping from <enterprise number>/<element id> to a name and a type");
    return { elements, problems };
  }
  while (peek() !== undefined && peek()?.type !== EVENT_ID.POP) {
    const before = at;
    const key = scalar();
    if (key === undefined) {
      problem(startOf(events[before]), "expected <enterprise number>/<element id>");
      skip();
      skip();
      continue;
    }
    const said = peek()?.type === EVENT_ID.MAPPING ? readMapping(key) : readPair(key);
    const number = said && readKey(key);
    if (said === undefined || number === undefined) continue;
    const type = readType(said.type);
    if (type !== undefined) elements.push({ ...number, name: said.name.text, type, place: placeOf(key.offset) });
  }
  if (events[at + 2] !== undefined) problem(text.length, "expected one YAML document");
  return { elements, problems };

  function readMapping(key: Scalar): { name: Scalar; type: Scalar } | undefined {
    const found: { name?: Scalar; type?: Scalar } = {};
    const wrong = problems.length;
    at++;
    while (peek() !== undefined && peek()?.type !== EVENT_ID.POP) {
      const field = scalar();
      if (field === undefined) {
        problem(startOf(peek()), "expected name or type");
        skip();
        skip();
        continue;
      }
      const start = startOf(peek());
      const value = scalar();
      if (value === undefined) {
        problem(start, `${field.text} must be a text`);
        skip();
      } else if (field.text !== "name" && field.text !== "type")
        problem(field.offset, `expected name or type, not ${quote(field.text)}`);
      else if (found[field.text] !== undefined) problem(field.offset, `${field.text} is there twice`);
      else found[field.text] = value;
    }
    at++;
    const { name, type } = found;
    if (name !== undefined && type !== undefined) return { name, type };
    if (problems.length === wrong) problem(key.offset, `${key.text} has no ${name === undefined ? "name" : "type"}`);
    return undefined;
  }

  function readPair(key: Scalar): { name: Scalar; type: Scalar } | undefined {
    const start = startOf(peek());
    const value = scalar();
    const match = /^([^,]*?) *, *([^,]*)$/.exec(value?.text ?? "");
    if (value === undefined) skip();
    if (value !== undefined && match !== null) {
      return {
        name: { text: match[1] ?? "", offset: value.offset },
        type: { text: match[2] ?? "", offset: value.offset },
      };
    }
    problem(value?.offset ?? start, `${key.text} must be {name, type} or "name, type"`);
    return undefined;
  }

  function readKey({ text: key, offset }: Scalar): { pen: number; id: number } | undefined {
    const match = /^([0-9]{1,10})\/([0-9]{1,5})$/.exec(key);
    const pen = Number(match?.[1]);
    const id = Number(match?.[2]);
    if (match === null || pen > 0xffff_ffff) {
      problem(offset, `expected <enterprise number>/<element id>, not ${quote(key)}`);
    } else if (id === 0 || id > (pen === 0 ? 0xffff : 0x7fff)) {
      problem(
        offset,
        `an element id is from 1 to ${pen === 0 ? "65535 (NetFlow v9; IPFIX: 32767)" : "32767"}, not ${id}`,
      );
    } else if (pen === reversePen) {
      problem(offset, `${reversePen} stands for the reverse direction of IANA's elements`);
    } else return { pen, id };
    return undefined;
  }

  function readType({ text: type, offset }: Scalar): DataType | undefined {
    if (Object.hasOwn(convertType, type)) return type as DataType;
    problem(offset, `expected one of ${Object.keys(convertType).join(", ")}, not ${quote(type)}`);
    return undefined;
  }
}

function startOf(event: Event | undefined): number {
  if (event?.type === EVENT_ID.SCALAR) return event.valueStart;
  return event !== undefined && "start" in event ? event.start : 0;
}
