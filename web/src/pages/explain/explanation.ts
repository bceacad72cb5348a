import type { Entry } from "../../api/entry.ts";

/** What ExplainAddress answers; what is empty is left out. */
export interface Explanation {
  readonly ip: string;
  readonly contexts?: readonly ExplainedContext[];
  /** Those that cover the address, the most specific first. */
  readonly entries?: readonly Entry[];
}

export interface ExplainedContext {
  readonly context: string;
  readonly fields?: readonly ExplainedField[];
  readonly ignored?: readonly Loser[];
}

export interface ExplainedField {
  readonly field: string;
  /** JSON. */
  readonly value: string;
  readonly origins?: readonly Origin[];
  readonly losers?: readonly Loser[];
}

export interface Origin {
  readonly source?: string;
  readonly key?: string;
  readonly layer?: string;
  readonly change?: number;
  readonly author?: string;
  readonly time?: string;
  readonly file?: string;
  readonly line?: number;
}

export interface Loser {
  readonly field?: string;
  readonly value?: string;
  readonly origin?: Origin;
  readonly reason?: string;
}

/** Contexts in which all is the same, under one heading. */
export interface ContextGroup {
  readonly contexts: readonly string[];
  /** Fields without the object before them. */
  readonly fields: readonly ExplainedField[];
  readonly ignored: readonly Loser[];
}

const objects: Readonly<Record<string, string>> = {
  src: "flow.src",
  dst: "flow.dst",
  exporter: "flow.export",
  system: "system",
};

export const contextLabels: Readonly<Record<string, string>> = {
  src: "source",
  dst: "destination",
  exporter: "exporter",
  system: "SNMP device",
};

export function groupContexts(contexts: readonly ExplainedContext[]): readonly ContextGroup[] {
  const groups = new Map<string, ContextGroup>();
  for (const { context, fields = [], ignored = [] } of contexts) {
    const short = (field = ""): string => {
      const object = objects[context] ?? "";
      return field.startsWith(`${object}.`) ? field.slice(object.length) : field;
    };
    const shortLoser = (loser: Loser): Loser => ({ ...loser, field: short(loser.field) });
    const shown = {
      fields: fields.map(({ field, value, origins = [], losers = [] }) => ({
        field: short(field),
        value,
        origins,
        losers: losers.map(shortLoser),
      })),
      ignored: ignored.map(shortLoser),
    };
    // The order of fields differs from object to object.
    const key = JSON.stringify([shown.fields.toSorted((a, b) => (a.field < b.field ? -1 : 1)), shown.ignored]);
    const group = groups.get(key);
    groups.set(key, { ...shown, contexts: [...(group?.contexts ?? []), context] });
  }
  return [...groups.values()];
}

/** The values of a field: of a list each, with its origin. */
export function valuesOf({
  value,
  origins = [],
}: ExplainedField): readonly (readonly [text: string, origin: Origin | undefined])[] {
  const parsed = parse(value);
  if (Array.isArray(parsed)) return parsed.map((one, at) => [textOf(one), origins[at] ?? origins[0]]);
  return [[textOf(parsed), origins[0]]];
}

/** JSON as people read it; numbers with all their digits. */
export function valueText(value: string | undefined): string {
  return textOf(parse(value ?? ""));
}

function parse(json: string): unknown {
  // A number that a double would round stays as it is.
  if (/^-?\d+$/.test(json)) return json;
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
