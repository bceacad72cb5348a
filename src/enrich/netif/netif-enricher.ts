import { type Key, addressKey, formatAddress, keyContains, parseAddress, unmapAddress } from "../../base/ip/index.ts";
import { checkValues } from "../../metadata/index.ts";
import { list, mapOf, optional, mapping, scalar, Shape, textLine, type FileNode } from "../../base/yaml/index.ts";
import type { Fact } from "../address/address-source.ts";
import { byAddresses, mostSpecificFirst, fileReader, lineOf, type ReadFile } from "../files/operator-file.ts";
import {
  renderFields,
  type Enricher,
  type LineEnricher,
  type NumberAdditions,
  type RecordFields,
  type RenderedFields,
  type Value,
} from "../../record/index.ts";
import type { Metrics } from "../../base/report/index.ts";
import { gatherValues, placeFields } from "../place-fields.ts";
import { RecentCache } from "../recent-cache.ts";

/** An interface as the file describes it. */
interface Netif {
  /** The fields below `flow.in.netif` or `flow.out.netif`. */
  readonly fields: readonly Fact[];
  /** The metadata, which follows the rules of user-defined metadata. */
  readonly metadata: ReadonlyMap<string, string>;
}

export interface NetifExporter {
  readonly key: Key;
  /** The interfaces by ifIndex. */
  readonly netifs: ReadonlyMap<number, Netif>;
}

/** All names below an interface that the file gives, except metadata, in the order of output. */
const netifSuffixes = [".name", ".descr", ".alias", ".type.name", ".speed", ".tags"] as const;

const attribute = lineOf(1024);

const bitsPerSecond = scalar("a whole number of bits a second", (given): number | bigint | undefined => {
  const number = /^[0-9]{1,19}$/.test(given) ? BigInt(given) : undefined;
  return number !== undefined && number <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(number) : number;
});

/** Reports a key or value that user-defined metadata may not have. */
function judge(part: Partial<Parameters<typeof checkValues>[0]>, at: FileNode, side: "key" | "value"): boolean {
  const violations = checkValues({ name: "", tags: [], vlan: 0n, internal: false, metadata: [], ...part });
  for (const { description } of violations) at.error(description, undefined, side);
  return violations.length === 0;
}

const tag: Shape<string> = new Shape("a text", (at) => {
  if (at.node.kind !== "scalar") return at.expected("a text");
  return judge({ tags: [at.node.text] }, at, "value") ? at.node.text : undefined;
});

/** The shape of a metadata text. It also checks the key before the text. */
const metadataText: Shape<string> = new Shape("a text", (at) => {
  if (at.node.kind !== "scalar") return at.expected("a text");
  const key = String(at.step);
  if (/^flow(\.|$)/.test(key)) {
    return at.error("names below flow belong to others; .x is put below the interface", undefined, "key");
  }
  const given = at.isNull ? "" : at.node.text;
  return judge({ metadata: [[key, given]] }, at, "key") ? given : undefined;
});

const netifShape = mapping(
  {
    name: optional(attribute, "`flow.in.netif.name`, `flow.out.netif.name`", ["ifName"]),
    descr: optional(attribute, "`….descr`", ["description", "ifDescr"]),
    alias: optional(attribute, "`….alias`", ["ifAlias"]),
    type: optional(attribute, "`….type.name`", ["ifType"]),
    speed: optional(bitsPerSecond, "`….speed`", ["ifSpeed"]),
    tags: optional(list(tag), "`….tags`"),
    metadata: optional(
      mapOf(textLine, metadataText, { each: "metadata", name: "<key>" }),
      "`.x` becomes `flow.in.netif.x`, another key a field of its own.",
    ),
  },
  { unknown: "warning" },
)
  .to(({ name, descr, alias, type, speed, tags = [], metadata = new Map<string, string>() }): Netif => {
    const values = [name, descr, alias, type, speed, tags.length === 0 ? undefined : [...new Set(tags)]];
    const fields = netifSuffixes.flatMap((suffix, i): Fact[] => {
      const value = values[i];
      return value === undefined ? [] : [[suffix, value]];
    });
    return { fields, metadata };
  })
  .orEmpty();

const ifIndex = scalar("an ifIndex, a number below 2^32", (given) => {
  const index = /^(0|[1-9][0-9]{0,9})$/.test(given) ? Number(given) : Number.NaN;
  return index <= 0xffff_ffff ? index : undefined;
});

/**
 * The shape of the file of interfaces: exporter (address, CIDR or range) → ifIndex → `{name, descr, alias, type, speed, tags,
 * metadata}`.
 */
export const netifsShape = byAddresses(
  mapOf(ifIndex, netifShape, { each: "interface", name: "<ifIndex>" }).orEmpty(),
  "exporter",
).to((pairs) => pairs.map(([key, netifs]): NetifExporter => ({ key, netifs })).toSorted(mostSpecificFirst));

/** Reads exporters, the most specific first. */
export const readNetifs: (bytes: Uint8Array) => ReadFile<readonly NetifExporter[]> = fileReader(netifsShape);

type Netifs = ReadonlyMap<number, Netif>;

