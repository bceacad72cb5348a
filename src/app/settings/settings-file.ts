import { EVENT_ID, getScalarValue, parseEvents, SCALAR_STYLE, YAMLException, type Event } from "js-yaml";
import { SettingsError } from "./settings-error.ts";
import type { GivenSetting } from "./settings-source.ts";

/**
 * Reads the text of a settings file: one YAML mapping from setting names to scalars, or to sequences of scalars for
 * lists. Values are taken as they are spelt, so `0123` stays what it is; `null`, `~` and nothing are the empty text.
 *
 * @throws SettingsError naming file:line:column for anything else.
 */
export function parseSettingsFile(file: string, source: string): GivenSetting[] {
  const events = eventsOf(file, source);
  const fail = (offset: number, why: string): never => {
    throw new SettingsError([`${position(file, source, offset)}: ${why}`]);
  };
  const given: GivenSetting[] = [];
  const seen = new Map<string, string>();
  let at = 0;
  const scalar = (): { text: string; offset: number } => {
    const event = events[at++];
    if (event?.type !== EVENT_ID.SCALAR) {
      return fail(startOf(event), "expected a scalar: a text, number, true or false");
    }
    const value = getScalarValue(source, event);
    const isNull = event.style === SCALAR_STYLE.PLAIN && /^(?:~|null|Null|NULL|)$/.test(value);
    return { text: isNull ? "" : value, offset: event.valueStart };
  };

  if (events[at]?.type !== EVENT_ID.DOCUMENT) return given;
  at++;
  const root = events[at++];
  if (root?.type === EVENT_ID.SCALAR && root.valueStart === root.valueEnd) return given;
  if (root?.type !== EVENT_ID.MAPPING) return fail(0, "expected a mapping from setting names to values");
  while (events[at] !== undefined && events[at]?.type !== EVENT_ID.POP) {
    const { text: name, offset } = scalar();
    const origin = position(file, source, offset);
    const earlier = seen.get(name);
    if (earlier !== undefined) fail(offset, `${name} is set twice, first at ${earlier}`);
    seen.set(name, origin);
    given.push({ name, text: scalarOrList(), origin });
  }
  if (events[at + 2] !== undefined) fail(source.length, "expected one YAML document");
  return given;

  function scalarOrList(): string {
    if (events[at]?.type !== EVENT_ID.SEQUENCE) return scalar().text;
    at++;
    const items: string[] = [];
    while (events[at] !== undefined && events[at]?.type !== EVENT_ID.POP) {
      const item = scalar();
      if (item.text.includes(",")) fail(item.offset, "a comma separates values and cannot be part of one");
      items.push(item.text);
    }
    at++;
    return items.join(",");
  }
}

/** Where the text of a collection or an alias starts, the asterisk of the latter included. */
function startOf(event: Event | undefined): number {
  if (event !== undefined && "start" in event) return event.start;
  return event?.type === EVENT_ID.ALIAS ? event.anchorStart - 1 : 0;
}

function eventsOf(file: string, source: string): Event[] {
  try {
    return parseEvents(source, { filename: file });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const mark = error.mark;
    const where = mark === undefined ? file : `${file}:${mark.line + 1}:${mark.column + 1}`;
    throw new SettingsError([`${where}: ${error.reason}`]);
  }
}

/** `file:line:column`, both counted from 1. */
function position(file: string, source: string, offset: number): string {
  const before = source.slice(0, offset).split("\n");
  return `${file}:${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
}
