import {
  compareKeys,
  compareSpecificity,
  type Key,
  addressKey,
  formatAddress,
  keyContains,
  parseAddress,
  unmapAddress,
} from "../../base/ip/index.ts";
import { checkValues } from "../../metadata/index.ts";
import { isNullNode, type YamlMapping, type YamlNode } from "../../base/yaml/index.ts";
import type { Fact } from "../address/address-source.ts";
import { readKey } from "../files/read-key.ts";
import { readMapFile, type ReadFile, type Reporter } from "../files/read-map-file.ts";
import { quote } from "../../base/text/index.ts";
import {
  renderFields,
  type Enricher,
  type NumberAdditions,
  type RecordFields,
  type RenderedFields,
  type Value,
} from "../../record/index.ts";
import type { Metrics } from "../../base/report/index.ts";
import { gatherValues, placeFields } from "../place-fields.ts";
import { createRecentCache, type RecentCache } from "../recent-cache.ts";

/** What the file says of one interface. */
interface Netif {
  /** Below `flow.in.netif` or `flow.out.netif`. */
  readonly fields: readonly Fact[];
  /** By the rules of user-defined metadata. */
  readonly metadata: ReadonlyMap<string, string>;
}

export interface NetifExporter {
  readonly key: Key;
  /** By ifIndex. */
  readonly netifs: ReadonlyMap<number, Netif>;
}

const maxText = 1024;

/** Names of attributes; those of IF-MIB are taken, too. */
const textAttributes: Readonly<Record<string, string>> = {
  name: ".name",
  ifName: ".name",
  descr: ".descr",
  description: ".descr",
  ifDescr: ".descr",
  alias: ".alias",
  ifAlias: ".alias",
  type: ".type.name",
  ifType: ".type.name",
};
/** Every name below an interface that a file gives, metadata aside, in the order in which they go out. */
const netifSuffixes = [".name", ".descr", ".alias", ".type.name", ".speed", ".tags"] as const;
const speedNames: ReadonlySet<string> = new Set(["speed", "ifSpeed"]);

/**
 * Reads a file of interfaces: exporter (address, CIDR or range) → ifIndex → `{name, descr, alias, type, speed, tags, metadata}`.
 *
 * @returns exporters, the most specific first.
 * @throws FileFindings
 */
export function readNetifs(bytes: Uint8Array): ReadFile<readonly NetifExporter[]> {
  return readMapFile(bytes, (root, report) => {
    const exporters = new Map<string, NetifExporter>();
    for (const { key: keyNode, value } of root?.pairs ?? []) {
      const key = readKey(keyNode, report);
      if (key === undefined) continue;
      if (exporters.has(key.text)) report.error(keyNode, `exporter ${quote(keyNode.text)} is given twice`);
      exporters.set(key.text, { key, netifs: readExporter(value, report) });
    }
    return [...exporters.values()].toSorted((a, b) =>
      a.key.family === b.key.family ? compareSpecificity(a.key, b.key) : compareKeys(a.key, b.key),
    );
  });
}

function readExporter(node: YamlNode, report: Reporter): Map<number, Netif> {
  const netifs = new Map<number, Netif>();
  for (const { key, value } of pairsOf(node, "a mapping from ifIndex to interfaces", report)) {
    const index = /^(0|[1-9][0-9]{0,9})$/.test(key.text) ? Number(key.text) : Number.NaN;
    if (!(index <= 0xffff_ffff))
      report.error(key, `${quote(key.text)} is not an ifIndex: expected a number below 2^32`);
    else netifs.set(index, readNetif(value, report));
  }
  return netifs;
}

function readNetif(node: YamlNode, report: Reporter): Netif {
  const fields = new Map<string, Fact>();
  let metadata: ReadonlyMap<string, string> = new Map();
  for (const { key, value } of pairsOf(node, "a mapping of the interface's attributes", report)) {
    const attribute = key.text;
    const textName = Object.hasOwn(textAttributes, attribute) ? textAttributes[attribute] : undefined;
    const fact: Fact | undefined =
      textName !== undefined
        ? factOf(textName, readText(value, attribute, report))
        : speedNames.has(attribute)
          ? factOf(".speed", readSpeed(value, attribute, report))
          : attribute === "tags"
            ? factOf(".tags", readTags(value, report))
            : undefined;
    if (attribute === "metadata") metadata = readMetadata(value, report);
    else if (fact === undefined) {
      if (textName === undefined && !speedNames.has(attribute) && attribute !== "tags") {
        report.warn(key, `attribute ${quote(attribute)} is not known and ignored`);
      }
    } else if (fields.has(fact[0])) report.error(key, `${quote(attribute)}: ${fact[0].slice(1)} is given twice`);
    else fields.set(fact[0], fact);
  }
  return { fields: netifSuffixes.map((suffix) => fields.get(suffix)).filter((fact) => fact !== undefined), metadata };
}