/** The most exporters whose interfaces are kept in rendered form. */
const maxKept = 65_536;
const none: Netifs = new Map();
const objects = ["flow.in.netif", "flow.out.netif"] as const;

/**
 * The exporters of a file. Single addresses are in a map, because a file may have many and strangers may send from any address; wider
 * keys are in a list.
 */
class NetifIndex {
  readonly of: readonly NetifExporter[] | undefined;
  readonly #single = new Map<string, NetifExporter[]>();
  readonly #wide: readonly NetifExporter[];
  readonly #kept = new RecentCache<Netifs>(maxKept);

  constructor(exporters: readonly NetifExporter[] | undefined) {
    this.of = exporters;
    for (const exporter of exporters ?? []) {
      const { family, first, last } = exporter.key;
      if (first !== last) continue;
      const text = formatAddress({ family, value: first });
      this.#single.set(text, [...(this.#single.get(text) ?? []), exporter]);
    }
    this.#wide = exporters?.filter(({ key }) => key.first !== key.last) ?? [];
  }

  /** Returns the interfaces of an exporter. */
  find(exporter: string): Netifs {
    let netifs = this.#kept.get(exporter);
    if (netifs === undefined) {
      netifs = this.#putTogether(exporter);
      this.#kept.set(exporter, netifs);
    }
    return netifs;
  }

  #putTogether(text: string): Netifs {
    const address = parseAddress(text);
    if (address === undefined) return none;
    const unmapped = unmapAddress(address);
    const key = addressKey(unmapped);
    const netifs = new Map<number, Netif>();
    const covering = this.#wide.filter((exporter) => keyContains(exporter.key, key));
    for (const { netifs: own } of [...(this.#single.get(formatAddress(unmapped)) ?? []), ...covering]) {
      for (const [index, netif] of own) if (!netifs.has(index)) netifs.set(index, netif);
    }
    return netifs;
  }
}

/**
 * Adds the file's facts about the interfaces of a flow: `flow.in.netif.*` and `flow.out.netif.*` by `.index`. They replace what the
 * record has, so later enrichers must leave these names alone. Of several exporters that cover the address, the most specific one that
 * has the interface counts. Metadata follows the rules of addresses: `.x` goes below `flow.in.netif`.
 */
export class NetifEnricher implements Enricher {
  readonly lines: LineEnricher;
  readonly #exporters: () => readonly NetifExporter[] | undefined;
  #index = new NetifIndex(undefined);
  #fields = 0;
  #renamed = 0;

  /** @param exporters returns the current exporters of the file, the most specific first; undefined if there is no file. */
  constructor(exporters: () => readonly NetifExporter[] | undefined, metrics: Metrics) {
    this.#exporters = exporters;
    this.lines = {
      begin() {},
      numbers: objects.flatMap((object) => netifSuffixes.map((suffix) => this.#numberAdditions(object, suffix))),
      addresses: [],
      // Metadata may write any name, so the record must become fields.
      needsFields: (exporter) => hasMetadata(this.#netifsOf(exporter)),
    };
    const count = (name: string, help: string, read: () => number): void =>
      metrics.counterFrom(`netgloss_enrich_netif_${name}_total`, help, [], read);
    count("fields", "Fields of records that the file of interfaces gave.", () => this.#fields);
    count(
      "renamed",
      "Metadata of interfaces put under another name because the one asked for was in another's way.",
      () => this.#renamed,
    );
  }

  enrich(record: RecordFields): void {
    const exporter = record.get("flow.export.ip.addr");
    const netifs = typeof exporter === "string" ? this.#netifsOf(exporter) : none;
    if (netifs.size === 0) return;
    const metadata: (readonly [string, Value])[] = [];
    for (const object of objects) {
      const index = record.get(`${object}.index`);
      const netif = typeof index === "number" ? netifs.get(index) : undefined;
      if (netif === undefined) continue;
      for (const [suffix, value] of netif.fields) record.set(object + suffix, value);
      this.#fields += netif.fields.length;
      for (const [key, value] of netif.metadata) metadata.push([key.startsWith(".") ? object + key : key, value]);
    }
    if (metadata.length > 0) this.#renamed += placeFields(record, gatherValues(metadata)).size;
  }

  /** Returns the interfaces of an exporter; another object after each change of the file. */
  known(exporter: string): unknown {
    return this.#netifsOf(exporter);
  }

  #netifsOf(exporter: string): Netifs {
    const now = this.#exporters();
    if (now !== this.#index.of) this.#index = new NetifIndex(now);
    return this.#index.find(exporter);
  }

  #numberAdditions(object: string, suffix: string): NumberAdditions {
    const adds = object + suffix;
    // The rendered interfaces of an exporter stay valid until the file changes.
    const rendered = new WeakMap<Netifs, ReadonlyMap<number, RenderedFields>>();
    return {
      field: `${object}.index`,
      adds: [adds],
      tableFor: (exporter) => {
        const netifs = this.#netifsOf(exporter);
        const known = rendered.get(netifs) ?? renderFact(netifs, suffix, adds);
        rendered.set(netifs, known);
        return known.size === 0 ? undefined : known;
      },
      added: (records) => void (this.#fields += records),
    };
  }
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
