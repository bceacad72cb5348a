import { shortNames, fieldPatterns, recordFields } from "../record/index.ts";
import type { ViewDescription } from "../server/index.ts";

/** Where values come from that no exporter or device has sent. */
const addedBy =
  /^(?:metadata|MaxMind|derived|interface file|application files|locality|DSCP names|port names|sampling|DNS|rollup|flow\.\w+)\b/;

const isAdded = (source: string): boolean => source.split(/[;,]/).every((part) => addedBy.test(part.trim()));

/** What `GET /api/v1/fields` answers: the names that records have, and those that filters know as well. */
export function fieldsView(): unknown {
  return {
    fields: recordFields.map(({ name, type, isArray, unit, description, source }) => ({
      name,
      type,
      isArray,
      unit: unit === "" ? undefined : unit,
      description,
      source,
      isAdded: isAdded(source),
    })),
    patterns: fieldPatterns.map(({ pattern, description, source }) => ({
      pattern,
      description,
      source,
      isAdded: isAdded(source),
    })),
    shortNames: shortNames.map(({ name, fields, description }) => ({ name, fields, description })),
  };
}

const text = { type: "string" };
const flag = (description: string): ViewDescription["schema"] => ({ type: "boolean", description });
const list = (properties: Readonly<Record<string, unknown>>, ...optional: readonly string[]): unknown => ({
  type: "array",
  items: {
    type: "object",
    additionalProperties: false,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
    properties,
  },
});

export const fieldsDescription: ViewDescription = {
  summary: "The fields of records, and the short names of filters",
  schema: {
    type: "object",
    additionalProperties: false,
    required: ["fields", "patterns", "shortNames"],
    properties: {
      fields: list(
        {
          name: text,
          type: text,
          isArray: flag("Whether the value is an array."),
          unit: text,
          description: text,
          source: { type: "string", description: "Where the value comes from: elements, structures, settings." },
          isAdded: flag("Whether enrichment adds it: nothing that an exporter or a device sends has it."),
        },
        "unit",
      ),
      patterns: list({ pattern: text, description: text, source: text, isAdded: flag("As above.") }),
      shortNames: list({ name: text, fields: { type: "array", items: text }, description: text }),
    },
  },
};
