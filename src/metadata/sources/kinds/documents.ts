import { parse as parseCsv } from "csv-parse/sync";
import { importEntries, type ExchangeFormat } from "../../exchange/export-entries.ts";
import { readyMap } from "../../exchange/map/column-map.ts";
import { aThird, minutes, type SourceKind, mapOf, optionOf } from "./source-kind.ts";
import { SourceFault } from "../source-config.ts";

/** Returns the kind of a document with rows, at a URL or path. */
function rowsOf(format: ExchangeFormat): SourceKind {
  return {
    place: "either",
    options: [],
    isRows: true,
    intervalMs: 15 * minutes,
    maxShrink: aThird,
    tokenScheme: "Bearer",
    map: readyMap(format === "csv" ? "sheet" : "netgloss"),
    check: ({ format: given, select }) =>
      select !== undefined && (given ?? format) !== "json" ? "select is for JSON" : undefined,
    async read({ config, reader, select: evaluate, checkScope, signal }) {
      const bytes = await reader.document();
      if (bytes === undefined) return undefined;
      const map = config.map ?? readyMap(format === "csv" ? "sheet" : "netgloss");
      const { csv, select: expression } = config;
      const select = expression === undefined ? undefined : (text: string) => evaluate(text, expression, signal);
      const options = { format: config.format ?? format, map, csv, select, checkScope };
      return { result: await importEntries([bytes], options) };
    },
  };
}

export const rowKinds: Readonly<Record<string, SourceKind>> = {
  csv: rowsOf("csv"),
  json: rowsOf("json"),
  ndjson: rowsOf("ndjson"),
  yaml: rowsOf("yaml"),
};

interface Lease {
  readonly key: string;
  readonly name: string;
  readonly mac: string;
}

/** Returns the kind of a DHCP server's lease file. Expired leases are left out. The last of several leases of one address counts. */
function leases(
  read: (text: string, nowSeconds: number) => Iterable<readonly [address: string, lease: Lease | undefined]>,
): SourceKind {
  return {
    place: "either",
    options: [],
    intervalMs: minutes,
    // Many leases expire at night.
    maxShrink: 1,
    map: mapOf(
      [
        ["key", "key"],
        ["name", "name"],
        ["mac", "metadata:.mac.addr"],
      ],
      { duplicates: "last", defaults: { tags: ["dhcp"] } },
    ),
    async read({ reader, now, memory }) {
      const bytes = await reader.document(!memory.has("text"));
      const text = bytes?.toString("utf8") ?? (memory.get("text") as string | undefined);
      if (text === undefined) return undefined;
      // Leases expire even while the file stays the same.
      memory.set("text", text);
      const found = new Map<string, Lease>();
      for (const [address, lease] of read(text, Math.floor(now / 1000))) {
        if (lease === undefined) found.delete(address);
        else found.set(address, lease);
      }
      return { rows: [...found.values()] };
    },
  };
}

/** Reads Kea's memfile, which appends a line for each change. Cells are not quoted: a user context is plain JSON with escaped commas. */
function* kea(text: string, now: number): Generator<readonly [string, Lease | undefined]> {
  const rows = parseCsv(text, {
    columns: true,
    relax_column_count: true,
    skip_empty_lines: true,
    quote: null,
  }) as Record<string, string>[];
  if (rows.length > 0 && rows[0]?.["address"] === undefined) {
    throw new SourceFault("content", "this is not a lease file of Kea: it has no column address");
  }
  for (const row of rows) {
    const { address = "", hostname = "", hwaddr = "", state = "0", expire = "0", valid_lifetime: lifetime = "" } = row;
    // A lifetime of 2^32 - 1 never ends; 0 is a released lease.
    const isOver = lifetime === "0" || (lifetime !== "4294967295" && Number(expire) <= now);
    const isPrefix = row["lease_type"] === "2" && row["prefix_len"] !== undefined;
    const key = isPrefix ? `${address}/${row["prefix_len"]}` : address;
    const name = hostname.replaceAll("&#x2c", ",").replace(/\.$/, "");
    yield [key, state !== "0" || isOver ? undefined : { key, name, mac: hwaddr }];
  }
}

