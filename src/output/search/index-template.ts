import { fieldKey, findIn, findValue, recordTypeOf, type NameOf } from "../delivery/line-fields.ts";
import type { RecordType } from "../delivery/settings.ts";
import type { SearchSettings } from "./settings.ts";
import { fieldPatterns, recordFields, type FieldType } from "../../record/index.ts";

/** Texts between the prefix and the suffix in the name of an index. */
const middles: Readonly<Record<RecordType, string>> = {
  flow: "flow",
  flow_option: "flow-option",
  telemetry: "telemetry",
  as_path_hop: "as-path-hop",
};

/** Kinds of records with an index of their own in NetObserv, which has three kinds of telemetry. */
const theirKinds = ["flow", "flow_option", "telemetry_flow", "telemetry_snmp", "log", "as_path_hop"] as const;
type IndexKind = RecordType | (typeof theirKinds)[number];

/** Texts that NetObserv appends to the kind: the schema and its version, by which its dashboards choose. */
const schemas = { codex: "codex-2.4", ecs: "ecs-8.0-2.4" } as const;

/** The end of names in NetObserv's style, which keeps them apart from NetObserv's own indices and aliases. */
const ownEnd = "netgloss";

/** The parts of index names: a prefix and a suffix in the style of netgloss, or of NetObserv with its own schema or ECS. */
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

/** Joins the parts of a name with dashes, without the empty ones. */
const joinParts = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join("-");

/** Returns the name of the index template. */
export function templateName(settings: SearchSettings): string {
  const { prefix, suffix, naming } = namePartsOf(settings);
  return naming === "netgloss" ? joinParts(prefix, suffix) : joinParts(prefix, naming, suffix, ownEnd);
}

/** Returns the names of the data streams, or the prefixes of index names. */
function indexBases(settings: SearchSettings): readonly string[] {
  return Object.values(basesOf(namePartsOf(settings)));
}

/** Returns the names by the kinds of records that have names of their own. */
function basesOf({ prefix, suffix, naming }: NameParts): Readonly<Record<IndexKind, string>> {
  const entries =
    naming === "netgloss"
      ? Object.entries(middles).map(([type, middle]) => [type, joinParts(prefix, middle, suffix)])
      : theirKinds.map((kind) => [kind, joinParts(prefix, kind, schemas[naming], suffix, ownEnd)]);
  return Object.fromEntries(entries) as Record<IndexKind, string>;
}

const objectKey = fieldKey("snmp.object.name");
const trapKey = fieldKey("snmp.trap.oid");
/** The number of bytes that hold both fields: after the time, the address and the name of the device. */
const headBytes = 512;

/** Returns the kind of a record by NetObserv's distinctions. */
function kindOf(line: Buffer, from: number, to: number): IndexKind {
  const type = recordTypeOf(line, from, to);
  if (type !== "telemetry") return type;
  const head = line.subarray(from, Math.min(to, from + headBytes));
  if (findIn(head, objectKey) >= 0) return "telemetry_snmp";
  return findIn(head, trapKey) >= 0 ? "log" : "telemetry_flow";
}

/** Returns the name of the index for a line. */
export type IndexOf = (line: Buffer, from: number, to: number) => string;

const timestampKey = fieldKey("@timestamp");

