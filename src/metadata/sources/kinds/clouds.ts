import type { ColumnMap } from "../../exchange/map/column-map.ts";
import { SourceFault } from "../source-config.ts";
import {
  aThird,
  at,
  listAt,
  textAt,
  mapOf,
  minutes,
  optionOf,
  type KindContext,
  type SourceKind,
} from "./source-kind.ts";

interface CloudRow {
  readonly prefix: unknown;
  readonly service?: unknown;
  readonly region?: unknown;
}

function mapFor(provider: string): ColumnMap {
  return mapOf(
    [
      ["prefix", "key"],
      ["provider", "metadata:.cloud.provider"],
      ["service", "metadata:.cloud.service.name"],
      ["region", "metadata:.cloud.region"],
    ],
    // Several services may use one prefix.
    {
      duplicates: "first",
      defaults: { tags: ["cloud"] },
      constants: { metadata: new Map([[".cloud.provider", provider]]) },
    },
  );
}

/** Returns the kind of a provider's published list of ranges. `services` and `regions` select from it. */
function cloud(
  provider: string,
  url: string | undefined,
  rowsOf: (document: unknown, text: string) => CloudRow[] | undefined,
): SourceKind {
  return {
    place: "either",
    ...(url !== undefined && { url }),
    options: ["services", "regions"],
    intervalMs: 24 * 60 * minutes,
    maxShrink: aThird,
    map: mapFor(provider),
    async read({ config, reader }: KindContext) {
      const bytes = await reader.document();
      if (bytes === undefined) return undefined;
      const text = bytes.toString("utf8");
      const all = rowsOf(parse(text), text);
      if (all === undefined || all.length === 0) {
        throw new SourceFault("content", `this is not the list of ranges that ${provider} publishes`);
      }
      const services = optionOf(config, "services");
      const regions = optionOf(config, "regions");
      const isChosen = ({ service, region }: CloudRow): boolean =>
        (services.length === 0 || services.includes(String(service))) &&
        (regions.length === 0 || regions.includes(String(region)));
      // The range of a selected service is more precise than one without a service.
      return { rows: all.filter(isChosen) };
    },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function rows(document: unknown, list: string, field: string, service: string, region: string): CloudRow[] {
  return (listAt(document, list) ?? []).map((one) => ({
    prefix: one[field],
    service: one[service],
    region: one[region],
  }));
}

/** Reads the ranges of AWS. It also lists all ranges under the name AMAZON, so the other names come first. */
function aws(document: unknown): CloudRow[] {
  const all = [
    ...rows(document, "prefixes", "ip_prefix", "service", "region"),
    ...rows(document, "ipv6_prefixes", "ipv6_prefix", "service", "region"),
  ];
  const isWhole = ({ service }: CloudRow): boolean => service === "AMAZON";
  return [...all.filter((row) => !isWhole(row)), ...all.filter(isWhole)];
}

/** Reads Azure's service tags. Regional tags have both names, as in `Storage.WestEurope`. */
function azure(document: unknown): CloudRow[] {
  const tags = (listAt(document, "values") ?? []).flatMap(({ properties, name }) => {
    const prefixes = at(properties, "addressPrefixes");
    const service = textAt(properties, "systemService");
    const region = textAt(properties, "region");
    const specific = (service === "" ? 0 : 2) + (region === "" ? 0 : 1);
    return (Array.isArray(prefixes) ? (prefixes as unknown[]) : []).map((prefix) => ({
      prefix,
      service: service === "" ? name : service,
      region: region === "" ? undefined : region,
      specific,
    }));
  });
  return tags.toSorted((a, b) => b.specific - a.specific);
}

function gcp(document: unknown): CloudRow[] {
  return (listAt(document, "prefixes") ?? []).map((one) => ({
    prefix: one["ipv4Prefix"] ?? one["ipv6Prefix"],
    service: one["service"],
    region: one["scope"],
  }));
}

/** Reads the answer of Cloudflare's API, or its plain lists. */
function cloudflare(document: unknown, text: string): CloudRow[] {
  const lists = ["ipv4_cidrs", "ipv6_cidrs"].flatMap((name) => {
    const cidrs = at(document, "result", name);
    return Array.isArray(cidrs) ? (cidrs as unknown[]) : [];
  });
  const plain = document === undefined ? text.split(/\s+/).filter((line) => /^[0-9a-f:.]+\/\d+$/i.test(line)) : [];
  return [...lists, ...plain].map((prefix) => ({ prefix }));
}

/** Reads GitHub's `meta` document: lists of prefixes by service. */
function github(document: unknown): CloudRow[] {
  if (typeof document !== "object" || document === null) return [];
  return Object.entries(document).flatMap(([service, prefixes]) =>
    Array.isArray(prefixes)
      ? (prefixes as unknown[])
          .filter(
            (prefix) => typeof prefix === "string" && /^[0-9a-f:.]+(?:\/\d+)?$/i.test(prefix) && /[.:]/.test(prefix),
          )
          .map((prefix) => ({ prefix, service }))
      : [],
  );
}

export const cloudKinds: Readonly<Record<string, SourceKind>> = {
  aws: cloud("aws", "https://ip-ranges.amazonaws.com/ip-ranges.json", aws),
  // Microsoft publishes the file under a name that changes each week, so there is no default URL.
  azure: cloud("azure", undefined, azure),
  gcp: cloud("gcp", "https://www.gstatic.com/ipranges/cloud.json", gcp),
  cloudflare: cloud("cloudflare", "https://api.cloudflare.com/client/v4/ips", cloudflare),
  github: cloud("github", "https://api.github.com/meta", github),
};