function factOf(name: string, value: Fact[1] | undefined): Fact | undefined {
  return value === undefined ? undefined : [name, value];
}

function readText(node: YamlNode, attribute: string, report: Reporter): string | undefined {
  if (isNullNode(node)) return undefined;
  if (node.kind === "scalar" && node.text.length <= maxText && !/\p{Cc}/u.test(node.text))
    return node.text || undefined;
  report.error(node, `${attribute}: expected a text of one line, at most ${maxText} characters`);
  return undefined;
}

function readSpeed(node: YamlNode, attribute: string, report: Reporter): number | bigint | undefined {
  if (isNullNode(node)) return undefined;
  if (node.kind === "scalar" && /^[0-9]{1,19}$/.test(node.text)) {
    const speed = BigInt(node.text);
    return speed <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(speed) : speed;
  }
  report.error(node, `${attribute}: expected a whole number of bits a second`);
  return undefined;
}

function readTags(node: YamlNode, report: Reporter): readonly string[] | undefined {
  if (isNullNode(node)) return undefined;
  const tags: string[] = [];
  if (node.kind !== "sequence") report.error(node, "tags: expected a list of texts");
  for (const item of node.kind === "sequence" ? node.items : []) {
    if (item.kind === "scalar" && checkUdmPart({ tags: [item.text] }, item, report)) tags.push(item.text);
    else if (item.kind !== "scalar") report.error(item, "tags: expected a text");
  }
  return tags.length === 0 ? undefined : [...new Set(tags)];
}

function readMetadata(node: YamlNode, report: Reporter): ReadonlyMap<string, string> {
  const metadata = new Map<string, string>();
  for (const { key, value } of pairsOf(node, "metadata to be a mapping from keys to texts", report)) {
    if (value.kind !== "scalar") report.error(value, `metadata ${quote(key.text)}: expected a text`);
    else if (/^flow(\.|$)/.test(key.text)) {
      report.error(
        key,
        `metadata ${quote(key.text)}: names below flow belong to others; .x is put below the interface`,
      );
    } else {
      const text = isNullNode(value) ? "" : value.text;
      if (checkUdmPart({ metadata: [[key.text, text]] }, key, report)) metadata.set(key.text, text);
    }
  }
  return metadata;
}

/** Whether it is good as user-defined metadata has it. */
function checkUdmPart(
  part: { tags?: readonly string[]; metadata?: readonly (readonly [string, string])[] },
  node: YamlNode,
  report: Reporter,
): boolean {
  const violations = checkValues({ name: "", tags: [], vlan: 0n, internal: false, metadata: [], ...part });
  for (const { description } of violations) report.error(node, description);
  return violations.length === 0;
}

function pairsOf(node: YamlNode, expected: string, report: Reporter): YamlMapping["pairs"] {
  if (node.kind === "mapping") return node.pairs;
  if (!isNullNode(node)) report.error(node, `expected ${expected}`);
  return [];
}

export interface NetifEnricherOptions {
  /** The exporters of the file as it is now, the most specific first; undefined when there is none. */
  readonly exporters: () => readonly NetifExporter[] | undefined;
  readonly metrics: Metrics;
}

type Netifs = ReadonlyMap<number, Netif>;

/** How many exporters' interfaces are kept, put together. */
const maxKept = 65_536;
const none: Netifs = new Map();
const objects = ["flow.in.netif", "flow.out.netif"] as const;

/**
 * Adds what a file says of the interfaces of a flow: `flow.in.netif.*` and `flow.out.netif.*` by `.index`. It replaces what
 * the record has, so that what comes after it has to leave these names alone. Of several exporters that cover the address
 * the most specific one that has the interface counts. Metadata goes by the rules of addresses, `.x` below `flow.in.netif`.
 */
