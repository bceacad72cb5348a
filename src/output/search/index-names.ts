import { fieldKey, findValue } from "../delivery/line-fields.ts";
import { recordTypeOf, type RecordType } from "../delivery/record-type.ts";
import type { SearchOutputConfig } from "./search-config.ts";

/** What stands between the prefix and the suffix in the name of an index. */
const middles: Readonly<Record<RecordType, string>> = {
  flow: "flow",
  flow_option: "flow-option",
  telemetry: "telemetry",
  as_path_hop: "as-path-hop",
};

type NameParts = Pick<SearchOutputConfig, "prefix" | "suffix">;

/** Parts of a name with dashes between them, the empty ones left out. */
const joinParts = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join("-");

/** The name of the index template. */
export function templateName({ prefix, suffix }: NameParts): string {
  return joinParts(prefix, suffix);
}

/** The names of the data streams, or what the names of indices begin with. */
export function indexBases({ prefix, suffix }: NameParts): readonly string[] {
  return Object.values(middles).map((middle) => joinParts(prefix, middle, suffix));
}

/** The name of the index for a line. */
export type IndexOf = (line: Buffer, from: number, to: number) => string;

const timestampKey = fieldKey("@timestamp");

export function createIndexOf({
  prefix,
  suffix,
  period,
}: Pick<SearchOutputConfig, "prefix" | "suffix" | "period">): IndexOf {
  const entries = Object.entries(middles).map(([type, middle]) => [type, joinParts(prefix, middle, suffix)]);
  const bases = Object.fromEntries(entries) as Record<RecordType, string>;
  const digits = { rollover: 0, daily: 10, monthly: 7 }[period];
  if (digits === 0) return (line, from, to) => bases[recordTypeOf(line, from, to)];
  // Lines of one time follow each other.
  let lastDay = "";
  let lastText = "";
  return (line, from, to) => {
    const at = findValue(line, from, to, timestampKey) + 1;
    const day = at > 0 ? line.toString("latin1", at, at + digits) : "";
    if (day !== lastDay) {
      lastDay = day;
      lastText = /^[0-9-]+$/.test(day) ? `-${day.replaceAll("-", ".")}` : "-undated";
    }
    return bases[recordTypeOf(line, from, to)] + lastText;
  };
}
