import { fieldKey, findIn, findValue } from "../delivery/line-fields.ts";
import { recordTypeOf, type RecordType } from "../delivery/record-type.ts";
import type { SearchOutputConfig } from "./search-config.ts";

/** Kinds of records that have an index each. NetObserv tells three kinds of telemetry apart. */
type IndexKind = Exclude<RecordType, "telemetry"> | "telemetry_flow" | "telemetry_snmp" | "log";

/** What stands between the prefix and the suffix in the name of an index. */
const middles: Readonly<Record<IndexKind, string>> = {
  flow: "flow",
  flow_option: "flow-option",
  telemetry_flow: "telemetry",
  telemetry_snmp: "telemetry",
  log: "telemetry",
  as_path_hop: "as-path-hop",
};

/** What NetObserv puts behind the kind: the schema and its version, by which its dashboards choose. */
const schemas = { codex: "codex-2.4", ecs: "ecs-8.0-2.4" } as const;

/** Ends names that follow NetObserv's, so that they are never those of an index or alias of its own. */
const ownEnd = "netgloss";

type NameParts = Pick<SearchOutputConfig, "prefix" | "suffix" | "naming">;

/** Parts of a name with dashes between them, the empty ones left out. */
const joinParts = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join("-");

/** The name of the index template. */
export function templateName({ prefix, suffix, naming }: NameParts): string {
  return naming === "netgloss" ? joinParts(prefix, suffix) : joinParts(prefix, naming, suffix, ownEnd);
}

/** The names of the data streams, or what the names of indices begin with. */
export function indexBases(parts: NameParts): readonly string[] {
  return [...new Set(Object.values(basesOf(parts)))];
}

function basesOf({ prefix, suffix, naming }: NameParts): Readonly<Record<IndexKind, string>> {
  const entries = Object.entries(middles).map(([kind, middle]) => [
    kind,
    naming === "netgloss"
      ? joinParts(prefix, middle, suffix)
      : joinParts(prefix, kind, schemas[naming], suffix, ownEnd),
  ]);
  return Object.fromEntries(entries) as Record<IndexKind, string>;
}

const objectKey = fieldKey("snmp.object.name");
const trapKey = fieldKey("snmp.trap.oid");
/** Both fields stand within this many bytes: behind the time, the address and the name of the device. */
const headBytes = 512;

/** Where all telemetry goes to one index, it need not be told apart. */
function ownKindOf(line: Buffer, from: number, to: number): IndexKind {
  const type = recordTypeOf(line, from, to);
  return type === "telemetry" ? "telemetry_flow" : type;
}

function kindOf(line: Buffer, from: number, to: number): IndexKind {
  const type = recordTypeOf(line, from, to);
  if (type !== "telemetry") return type;
  const head = line.subarray(from, Math.min(to, from + headBytes));
  if (findIn(head, objectKey) >= 0) return "telemetry_snmp";
  return findIn(head, trapKey) >= 0 ? "log" : "telemetry_flow";
}

/** The name of the index for a line. */
export type IndexOf = (line: Buffer, from: number, to: number) => string;

const timestampKey = fieldKey("@timestamp");

export function createIndexOf({ period, ...parts }: NameParts & Pick<SearchOutputConfig, "period">): IndexOf {
  const bases = basesOf(parts);
  const find = parts.naming === "netgloss" ? ownKindOf : kindOf;
  const digits = { rollover: 0, daily: 10, monthly: 7 }[period];
  if (digits === 0) return (line, from, to) => bases[find(line, from, to)];
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
    return bases[find(line, from, to)] + lastText;
  };
}
