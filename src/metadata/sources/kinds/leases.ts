import { SourceFault } from "../source-fault.ts";
import { parse as parseCsv } from "csv-parse/sync";
import { mapOf, minutes, type SourceKind } from "./source-kind.ts";

interface Lease {
  readonly key: string;
  readonly name: string;
  readonly mac: string;
}

/** Leases of a DHCP server by its file. Leases that have ended are left out; of several of one address the last counts. */
function leases(
  read: (text: string, nowSeconds: number) => Iterable<readonly [address: string, lease: Lease | undefined]>,
): SourceKind {
  return {
    place: "either",
    options: [],
    intervalMs: minutes,
    // Leases end at night.
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
      // Kept, because leases end while the file stays as it is.
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

/** Kea's memfile: each change is a line more, until it is tidied up. It quotes nothing: a user context is plain JSON with its commas escaped. */
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
    // The lifetime of all ones is for ever; 0 is a lease that was given back.
    const isOver = lifetime === "0" || (lifetime !== "4294967295" && Number(expire) <= now);
    const isPrefix = row["lease_type"] === "2" && row["prefix_len"] !== undefined;
    const key = isPrefix ? `${address}/${row["prefix_len"]}` : address;
    const name = hostname.replaceAll("&#x2c", ",").replace(/\.$/, "");
    yield [key, state !== "0" || isOver ? undefined : { key, name, mac: hwaddr }];
  }
}

const iscBlock = /^[ \t]*lease\s+([0-9a-f.:]+)\s*\{([^}]*)\}/gim;

/** The lease database of ISC dhcpd: declarations, of which a later one replaces an earlier one. */
function* isc(text: string, now: number): Generator<readonly [string, Lease | undefined]> {
  // Comments go first; a brace may stand in a quoted text.
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

/** The lease file of dnsmasq: end, MAC (for IPv6 an identity), address, host name, client. */
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