export function createNetifEnricher({ exporters, metrics }: NetifEnricherOptions): Enricher {
  let of: readonly NetifExporter[] | undefined;
  let byAddress: ExporterIndex = indexExporters([]);
  let kept: RecentCache<Netifs> = createRecentCache(maxKept);
  const counts = { fields: 0, renamed: 0 };
  registerMetrics(metrics, counts);

  const netifsOf = (exporter: string): Netifs => {
    const now = exporters();
    if (now !== of) {
      of = now;
      byAddress = indexExporters(now ?? []);
      kept = createRecentCache(maxKept);
    }
    let netifs = kept.get(exporter);
    if (netifs === undefined) {
      netifs = putTogether(byAddress, exporter);
      kept.set(exporter, netifs);
    }
    return netifs;
  };

  const find = (record: RecordFields, netifs: Netifs, object: string): Netif | undefined => {
    const index = record.get(`${object}.index`);
    return typeof index === "number" ? netifs.get(index) : undefined;
  };

  const numberAdditions = (object: string, suffix: string): NumberAdditions => {
    const adds = object + suffix;
    // What is put together for an exporter stays until the file changes.
    const rendered = new WeakMap<Netifs, ReadonlyMap<number, RenderedFields>>();
    return {
      field: `${object}.index`,
      adds,
      tableFor(exporter) {
        const netifs = netifsOf(exporter);
        const known = rendered.get(netifs) ?? renderFact(netifs, suffix, adds);
        rendered.set(netifs, known);
        return known.size === 0 ? undefined : known;
      },
      added: (records) => void (counts.fields += records),
    };
  };

  return {
    lines: {
      begin() {},
      numbers: objects.flatMap((object) => netifSuffixes.map((suffix) => numberAdditions(object, suffix))),
      addresses: [],
      // Metadata may write any name.
      needsFields: (exporter) => hasMetadata(netifsOf(exporter)),
    },
    enrich(record) {
      const exporter = record.get("flow.export.ip.addr");
      const netifs = typeof exporter === "string" ? netifsOf(exporter) : none;
      if (netifs.size === 0) return;
      const metadata: (readonly [string, Value])[] = [];
      for (const object of objects) {
        const netif = find(record, netifs, object);
        if (netif === undefined) continue;
        for (const [suffix, value] of netif.fields) record.set(object + suffix, value);
        counts.fields += netif.fields.length;
        for (const [key, value] of netif.metadata) metadata.push([key.startsWith(".") ? object + key : key, value]);
      }
      if (metadata.length > 0) counts.renamed += placeFields(record, gatherValues(metadata)).length;
    },
  };
}

/** Exporters by address, because a file may have many and strangers may send from any address; the wider ones in a row. */
interface ExporterIndex {
  readonly single: ReadonlyMap<string, readonly NetifExporter[]>;
  readonly wide: readonly NetifExporter[];
}

function indexExporters(exporters: readonly NetifExporter[]): ExporterIndex {
  const single = new Map<string, NetifExporter[]>();
  for (const exporter of exporters) {
    const { family, first, last } = exporter.key;
    if (first !== last) continue;
    const text = formatAddress({ family, value: first });
    single.set(text, [...(single.get(text) ?? []), exporter]);
  }
  return { single, wide: exporters.filter(({ key }) => key.first !== key.last) };
}

/** The interfaces of one exporter. */
function putTogether({ single, wide }: ExporterIndex, text: string): Netifs {
  const address = parseAddress(text);
  if (address === undefined) return none;
  const unmapped = unmapAddress(address);
  const key = addressKey(unmapped);
  const netifs = new Map<number, Netif>();
  const covering = wide.filter((exporter) => keyContains(exporter.key, key));
  for (const { netifs: own } of [...(single.get(formatAddress(unmapped)) ?? []), ...covering]) {
    for (const [index, netif] of own) if (!netifs.has(index)) netifs.set(index, netif);
  }
  return netifs;
}

function renderFact(netifs: Netifs, suffix: string, name: string): ReadonlyMap<number, RenderedFields> {
  const rendered = new Map<number, RenderedFields>();
  for (const [index, { fields }] of netifs) {
    const fact = fields.find(([of]) => of === suffix);
    if (fact !== undefined) rendered.set(index, renderFields([[name, fact[1]]]));
  }
  return rendered;
}

function hasMetadata(netifs: Netifs): boolean {
  for (const { metadata } of netifs.values()) if (metadata.size > 0) return true;
  return false;
}

function registerMetrics(metrics: Metrics, counts: { fields: number; renamed: number }): void {
  const count = (name: string, help: string, read: () => number): void =>
    metrics.counterFrom(`netgloss_enrich_netif_${name}_total`, help, [], read);
  count("fields", "Fields of records that the file of interfaces gave.", () => counts.fields);
  count(
    "renamed",
    "Metadata of interfaces put under another name because the one asked for was in another's way.",
    () => counts.renamed,
  );
}
