import { endOfValue, fieldKey, findValue } from "./line-fields.ts";
import { recordTypeOf } from "./record-type.ts";

/**
 * Makes the labels of a line as a JSON object of texts: `{"service_name":"netgloss","record_type":"flow",…}`, and each chosen
 * field that the line has, with underscores in its name.
 */
export function createLabelsOf(fields: readonly string[]): (line: Buffer, from: number, to: number) => string {
  const chosen = fields.map((field) => ({ name: labelName(field), key: fieldKey(field) }));
  return (line, from, to) => {
    let labels = `{"service_name":"netgloss","record_type":"${recordTypeOf(line, from, to)}"`;
    for (const { name, key } of chosen) {
      const value = findValue(line, from, to, key);
      if (value < 0) continue;
      const text = line.toString("utf8", value, endOfValue(line, value, to));
      labels += `,"${name}":${text.startsWith('"') ? text : JSON.stringify(text)}`;
    }
    return `${labels}}`;
  };
}

/** Labels have letters, digits and underscores. */
export function labelName(field: string): string {
  return field.replaceAll(/[^a-zA-Z0-9_]/g, "_").replace(/^(?=[0-9])/, "_");
}