const iscBlock = /^[ \t]*lease\s+([0-9a-f.:]+)\s*\{([^}]*)\}/gim;

/** Reads the lease database of ISC dhcpd: declarations, where a later one replaces an earlier one. */
function* isc(text: string, now: number): Generator<readonly [string, Lease | undefined]> {
  // Comments are removed first. A quoted text may contain a brace.
  const plain = text
    .replaceAll(/^[ \t]*#.*$/gm, "")
    .replaceAll(/"[^"\n]*"/g, (quoted) => quoted.replaceAll(/[{}]/g, "?"));
  for (const [, address = "", body = ""] of plain.matchAll(iscBlock)) {
    const value = (name: string): string =>
      new RegExp(`^[ \\t]*${name}\\s+([^;]*);`, "im").exec(body)?.[1]?.trim() ?? "";
    const ends = /^\d\s+(\d{4})\/(\d\d)\/(\d\d)\s+(\d\d):(\d\d):(\d\d)/.exec(value("ends"));
    const epoch = /^epoch\s+(\d+)/.exec(value("ends"))?.[1];
    const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = (ends ?? []).slice(1).map(Number);
    const endsAt =
      ends !== null ? Date.UTC(year, month - 1, day, hour, minute, second) / 1000 : Number(epoch ?? Infinity);
    const state = value("binding state");
    const isOver = (state !== "" && state !== "active") || endsAt <= now;
    const name = value("client-hostname").replaceAll('"', "");
    yield [address, isOver ? undefined : { key: address, name, mac: value("hardware ethernet") }];
  }
}

/** Reads the lease file of dnsmasq: end, MAC (for IPv6 an identity), address, host name, client. */
function* dnsmasq(text: string, now: number): Generator<readonly [string, Lease | undefined]> {
  for (const line of text.split(/\r?\n/)) {
    const [end = "", mac = "", address = "", name = ""] = line.trim().split(/\s+/);
    if (!/^\d+$/.test(end) || address === "") continue;
    const isOver = end !== "0" && Number(end) <= now;
    const isMac = /^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(mac);
    yield [address, isOver ? undefined : { key: address, name: name === "*" ? "" : name, mac: isMac ? mac : "" }];
  }
}

export const leaseKinds: Readonly<Record<string, SourceKind>> = {
  kea: leases(kea),
  "isc-dhcp": leases(isc),
  dnsmasq: leases(dnsmasq),
};

/**
 * Reads a plain list with an address, prefix or range on each line, as block lists have. Text after `#`, `;`, a blank or a comma
 * is ignored. Each entry has the name of the list as `sec.threat.name`, or under `metadata_key`.
 */
export const list: SourceKind = {
  place: "either",
  options: ["threat", "metadata_key"],
  intervalMs: 60 * minutes,
  maxShrink: aThird,
  tokenScheme: "Bearer",
  map: mapOf([["key", "key"]], { rest: "metadata", duplicates: "first" }),
  async read({ config, reader }) {
    const bytes = await reader.document();
    if (bytes === undefined) return undefined;
    const column = optionOf(config, "metadata_key", ["sec.threat.name"])[0] ?? "";
    const threat = optionOf(config, "threat", [config.name])[0] ?? "";
    const rows = bytes
      .toString("utf8")
      .split(/\r?\n/)
      .flatMap((line) => {
        const text = line.replace(/[#;].*$/s, "").trim();
        if (text === "" || text.startsWith("//")) return [];
        const key = /^([^\s-]+)\s*-\s*(\S+)$/.exec(text.split(",")[0] ?? "");
        const written = key === null ? (text.split(/[\s,]/)[0] ?? "") : `${key[1]}-${key[2]}`;
        return [{ key: written, [`metadata:${column}`]: threat }];
      });
    return { rows };
  },
};
