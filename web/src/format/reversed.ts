/** Names of fields of one end of a flow, and of the other. */
const ends: Readonly<Record<string, string>> = { src: "dst", dst: "src" };
/** The interfaces by which flows come and go; alone, `in` is a word of the language. */
const ways: Readonly<Record<string, string>> = { in: "out", out: "in" };

const measures: Readonly<Record<string, string>> = {
  utilisation_in: "utilisation_out",
  utilisation_out: "utilisation_in",
  sources: "destinations",
  destinations: "sources",
  source_ports: "destination_ports",
  destination_ports: "source_ports",
};

/** Returns the measure that has of the other way of a flow what this one has. */
export const reversedMeasure = <T extends string>(measure: T): T => (measures[measure] ?? measure) as T;

/** Returns the name of the field that has of the other end, or way, of a flow what this one has: `flow.dst.ip.addr`. */
export function reversedField(name: string): string {
  const parts = name.split(".");
  const at = parts[0] === "flow" ? 1 : 0;
  const part = parts[at] ?? "";
  const other = ends[part] ?? (parts.length > at + 1 ? ways[part] : undefined);
  return other === undefined ? name : parts.with(at, other).join(".");
}

/** Words have no quotes; a text in quotes or in a comment is none, and a name may stand in backquotes. */
const parts = /"(?:\\.|[^"\\])*"|'[^']*'|#[^\n]*|`([^`]*)`|[^\s"'`()[\]{},=!<>~#&|]+/g;
/** Behind a field there is an operator, behind a value there is none. */
const operator = /^\s*(?:[=!<>~]|(?:not\s+)?(?:in|exists)\b)/i;

/** Returns the filter of docs/filters.md that finds the flows of the other way; its values and comments stay. */
export function reversedFilter(filter: string): string {
  return filter.replaceAll(parts, (text, quoted: string | undefined, at: number) => {
    if (quoted !== undefined) return `\`${reversedField(quoted)}\``;
    const isField = !/^["'#]/.test(text) && operator.test(filter.slice(at + text.length));
    return isField ? reversedField(text) : text;
  });
}
