import { createCipheriv, createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import {
  anonymizeTexts,
  createAnonymizeLines,
  createCryptoPan,
  cryptoPanKeyBytes,
  cutAddresses,
  rolledUpFields,
  createLineFilter,
  Thinning,
  cutTime,
  type FieldEdit,
  type ThinningOptions,
} from "../output/index.ts";
import {
  type ShapeLines,
  ecsNames,
  recordVocabulary,
  compileFilter,
  FilterError,
  parseFilter,
  type Matches,
  type Filter,
  recordFields,
} from "../record/index.ts";
import type { Metrics, Clock } from "../base/report/index.ts";
import { type PlainSettings, storesOf, outputsOf, SettingsError } from "./settings/index.ts";
import { columnOf, exploreColumns, isMetadataName } from "../explore/index.ts";
import { quote } from "../base/text/index.ts";

/** The number of addresses that each decoding thread caches with their replacements. */
const maxRecent = 131_072;

/** Returns the anonymiser of addresses in lines by the settings; undefined: they stay. */
function anonymizing(settings: PlainSettings, metrics: Metrics): ShapeLines | undefined {
  const counter = (name: string, help: string) => {
    const counted = metrics.counter(name, help);
    counted.add(0);
    return counted;
  };
  const addresses = counter(
    "netgloss_flow_anonymized_addresses_total",
    "Addresses in flow records that were anonymised.",
  );
  const computed = counter(
    "netgloss_flow_anonymized_computed_total",
    "Of these, addresses that were not remembered from before.",
  );
  const fields = counter(
    "netgloss_flow_anonymized_fields_dropped_total",
    "Fields left out of flow records because addresses may be found by them.",
  );
  const method = settings.SVC_PROCESSOR_ANONYMIZE_METHOD;
  if (method === "off") return undefined;
  const key = method === "cryptopan" ? readKey(settings.SVC_PROCESSOR_ANONYMIZE_KEY_PATH) : undefined;
  const anonymize =
    key === undefined
      ? cutAddresses(settings.SVC_PROCESSOR_ANONYMIZE_IPV4_PREFIX, settings.SVC_PROCESSOR_ANONYMIZE_IPV6_PREFIX)
      : createCryptoPan(key);
  return createAnonymizeLines({
    anonymize: anonymizeTexts(anonymize, settings.SVC_PROCESSOR_ANONYMIZE_KEEP_PRIVATE),
    maxRecent,
    keepsExporter: !settings.SVC_PROCESSOR_ANONYMIZE_EXPORTER_ENABLE,
    anonymizeId: key && anonymizeIds(key),
    count(done) {
      addresses.add(done.addresses);
      computed.add(done.computed);
      fields.add(done.fields);
    },
  });
}

/** Finds faults of the key for anonymising. */
function anonymizingProblems(settings: PlainSettings): string[] {
  if (settings.SVC_PROCESSOR_ANONYMIZE_METHOD !== "cryptopan") return [];
  try {
    readKey(settings.SVC_PROCESSOR_ANONYMIZE_KEY_PATH);
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

/** Reads a key in nfanon's form: 32 characters, or 64 hexadecimal digits after 0x. A line feed at the end does not count. */
function readKey(path: string): Buffer {
  const setting = "SVC_PROCESSOR_ANONYMIZE_KEY_PATH";
  if (path === "") throw new Error(`${setting}: the method cryptopan needs a key`);
  let text: string;
  try {
    text = readFileSync(path, "latin1").replace(/\r?\n$/, "");
  } catch (error) {
    throw new Error(`${setting}: ${(error as Error).message}`, { cause: error });
  }
  if (/^0x[0-9a-f]{64}$/i.test(text)) return Buffer.from(text.slice(2), "hex");
  if (text.length === cryptoPanKeyBytes) return Buffer.from(text, "latin1");
  throw new Error(
    `${setting}: ${path}: a key is ${cryptoPanKeyBytes} characters, or 0x and ${2 * cryptoPanKeyBytes} hexadecimal digits; here are ${text.length} characters`,
  );
}

/** Returns a function that replaces identifiers of 64 bits, equal ones equally: by the first half of an AES block with a key of its own. */
function anonymizeIds(key: Buffer): (id: string) => string {
  const own = createHash("sha256").update("flow identifiers").update(key).digest().subarray(0, 16);
  const cipher = createCipheriv("aes-128-ecb", own, null).setAutoPadding(false);
  const block = Buffer.alloc(16);
  return (id) => {
    block.write(id, "hex");
    return cipher.update(block).toString("hex", 0, 8);
  };
}

/**
 * Warns of names in lists of fields to drop that are nearly fields, and so would drop nothing. Other unknown names
 * may be metadata.
 */
export function droppedFieldWarnings(settings: PlainSettings): string[] {
  const all = [
    { name: "SVC_PROCESSOR_DROP_FIELDS", fields: settings.SVC_PROCESSOR_DROP_FIELDS },
    ...storesOf(settings).map(({ values, show }) => ({ name: show("DROP_FIELDS"), fields: values.DROP_FIELDS })),
  ];
  return all.flatMap(({ name, fields }) =>
    fields.flatMap((field) => {
      const meant = fieldsMeant(field);
      return meant.length === 0 ? [] : [`${name}: records have no field ${field}: is ${meant.join(", ")} meant?`];
    }),
  );
}

/** Returns the fields that a name would mean in a filter or in ECS, or nearly is; none for the name of a field, and for an unrelated one. */
function fieldsMeant(name: string): readonly string[] {
  const known = recordVocabulary.find(name);
  if (known !== undefined && !known.fields.includes(name)) return known.fields;
  const near = recordVocabulary.slip(name);
  if (near !== undefined) return [near];
  return known === undefined ? [...ecsNames].filter(([, ecs]) => ecs === name).map(([own]) => own) : [];
}

/**
 * Returns the filter of a setting; undefined when it is empty.
 *
 * @throws FilterError, which names the setting.
 */
export function filterOf(name: string, text: string): Filter | undefined {
  return text === "" ? undefined : parseFilter(text, name, recordVocabulary);
}

/**
 * Returns the filter that records must match for any output; undefined: all are wanted.
 *
 * @throws FilterError, which names the setting.
 */
export function recordFilter(settings: PlainSettings): Filter | undefined {
  const keep = filterOf("SVC_PROCESSOR_FILTER_KEEP", settings.SVC_PROCESSOR_FILTER_KEEP);
  const drop = filterOf("SVC_PROCESSOR_FILTER_DROP", settings.SVC_PROCESSOR_FILTER_DROP);
  if (drop === undefined) return keep;
  const isNotDropped: Filter = { kind: "not", filter: drop };
  return keep === undefined ? isNotDropped : { kind: "and", filters: [keep, isNotDropped] };
}

/** Compiles the condition of a rule for traps. @throws FilterError */
export function compileTrapCondition(text: string): Matches {
  return compileFilter(parseFilter(text, "", recordVocabulary));
}

/** Finds faults of the filters in the settings. */
function filterProblems(settings: PlainSettings): string[] {
  const all = [
    { name: "SVC_PROCESSOR_FILTER_KEEP", text: settings.SVC_PROCESSOR_FILTER_KEEP },
    { name: "SVC_PROCESSOR_FILTER_DROP", text: settings.SVC_PROCESSOR_FILTER_DROP },
    ...outputsOf(settings).map(({ values, show }) => ({ name: show("FILTER"), text: values.FILTER })),
  ];
  return all.flatMap(({ name, text }) => {
    try {
      filterOf(name, text);
      return [];
    } catch (error) {
      if (error instanceof FilterError) return [error.message];
      throw error;
    }
  });
}

/**
 * Returns the fields of a rollup's groups, from names of fields, or short names of filters for a single field.
 *
 * @param setting for messages.
 * @throws Error for a name that cannot be used, with the reason.
 */
export function rollupFields(setting: string, names: readonly string[]): string[] {
  return [...new Set(names.map((name) => fieldOf(setting, name)))];
}

function fieldOf(setting: string, name: string): string {
  const term = parseFilter(`${name} exists`, setting, recordVocabulary);
  const fields = term.kind === "exists" ? term.fields : [];
  const [field] = fields;
  if (field === undefined) throw fault(setting, `${name} is no name of a field`);
  if (fields.length > 1) throw fault(setting, `${name} stands for several fields: ${fields.join(", ")}`);
  if (rolledUpFields.has(field)) throw fault(setting, `${name} is made of all records of a group`);
  return field;
}

const fault = (setting: string, why: string): Error => new Error(`${setting}: ${why}`);

/** Finds faults of the fields for rollups in the settings. */
function rollupProblems(settings: PlainSettings): string[] {
  return outputsOf(settings).flatMap(({ values, show }) =>
    values.ROLLUP_FIELDS.flatMap((field) => {
      try {
        rollupFields(show("ROLLUP_FIELDS"), [field]);
        return [];
      } catch (error) {
        return [(error as Error).message];
      }
    }),
  );
}

/** Finds faults of the fields that Explore is to keep. */
function exploreFieldProblems(settings: PlainSettings): string[] {
  const unknown = settings.SVC_EXPLORE_FIELDS.filter((field) => columnOf(field) === undefined);
  if (unknown.length > 0) {
    return unknown.map((field) => `SVC_EXPLORE_FIELDS: records have no field ${quote(field)} of a known type`);
  }
  const kept = new Set(exploreColumns(settings.SVC_EXPLORE_FIELDS).map(({ field }) => field));
  const lacking = settings.SVC_EXPLORE_ROLLUP_FIELDS.filter((field) => !kept.has(field) && !isMetadataName(field));
  return lacking.map(
    (field) => `SVC_EXPLORE_ROLLUP_FIELDS: Explore does not keep ${quote(field)}: SVC_EXPLORE_FIELDS adds it`,
  );
}

/** Finds faults of filters, of fields for rollups and Explore, and of the key for anonymising. */
export function shapingProblems(settings: PlainSettings): string[] {
  return [
    ...filterProblems(settings),
    ...rollupProblems(settings),
    ...anonymizingProblems(settings),
    ...exploreFieldProblems(settings),
  ];
}

/** Checks the settings. @throws SettingsError with {@link shapingProblems}, if there are some. */
export function checkShaping(settings: PlainSettings): void {
  const problems = shapingProblems(settings);
  if (problems.length > 0) throw new SettingsError(problems);
}

const decimals = { s: 0, ms: 3, us: 6 } as const;

const isTime = (type: string): boolean => type === "date" || type === "date_nanos";

/** Returns the function that shapes the lines of flows before the outputs; undefined: they stay as they are. */
export function flowShape(settings: PlainSettings, metrics: Metrics, clock: Clock): ShapeLines | undefined {
  const thinned = metrics.counter(
    "netgloss_flow_thinned_records_total",
    "Records left out because their exporter sends more than SVC_PROCESSOR_THIN_EXPORTER_RATE; others stand for them.",
  );
  thinned.add(0);
  const maxRate = settings.SVC_PROCESSOR_THIN_EXPORTER_RATE;
  const filter = createLineFilter({
    dropFields: settings.SVC_PROCESSOR_DROP_FIELDS,
    edits: recordEdits(settings),
    thinning: thinningOf(settings, { maxRate, byExporter: true, clock, thinned: (records) => thinned.add(records) }),
  });
  return inTurn(filter, anonymizing(settings, metrics));
}

/** Returns a function that applies both in order. */
export function inTurn(first: ShapeLines | undefined, second: ShapeLines | undefined): ShapeLines | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  return (lines, count) => {
    const shaped = first(lines, count);
    return shaped && second(shaped.lines, shaped.count);
  };
}

/** Returns the thinning of records; undefined without a limit. */
export function thinningOf(
  settings: PlainSettings,
  options: Pick<ThinningOptions, "maxRate" | "byExporter" | "clock" | "thinned">,
): Thinning | undefined {
  if (options.maxRate === 0) return undefined;
  const hasScaledCounters = settings.SVC_PROCESSOR_SCALE_COUNTERS_ENABLE;
  return new Thinning({ ...options, hasScaledCounters, random: Math.random });
}

/** Returns the edits of fields of all records. */
export function recordEdits(settings: PlainSettings): ReadonlyMap<string, FieldEdit> {
  const precision = settings.SVC_PROCESSOR_TIMESTAMP_PRECISION;
  if (precision === "ns") return new Map();
  const edit = cutTime(decimals[precision]);
  return new Map(recordFields.filter(({ type }) => isTime(type)).map(({ name }) => [name, edit]));
}
