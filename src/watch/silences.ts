import { defaulted, mapping, readShape, required, scalar } from "../base/yaml/index.ts";
import { readAlertFilter } from "./alert-filter.ts";
import type { Alert, AlertFilter } from "./alerts.ts";
import { readSpan } from "./condition.ts";

/** A silence: it holds back the notices of some alerts for a time; plain data. */
export interface Silence {
  readonly id: string;
  /** An expression over the fields of the alert's key and records. */
  readonly filter: string;
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly until: number;
  readonly by: string;
  readonly comment: string;
}

/** The refusal of a request. The message is for the caller. */
export interface Refused {
  readonly refused: readonly string[];
}

const maxSilences = 1000;
const maxMs = 366 * 86_400_000;
/** Time for which ended silences are still shown. */
const keepMs = 7 * 86_400_000;

const span = scalar("a time such as 30m, 8h or 7d, up to 366d", (text) => readSpan(text, maxMs));
const filterText = scalar("a filter, see docs/filters.md", (text, at) => {
  const read = readAlertFilter(text);
  return typeof read === "object" ? at.error(read.fault) : text;
});
const instant = scalar("a time such as 2026-11-27T18:00:00Z", (text) => {
  const ms = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
});
const comment = scalar("a text of up to 500 characters", (text) => (text.length <= 500 ? text : undefined));

const silenceForm = mapping({
  filter: required(filterText, "The alerts that nobody is told of."),
  for: required(span, "How long."),
  from: defaulted(instant, 0, "When it begins; left out: now."),
  comment: defaulted(comment, "", "Why."),
});
const snoozeForm = mapping({ for: required(span, "How long.") });

/** Reads a JSON value by a shape. */
export function readForm<T>(form: Parameters<typeof readShape<T>>[1], given: unknown): T | Refused {
  const { value, findings, hasErrors } = readShape(JSON.stringify(given ?? {}), form);
  if (!hasErrors && value !== undefined) return value;
  return { refused: findings.map(({ message }) => message) };
}

/** Reads how long an alert is snoozed. @returns milliseconds. */
export function readSnooze(given: unknown): { readonly for: number } | Refused {
  return readForm(snoozeForm, given);
}

interface Known {
  readonly silence: Silence;
  readonly passes: AlertFilter;
}

/** The silences of a collector. */
export class Silences {
  readonly #newId: () => string;
  #known: readonly Known[] = [];

  constructor(newId: () => string) {
    this.#newId = newId;
  }

  /** Restores the silences of another run. It drops those whose filter cannot be read. */
  restore(silences: readonly Silence[]): void {
    this.#known = silences.flatMap((silence) => {
      const filter = readAlertFilter(silence.filter);
      return typeof filter === "object" ? [] : [{ silence, passes: filter }];
    });
  }

  /** Takes the version of a silence that another collector has, in place of its own. */
  put(silence: Silence): void {
    const others = this.#known.filter((each) => each.silence.id !== silence.id);
    this.restore([silence]);
    this.#known = [...others, ...this.#known];
  }

  has(id: string): boolean {
    return this.#known.some(({ silence }) => silence.id === id);
  }

  /** Returns all silences but those that ended long ago, newest first. */
  list(): readonly Silence[] {
    return this.#known.map(({ silence }) => silence).toSorted((a, b) => b.from - a.from);
  }

  /** Adds a silence of a request. @param keys the fields that keys of alerts have. */
  add(given: unknown, by: string, keys: ReadonlySet<string>, now: number): Silence | Refused {
    const read = readForm(silenceForm, given);
    if ("refused" in read) return read;
    const passes = readAlertFilter(read.filter, keys);
    if (typeof passes === "object") return { refused: passes.fault.split("\n") };
    this.#known = this.#known.filter(({ silence }) => silence.until > now - keepMs);
    if (this.#known.length >= maxSilences) return { refused: [`there are ${maxSilences} silences, which is the most`] };
    const from = read.from === 0 ? now : read.from;
    if (from + read.for <= now) return { refused: ["the silence would have ended before now"] };
    const { filter, comment: why } = read;
    const silence = { id: this.#newId(), filter, from, until: from + read.for, by, comment: why };
    this.#known = [...this.#known, { silence, passes }];
    return silence;
  }

  /** Ends a silence. @returns it; undefined where no such silence is in force. */
  end(id: string, now: number): Silence | undefined {
    const found = this.#known.find(({ silence }) => silence.id === id && silence.until > now);
    if (found === undefined) return undefined;
    const ended = { ...found.silence, from: Math.min(found.silence.from, now), until: now };
    this.#known = this.#known.map((each) => (each === found ? { ...each, silence: ended } : each));
    return ended;
  }

  /** Returns the silence of an alert at a time; undefined where it has none. */
  of(alert: Alert, now: number): Silence | undefined {
    return this.#known.find(({ silence, passes }) => isOn(silence, now) && passes(alert))?.silence;
  }

  /** Returns the ids of the silences in force, as a text to compare. */
  inForce(now: number): string {
    return this.#known.flatMap(({ silence }) => (isOn(silence, now) ? [silence.id] : [])).join(" ");
  }
}

const isOn = ({ from, until }: Silence, now: number): boolean => from <= now && now < until;
