import { fieldPatterns, recordFields, type FieldType } from "../../record/index.ts";
import type { NameOf } from "../delivery/field-names.ts";
import { indexBases } from "./index-names.ts";
import type { SearchOutputConfig, SearchTemplateConfig } from "./search-config.ts";

/** Of what the template says; one that is older is replaced. */
export const templateVersion = 4;

/** What marks a template of netgloss. */
export const templateDescription = "records of netgloss; changed only by its own newer versions";

/** Longer texts are kept and not indexed. */
const keyword = { type: "keyword", ignore_above: 1024 };

type MappingOf = (type: FieldType) => object;

/**
 * The index template: the types of all fields of the table of records, and rules for names that are not known beforehand.
 *
 * A value that is not of its field's type is kept in the document and not indexed; only what cannot be an object and a
 * value at once is refused.
 *
 * @param policy of the lifecycle; undefined: none.
 * @param hasUnsignedLong whether the server has the type `unsigned_long`; else counters are `long`, and those of 2^63 or more
 * are not indexed.
 */
export function indexTemplate(
  config: Pick<SearchOutputConfig, "product" | "period" | "prefix" | "suffix" | "naming"> & { readonly nameOf: NameOf },
  template: SearchTemplateConfig,
  policy: string | undefined,
  hasUnsignedLong: boolean,
): object {
  const mappingOf: MappingOf = (type) => {
    if (type === "keyword") return keyword;
    return { type: type === "unsigned_long" && !hasUnsignedLong ? "long" : type };
  };
  const isStream = config.period === "rollover";
  const bases = indexBases(config);
  const { defaultPipeline, finalPipeline } = template;
  return {
    index_patterns: isStream ? bases : bases.map((base) => `${base}-*`),
    ...(isStream && { data_stream: {} }),
    priority: 250,
    version: templateVersion,
    _meta: { description: templateDescription },
    template: {
      settings: {
        index: {
          number_of_shards: template.shards,
          number_of_replicas: template.replicas,
          refresh_interval: template.refreshInterval,
          codec: template.codec,
          mapping: { ignore_malformed: true, total_fields: { limit: 10_000 } },
          ...(policy !== undefined && config.product === "elasticsearch" && { lifecycle: { name: policy } }),
          ...(defaultPipeline !== "_none" && { default_pipeline: defaultPipeline }),
          ...(finalPipeline !== "_none" && { final_pipeline: finalPipeline }),
        },
      },
      mappings: {
        date_detection: false,
        numeric_detection: false,
        dynamic_templates: dynamicTemplates(mappingOf),
        properties: Object.fromEntries(recordFields.map(({ name, type }) => [config.nameOf(name), mappingOf(type)])),
      },
    },
  };
}

/** Rules for names of the patterns of records, and for metadata of operators. */
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
 * What the servers take a value of a type for before it has a mapping. A rule without it holds for objects, too: with
 * `flow.src.site.name`, `flow.src.site` would be a text, and the record would be refused.
 */
function jsonTypes(type: FieldType): readonly string[] {
  // The first value may be whole.
  if (type === "double") return ["double", "long"];
  if (type === "boolean") return [type];
  return [type === "long" || type === "unsigned_long" ? "long" : "string"];
}

/** A policy that begins a new index after a day or 30 GB, and keeps all of them. */
export function lifecyclePolicy(config: Pick<SearchOutputConfig, "product" | "prefix" | "suffix" | "naming">): object {
  if (config.product === "elasticsearch") {
    const rollover = { max_age: "1d", max_primary_shard_size: "30gb" };
    return { policy: { phases: { hot: { actions: { rollover } } } } };
  }
  return {
    policy: {
      description: "begins a new index after a day or 30 GB",
      default_state: "hot",
      states: [{ name: "hot", actions: [{ rollover: { min_index_age: "1d", min_size: "30gb" } }], transitions: [] }],
      ism_template: [{ index_patterns: indexBases(config), priority: 250 }],
    },
  };
}
