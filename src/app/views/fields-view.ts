import { shortNames, fieldPatterns, recordFields } from "../../record/index.ts";
import type { CollectorAnswer } from "../../server/index.ts";

/** Where values come from that no exporter or device has sent. */
const addedBy =
  /^(?:metadata|MaxMind|derived|interface file|application files|locality|DSCP names|port names|sampling|DNS|rollup|flow\.\w+)\b/;

const isAdded = (source: string): boolean => source.split(/[;,]/).every((part) => addedBy.test(part.trim()));

/** What `GET /api/v1/fields` answers: the names that records have, and those that filters know as well. */
export function fieldsView(): CollectorAnswer<"listFields"> {
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
