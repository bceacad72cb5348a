import { readName } from "../values/convert-value.ts";
import { formatAddress, parseAddress, unmapAddress } from "../../base/ip/index.ts";
import { oidStartsWith, type Oid } from "../session/ber.ts";
import type { Session } from "../session/session.ts";
import type { MemoryLease } from "../limits.ts";
import { walk, type WalkOptions } from "../session/walk.ts";
import type { SnmpValue } from "../values/convert-value.ts";

/** Names and addresses of a device's interfaces, by the column that they come from. */
export interface LearntInterfaces {
  /** ifDescr by ifIndex: the name where there is no ifName. */
  readonly descriptions: ReadonlyMap<number, string>;
  /** ifName by ifIndex. */
  readonly names: ReadonlyMap<number, string>;
  /** Addresses of ipAddrTable, canonical text. Those that many devices have at once (loopback, link-local) are left out. */
  readonly ipv4Addresses: ReadonlySet<string>;
  /** Addresses of ipAddressTable, in the same way. */
  readonly inetAddresses: ReadonlySet<string>;
}

export const nothingLearnt: LearntInterfaces = {
  descriptions: new Map(),
  names: new Map(),
  ipv4Addresses: new Set(),
  inetAddresses: new Set(),
};

/** A column that is learnt from. */
export type LearntColumn = keyof LearntInterfaces;

// IF-MIB (RFC 2863): ifDescr, ifName; IP-MIB (RFC 4293): ipAdEntAddr, ipAddressIfIndex.
const roots: Readonly<Record<LearntColumn, Oid>> = {
  descriptions: [1, 3, 6, 1, 2, 1, 2, 2, 1, 2],
  names: [1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1],
  ipv4Addresses: [1, 3, 6, 1, 2, 1, 4, 20, 1, 1],
  inetAddresses: [1, 3, 6, 1, 2, 1, 4, 34, 1, 3],
};
const columns = Object.keys(roots) as LearntColumn[];

/** Names and addresses kept of one device; many more than any device has. */
const maxLearnt = 100_000;
/** A device that has not said all by then is endless, or too slow for its names to be of use. */
const maxRequests = 10_000;
/** Bytes that a name takes in memory, roughly. */
const bytesEach = 160;

/** The column that has this OID, if anything is learnt from it. */
export function learntColumn(oid: Oid): LearntColumn | undefined {
  return columns.find((column) => roots[column].length === oid.length && oidStartsWith(oid, roots[column]));
}

/**
 * Reads the columns that names and addresses come from.
 *
 * @param memory what is found takes of it.
 * @param isWanted whether to go on.
 * @param before what is known already: it stays where a column cannot be read to its end.
 */
export async function learnInterfaces(
  session: Session,
  options: WalkOptions,
  memory: MemoryLease,
  isWanted: () => boolean,
  before: LearntInterfaces = nothingLearnt,
): Promise<LearntInterfaces> {
  const learner = new InterfaceLearner();
  let hasMemory = true;
  const { ends } = await walk(
    session,
    columns.map((column) => roots[column]),
    (root, varbinds) => {
      const column = columns[root] as LearntColumn;
      for (const varbind of varbinds) learner.add(column, varbind.oid.slice(roots[column].length), varbind);
      hasMemory &&= memory.take(varbinds.length * bytesEach);
    },
    {
      ...options,
      maxValues: maxLearnt,
      stop: (requests) => {
        if (!isWanted()) return "given up";
        if (!hasMemory) return "more than there is memory for";
        return requests < maxRequests ? undefined : `more than ${maxRequests} requests`;
      },
    },
  );
  const found = { ...learner.result() };
  // A column without an end is no table of names.
  columns.forEach(
    (column, i) => void (ends[i] === "too_many" && Object.assign(found, { [column]: nothingLearnt[column] })),
  );
  return mergeLearnt(before, found, new Set(columns.filter((_, i) => ends[i] === "end")));
}

/** The most addresses that are read of a device to recognise it. */
const maxOwnAddresses = 2000;

