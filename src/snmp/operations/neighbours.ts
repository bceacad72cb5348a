import { formatAddress, formatAddressBytes, parseAddress, unmapAddress } from "../../base/ip/index.ts";
import type { PolledRows } from "../poller/poll-object.ts";
import type { PolledObject } from "../poller/poll-plan.ts";
import type { NeighbourProtocol } from "../sweep/candidate-source.ts";
import { oidStartsWith, type Oid } from "../session/oid.ts";

/** An address that a polled device has as its neighbour's. */
export interface Neighbour {
  /** Canonical text. */
  readonly address: string;
  readonly protocol: NeighbourProtocol;
  /** `ip:port` of the polled device. */
  readonly deviceId: string;
  /** LLDP: lldpLocPortNum; else ifIndex. */
  readonly port: number;
}

/** The neighbours that the last polls of devices read. */
export interface Neighbours {
  see(deviceId: string, object: PolledObject, polled: PolledRows): void;
  forget(deviceId: string): void;
  list(): Iterable<Neighbour>;
}

interface Source {
  readonly protocol: NeighbourProtocol;
  /** The entry of the table; for CDP the column that has the address. */
  readonly root: Oid;
  /** What a row says, by what follows the OID of its columns, and the value in CDP's. */
  readonly read: (
    suffix: Oid,
    octets: Buffer | undefined,
  ) => { readonly port: number; readonly address: string | undefined };
}

const sources: readonly Source[] = [
  {
    // LLDP-MIB: lldpRemManAddrEntry, by time mark, port, index, AddressFamilyNumbers, length and octets.
    protocol: "lldp",
    root: [1, 0, 8802, 1, 1, 2, 1, 4, 2, 1],
    read: ([, port = 0, , family, , ...octets]) => ({ port, address: addressOf(family, octets) }),
  },
  {
    // CISCO-CDP-MIB: cdpCacheAddress, by ifIndex and index.
    protocol: "cdp",
    root: [1, 3, 6, 1, 4, 1, 9, 9, 23, 1, 2, 1, 1, 4],
    read: ([port = 0], octets) => ({ port, address: addressOf(octets?.length === 4 ? 1 : 2, [...(octets ?? [])]) }),
  },
  {
    // IP-MIB: ipNetToPhysicalEntry, by ifIndex, InetAddressType, length and octets.
    protocol: "arp",
    root: [1, 3, 6, 1, 2, 1, 4, 35, 1],
    read: ([port = 0, type, , ...octets]) => ({ port, address: addressOf(type, octets) }),
  },
  {
    // IP-MIB: ipNetToMediaEntry, by ifIndex and address.
    protocol: "arp",
    root: [1, 3, 6, 1, 2, 1, 4, 22, 1],
    read: ([port = 0, ...octets]) => ({ port, address: addressOf(1, octets) }),
  },
];

/** Neighbours kept of one table: more are hosts of a large network. */
const maxOfTable = 4000;

export function createNeighbours(): Neighbours {
  const byDevice = new Map<string, Map<string, readonly Neighbour[]>>();
  return {
    see(deviceId, object, polled) {
      const found = sourceOf(object);
      if (found === undefined) return;
      const { source, column } = found;
      const seen = new Map<string, Neighbour>();
      for (const { key, values } of polled.rows) {
        if (seen.size === maxOfTable) break;
        const value = values[column]?.value;
        const octets = typeof value === "string" ? Buffer.from(value, "latin1") : undefined;
        const { port, address } = source.read(key.split(".").map(Number), octets);
        if (address !== undefined) seen.set(address, { address, protocol: source.protocol, deviceId, port });
      }
      const tables = byDevice.get(deviceId) ?? new Map<string, readonly Neighbour[]>();
      byDevice.set(deviceId, tables);
      const before = polled.isComplete ? [] : (tables.get(object.id) ?? []);
      tables.set(
        object.id,
        [...before.filter(({ address }) => !seen.has(address)), ...seen.values()].slice(-maxOfTable),
      );
    },
    forget: (deviceId) => void byDevice.delete(deviceId),
    *list() {
      for (const tables of byDevice.values()) for (const neighbours of tables.values()) yield* neighbours;
    },
  };
}

function sourceOf({ columns }: PolledObject): { readonly source: Source; readonly column: number } | undefined {
  for (const source of sources) {
    const column = columns.findIndex(({ oid }) => oidStartsWith(oid, source.root));
    if (column >= 0) return { source, column };
  }
  return undefined;
}

/** @param family 1 for IPv4, 2 for IPv6, in AddressFamilyNumbers and InetAddressType alike. */
function addressOf(family: number | undefined, octets: readonly number[]): string | undefined {
  const length = family === 1 ? 4 : family === 2 ? 16 : 0;
  if (length === 0 || octets.length !== length || octets.some((octet) => !(octet >= 0 && octet <= 255)))
    return undefined;
  const parsed = parseAddress(formatAddressBytes(Uint8Array.from(octets), 0, length === 4 ? 4 : 6));
  if (parsed === undefined) return undefined;
  const text = formatAddress(unmapAddress(parsed));
  return /^(?:0\.|127\.|169\.254\.|22[4-9]\.|2[3-5]\d\.|::1?$|fe[89ab]|ff)/.test(text) ? undefined : text;
}
