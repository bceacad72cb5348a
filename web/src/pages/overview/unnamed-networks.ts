/** Addresses of one network that have no name. */
export interface UnnamedNetwork {
  /** /24 of IPv4, /64 of IPv6. */
  readonly prefix: string;
  readonly addresses: number;
  readonly bytes: number;
}

interface Ranked {
  readonly key: readonly (string | number | boolean | null)[];
  readonly value: number;
}

/** Adds up addresses by their networks; the largest first. What is no address is left out. */
export function unnamedNetworks(rows: readonly Ranked[]): readonly UnnamedNetwork[] {
  const found = new Map<string, { addresses: Set<string>; bytes: number }>();
  for (const { key, value } of rows) {
    const address = key[0];
    const prefix = typeof address === "string" ? networkOf(address) : undefined;
    if (prefix === undefined || typeof address !== "string") continue;
    const network = found.get(prefix) ?? { addresses: new Set(), bytes: 0 };
    found.set(prefix, network);
    network.addresses.add(address);
    network.bytes += value;
  }
  return Array.from(found, ([prefix, { addresses, bytes }]) => ({ prefix, addresses: addresses.size, bytes })).toSorted(
    (one, other) => other.bytes - one.bytes,
  );
}

function networkOf(address: string): string | undefined {
  const v4 = /^(\d+\.\d+\.\d+)\.\d+$/.exec(address);
  if (v4 !== null) return `${v4[1] ?? ""}.0/24`;
  if (!address.includes(":") || address.includes(".")) return undefined;
  const [head = "", tail] = address.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  const groups = [...before, ...Array.from({ length: Math.max(0, zeros) }, () => "0"), ...after];
  if (groups.length !== 8) return undefined;
  const first = groups.slice(0, 4).map((group) => group.replace(/^0+(?=.)/, ""));
  while (first.at(-1) === "0") first.pop();
  return first.length === 0 ? "::/64" : `${first.join(":")}::/64`;
}