/** Reads the addresses of a device. What could not be read to its end is there as far as it was read. */
export async function learnAddresses(session: Session, options: WalkOptions): Promise<readonly string[]> {
  const learner = new InterfaceLearner();
  const read = ["ipv4Addresses", "inetAddresses"] as const;
  await walk(
    session,
    read.map((column) => roots[column]),
    (root, varbinds) => {
      const column = read[root] as LearntColumn;
      for (const varbind of varbinds) learner.add(column, varbind.oid.slice(roots[column].length), varbind);
    },
    {
      ...options,
      maxValues: maxOwnAddresses,
      stop: (requests) => (requests < maxOwnAddresses ? undefined : "too many"),
    },
  );
  const { ipv4Addresses, inetAddresses } = learner.result();
  return [...new Set([...ipv4Addresses, ...inetAddresses])].sort();
}

/** Picks names and addresses out of whatever is read. */
export class InterfaceLearner {
  readonly #found = {
    descriptions: new Map<number, string>(),
    names: new Map<number, string>(),
    ipv4Addresses: new Set<string>(),
    inetAddresses: new Set<string>(),
  };

  /** @param suffix what follows the OID of the column. */
  add(column: LearntColumn, suffix: Oid, value: SnmpValue): void {
    if (column === "descriptions" || column === "names") {
      const [index] = suffix;
      const name = nameOf(value);
      if (index !== undefined && name !== undefined) this.#found[column].set(index, name);
      return;
    }
    const address = column === "ipv4Addresses" ? ownAddress(suffix.join(".")) : inetAddress(suffix);
    if (address !== undefined) this.#found[column].add(address);
  }

  result(): LearntInterfaces {
    return this.#found;
  }
}

/** Merges known names with found ones: in place of them where the column was read to its end, else added to them. */
export function mergeLearnt(
  before: LearntInterfaces,
  found: LearntInterfaces,
  complete: ReadonlySet<LearntColumn>,
): LearntInterfaces {
  const names = (column: "descriptions" | "names"): ReadonlyMap<number, string> =>
    isReplaced(column) ? found[column] : new Map([...before[column], ...found[column]]);
  const addresses = (column: "ipv4Addresses" | "inetAddresses"): ReadonlySet<string> =>
    isReplaced(column) ? found[column] : new Set([...before[column], ...found[column]]);
  const isReplaced = (column: LearntColumn): boolean =>
    complete.has(column) || before[column].size + found[column].size > maxLearnt;
  return {
    descriptions: names("descriptions"),
    names: names("names"),
    ipv4Addresses: addresses("ipv4Addresses"),
    inetAddresses: addresses("inetAddresses"),
  };
}

/** Names by ifIndex. The short name is what other tools show; some agents leave it empty. */
export function interfaceNames({ descriptions, names }: LearntInterfaces): ReadonlyMap<number, string> {
  return new Map([...descriptions, ...names]);
}

function nameOf({ value }: SnmpValue): string | undefined {
  return value instanceof Uint8Array ? readName(value) : undefined;
}

/**
 * InetAddressType, a length, the octets (RFC 4001): 1 is IPv4, 2 is IPv6; the others have zones. Some agents leave out
 * the length, others have more behind the octets.
 */
function inetAddress([type, ...rest]: Oid): string | undefined {
  const length = type === 1 ? 4 : type === 2 ? 16 : 0;
  const octets = rest.length === length ? rest : rest[0] === length ? rest.slice(1, length + 1) : [];
  if (length === 0 || octets.length !== length || octets.some((octet) => octet > 255)) return undefined;
  if (type === 1) return ownAddress(octets.join("."));
  const hex = Buffer.from(octets).toString("hex");
  return ownAddress((hex.match(/.{4}/g) as string[]).join(":"));
}

/** Canonical text; undefined when it is no address, or distinguishes no device. */
function ownAddress(text: string): string | undefined {
  const address = parseAddress(text);
  if (address === undefined) return undefined;
  const canonical = formatAddress(unmapAddress(address));
  return /^(?:0\.|127\.|169\.254\.|::1?$|fe[89ab])/.test(canonical) ? undefined : canonical;
}
