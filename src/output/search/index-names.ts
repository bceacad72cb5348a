import { fieldKey, findIn, findValue } from "../delivery/line-fields.ts";
import { recordTypeOf } from "../delivery/line-fields.ts";
import type { RecordType } from "../delivery/settings.ts";
import type { SearchSettings } from "./search-settings.ts";

/** What stands between the prefix and the suffix in the name of an index. */
const middles: Readonly<Record<RecordType, string>> = {
  flow: "flow",
  flow_option: "flow-option",
  telemetry: "telemetry",
  as_path_hop: "as-path-hop",
};

/** Kinds of records that have an index each with NetObserv: it tells three kinds of telemetry apart. */
const theirKinds = ["flow", "flow_option", "telemetry_flow", "telemetry_snmp", "log", "as_path_hop"] as const;
type IndexKind = RecordType | (typeof theirKinds)[number];

/** What NetObserv puts behind the kind: the schema and its version, by which its dashboards choose. */
const schemas = { codex: "codex-2.4", ecs: "ecs-8.0-2.4" } as const;

/** Ends names that follow NetObserv's, so that they are never those of an index or alias of its own. */
const ownEnd = "netgloss";

/** How indices are called: between a prefix and a suffix, as netgloss does, or as NetObserv does with the names of its own schema or of ECS. */
interface NameParts {
  readonly prefix: string;
  readonly suffix: string;
  readonly naming: "netgloss" | "codex" | "ecs";
}

function namePartsOf(settings: SearchSettings): NameParts {
  const theirs = settings.ECS_ENABLE ? "ecs" : "codex";
  const naming = settings.INDEX_NAMING === "netgloss" ? "netgloss" : theirs;
  return { prefix: settings.INDEX_PREFIX, suffix: settings.INDEX_SUFFIX, naming };
}

/** Parts of a name with dashes between them, the empty ones left out. */
const joinParts = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join("-");

/** The name of the index template. */
export function templateName(settings: SearchSettings): string {
  const { prefix, suffix, naming } = namePartsOf(settings);
  return naming === "netgloss" ? joinParts(prefix, suffix) : joinParts(prefix, naming, suffix, ownEnd);
}

/** The names of the data streams, or what the names of indices begin with. */
export function indexBases(settings: SearchSettings): readonly string[] {
  return Object.values(basesOf(namePartsOf(settings)));
}

/** By the kinds that the naming tells apart. */
function basesOf({ prefix, suffix, naming }: NameParts): Readonly<Record<IndexKind, string>> {
  const entries =
    naming === "netgloss"
      ? Object.entries(middles).map(([type, middle]) => [type, joinParts(prefix, middle, suffix)])
      : theirKinds.map((kind) => [kind, joinParts(prefix, kind, schemas[naming], suffix, ownEnd)]);
  return Object.fromEntries(entries) as Record<IndexKind, string>;
}

const objectKey = fieldKey("snmp.object.name");
const trapKey = fieldKey("snmp.trap.oid");
/** Both fields stand within this many bytes: behind the time, the address and the name of the device. */
const headBytes = 512;

/** As NetObserv tells them apart. */
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

export function createIndexOf(settings: SearchSettings): IndexOf {
  const parts = namePartsOf(settings);
  const bases = basesOf(parts);
  const kind = parts.naming === "netgloss" ? recordTypeOf : kindOf;
  const digits = { rollover: 0, daily: 10, monthly: 7 }[settings.INDEX_PERIOD];
  if (digits === 0) return (line, from, to) => bases[kind(line, from, to)];
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
    return bases[kind(line, from, to)] + lastText;
  };
}