export function createIndexOf(settings: SearchSettings): IndexOf {
  const parts = namePartsOf(settings);
  const bases = basesOf(parts);
  const kind = parts.naming === "netgloss" ? recordTypeOf : kindOf;
  const digits = { rollover: 0, daily: 10, monthly: 7 }[settings.INDEX_PERIOD];
  if (digits === 0) return (line, from, to) => bases[kind(line, from, to)];
  // Consecutive lines often have the same time.
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

/** A server that understands the API of Elasticsearch. */
export interface SearchServer {
  readonly product: "elasticsearch" | "opensearch";
  readonly urls: readonly string[];
  /** Headers that identify the user. */
  readonly headers: Readonly<Record<string, string>>;
  /** The lifecycle policy of data streams, created if it does not exist; empty: none. */
  readonly policy: string;
}

/** The target to prepare: the indices of the settings on a server. */
export interface SearchTarget {
  readonly settings: SearchSettings;
  readonly server: SearchServer;
  readonly nameOf: NameOf;
}

/** The version of the template's content; an older template is replaced. */
export const templateVersion = 4;

/** The description that identifies a template of netgloss. */
export const templateDescription = "records of netgloss; changed only by its own newer versions";

/** A keyword; longer texts are kept but not indexed. */
const keyword = { type: "keyword", ignore_above: 1024 };

type MappingOf = (type: FieldType) => object;

/**
 * Returns the index template: the types of all fields of the table of records, and rules for other names.
 *
 * A value of another type than its field's is kept in the document but not indexed. Only a field that would be both an object
 * and a value is refused.
 *
 * @param policy of the lifecycle; undefined: none.
 * @param hasUnsignedLong true if the server has the type `unsigned_long`; else counters are `long`, and those of 2^63 or more
 * are not indexed.
 */
export function indexTemplate(
  { settings, server, nameOf }: SearchTarget,
  policy: string | undefined,
  hasUnsignedLong: boolean,
): object {
  const mappingOf: MappingOf = (type) => {
    if (type === "keyword") return keyword;
    return { type: type === "unsigned_long" && !hasUnsignedLong ? "long" : type };
  };
  const isStream = settings.INDEX_PERIOD === "rollover";
  const bases = indexBases(settings);
  const { INDEX_TEMPLATE_PIPELINE_DEFAULT: first, INDEX_TEMPLATE_PIPELINE_FINAL: last } = settings;
  return {
    index_patterns: isStream ? bases : bases.map((base) => `${base}-*`),
    ...(isStream && { data_stream: {} }),
    priority: 250,
    version: templateVersion,
    _meta: { description: templateDescription },
    template: {
      settings: {
        index: {
          number_of_shards: settings.INDEX_TEMPLATE_SHARDS,
          number_of_replicas: settings.INDEX_TEMPLATE_REPLICAS,
          refresh_interval: settings.INDEX_TEMPLATE_REFRESH_INTERVAL,
          codec: settings.INDEX_TEMPLATE_CODEC,
          mapping: { ignore_malformed: true, total_fields: { limit: 10_000 } },
          ...(policy !== undefined && server.product === "elasticsearch" && { lifecycle: { name: policy } }),
          ...(first !== "_none" && { default_pipeline: first }),
          ...(last !== "_none" && { final_pipeline: last }),
        },
      },
      mappings: {
        date_detection: false,
        numeric_detection: false,
        dynamic_templates: dynamicTemplates(mappingOf),
        properties: Object.fromEntries(recordFields.map(({ name, type }) => [nameOf(name), mappingOf(type)])),
      },
    },
  };
}

/** Returns rules for names of the patterns of records, and for metadata of operators. */
function dynamicTemplates(mappingOf: MappingOf): object[] {
  const ofPatterns = fieldPatterns.flatMap(({ pattern, type }) =>
    type === "any" || type === "inner"
      ? []
      : jsonTypes(type).map((json) => ({
          [json === "long" && type === "double" ? `${pattern} whole` : pattern]: {
            path_match: pattern,
            match_mapping_type: json,
            mapping: mappingOf(type),
          },
        })),
  );
  return [
    ...ofPatterns,
    { addresses: { path_match: "*.ip.addr", match_mapping_type: "string", mapping: { type: "ip" } } },
    { texts: { match_mapping_type: "string", mapping: keyword } },
  ];
}

/**
 * Returns the types that servers detect for a value of this type before it has a mapping. A rule without a type would match objects, too: with
 * `flow.src.site.name`, `flow.src.site` would become a text, and the record would be refused.
 */
function jsonTypes(type: FieldType): readonly string[] {
  // The first value may be whole.
  if (type === "double") return ["double", "long"];
  if (type === "boolean") return [type];
  return [type === "long" || type === "unsigned_long" ? "long" : "string"];
}

/** Returns a policy that starts a new index after a day or 30 GB, and keeps all of them. */
export function lifecyclePolicy({ settings, server }: SearchTarget): object {
  if (server.product === "elasticsearch") {
    const rollover = { max_age: "1d", max_primary_shard_size: "30gb" };
    return { policy: { phases: { hot: { actions: { rollover } } } } };
  }
  return {
    policy: {
      description: "begins a new index after a day or 30 GB",
      default_state: "hot",
      states: [{ name: "hot", actions: [{ rollover: { min_index_age: "1d", min_size: "30gb" } }], transitions: [] }],
      ism_template: [{ index_patterns: indexBases(settings), priority: 250 }],
    },
  };
}
