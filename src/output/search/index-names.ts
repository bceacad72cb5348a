import { fieldKey, findValue } from "../delivery/line-fields.ts";
import { recordTypeOf, type RecordType } from "../delivery/record-type.ts";
import type { SearchOutputConfig } from "./search-config.ts";

/** What comes before the suffix and the day in the name of an index. */
const baseNames: Readonly<Record<RecordType, string>> = {
  flow: "netgloss-flow",
  flow_option: "netgloss-flow-option",
  telemetry: "netgloss-telemetry",
  as_path_hop: "netgloss-as-path-hop",
};

/** The names of the data streams, or what the names of indices begin with. */
export function indexBases({ suffix }: Pick<SearchOutputConfig, "suffix">): readonly string[] {
  return Object.values(baseNames).map((name) => (suffix === "" ? name : `${name}-${suffix}`));
}

/** The name of the index for a line. */
export type IndexOf = (line: Buffer, from: number, to: number) => string;

const timestampKey = fieldKey("@timestamp");

export function createIndexOf({ suffix, period }: Pick<SearchOutputConfig, "suffix" | "period">): IndexOf {
  const end = suffix === "" ? "" : `-${suffix}`;
  const digits = { rollover: 0, daily: 10, monthly: 7 }[period];
  if (digits === 0) return (line, from, to) => baseNames[recordTypeOf(line, from, to)] + end;
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
    return baseNames[recordTypeOf(line, from, to)] + end + lastText;
  };
}
