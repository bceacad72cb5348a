import { readName } from "../values/convert-value.ts";
import { formatAddress, parseAddress, unmapAddress } from "../../base/ip/index.ts";
import { oidStartsWith, type Oid } from "../session/ber.ts";
import type { Session } from "../session/session.ts";
import type { MemoryLease } from "../limits.ts";
import { walk, type WalkOptions } from "../session/walk.ts";
import type { SnmpValue } from "../values/convert-value.ts";

/** The names and addresses of a device's interfaces, by their columns. */
export interface LearntInterfaces {
  /** ifDescr by ifIndex: the name if there is no ifName. */
  readonly descriptions: ReadonlyMap<number, string>;
  /** ifName by ifIndex. */
  readonly names: ReadonlyMap<number, string>;
  /** The addresses of ipAddrTable in canonical form, without those that many devices have at the same time (loopback, link-local). */
  readonly ipv4Addresses: ReadonlySet<string>;
  /** The addresses of ipAddressTable, in the same way. */
  readonly inetAddresses: ReadonlySet<string>;
}

export const nothingLearnt: LearntInterfaces = {
  descriptions: new Map(),
  names: new Map(),
  ipv4Addresses: new Set(),
  inetAddresses: new Set(),
};

/** A column with facts about interfaces. */
export type LearntColumn = keyof LearntInterfaces;

// IF-MIB (RFC 2863): ifDescr, ifName; IP-MIB (RFC 4293): ipAdEntAddr, ipAddressIfIndex.
const roots: Readonly<Record<LearntColumn, Oid>> = {
  descriptions: [1, 3, 6, 1, 2, 1, 2, 2, 1, 2],
  names: [1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1],
  ipv4Addresses: [1, 3, 6, 1, 2, 1, 4, 20, 1, 1],
  inetAddresses: [1, 3, 6, 1, 2, 1, 4, 34, 1, 3],
};
const columns = Object.keys(roots) as LearntColumn[];

/** The most names and addresses to keep for one device; many more than any device has. */
const maxLearnt = 100_000;
/** The most requests for one device. If more are necessary, its tables are endless, or it is too slow for its names to be of use. */
const maxRequests = 10_000;
/** The approximate bytes of a name in memory. */
const bytesEach = 160;

/** Returns the column with this OID; undefined if it has no facts about interfaces. */
export function learntColumn(oid: Oid): LearntColumn | undefined {
  return columns.find((column) => roots[column].length === oid.length && oidStartsWith(oid, roots[column]));
}

/**
 * Reads the columns of names and addresses.
 *
 * @param memory the budget for the results.
 * @param isWanted reports whether to continue.
 * @param before the known facts, which stay if a column cannot be read to its end.
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
  // A column without an end is not a table of names.
  columns.forEach(
    (column, i) => void (ends[i] === "too_many" && Object.assign(found, { [column]: nothingLearnt[column] })),
  );
  return mergeLearnt(before, found, new Set(columns.filter((_, i) => ends[i] === "end")));
}

/** The most addresses to read from a device to recognise it. */
const maxOwnAddresses = 2000;

/** Reads the addresses of a device. After a failure, the result has those read before it. */
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

/** Collects names and addresses from all values that are read. */
export class InterfaceLearner {
  readonly #found = {
    descriptions: new Map<number, string>(),
    names: new Map<number, string>(),
    ipv4Addresses: new Set<string>(),
    inetAddresses: new Set<string>(),
  };

  /** @param suffix the part after the OID of the column. */
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

/** Merges known names with found ones. Found names replace known ones if the column was read to its end; otherwise they are added. */
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

/** Returns names by ifIndex. The short name counts, because other tools show it; some agents leave it empty. */
export function interfaceNames({ descriptions, names }: LearntInterfaces): ReadonlyMap<number, string> {
  return new Map([...descriptions, ...names]);
}

function nameOf({ value }: SnmpValue): string | undefined {
  return value instanceof Uint8Array ? readName(value) : undefined;
}

/**
 * Returns the address of an index: InetAddressType, a length, the octets (RFC 4001). Type 1 is IPv4, 2 is IPv6; the others have zones.
 * Some agents leave out the length, others have more numbers behind the octets.
 */
function inetAddress([type, ...rest]: Oid): string | undefined {
  const length = type === 1 ? 4 : type === 2 ? 16 : 0;
  const octets = rest.length === length ? rest : rest[0] === length ? rest.slice(1, length + 1) : [];
  if (length === 0 || octets.length !== length || octets.some((octet) => octet > 255)) return undefined;
  if (type === 1) return ownAddress(octets.join("."));
  const hex = Buffer.from(octets).toString("hex");
  return ownAddress((hex.match(/.{4}/g) as string[]).join(":"));
}

/** Returns the canonical text; undefined if it is no address, or does not distinguish a device. */
function ownAddress(text: string): string | undefined {
  const address = parseAddress(text);
  if (address === undefined) return undefined;
  const canonical = formatAddress(unmapAddress(address));
  return /^(?:0\.|127\.|169\.254\.|::1?$|fe[89ab])/.test(canonical) ? undefined : canonical;
}
