import { familyBits, keyContains, networkOfKey, parseKey, type Family, type Key } from "../../base/ip/index.ts";

/** The packets to a prefix that a flow specification matches (RFC 8955). A missing component matches everything. */
export interface Match {
  /** A source prefix. */
  readonly source?: string;
  /** The protocol number. */
  readonly protocol?: number;
  readonly sourcePorts?: readonly number[];
  readonly destinationPorts?: readonly number[];
  /** Length of the packet with its IP header, in bytes; both ends are included. */
  readonly packetLength?: { readonly from: number; readonly to: number };
  /** Matches fragments. */
  readonly fragment?: boolean;
  /** Matches TCP packets that ask for a connection. */
  readonly syn?: boolean;
}

/** A route to announce; plain data. */
export interface Route {
  readonly kind: "blackhole" | "flowspec";
  /** The destination prefix. */
  readonly prefix: string;
  readonly nextHop?: string;
  /** Communities such as `65535:666`. */
  readonly communities: readonly string[];
  /** The match, for a flow specification. */
  readonly match?: Match;
  /** The rate limit of a flow specification; 0 discards everything. */
  readonly bytesPerSecond?: number;
}

/** The component types of a flow specification in the order of their numbers (RFC 8955, section 4.2). */
export const componentTypes = {
  prefix: 1,
  source: 2,
  protocol: 3,
  destinationPorts: 5,
  sourcePorts: 6,
  syn: 9,
  packetLength: 10,
  fragment: 12,
} as const;

const protocolNames: Readonly<Record<number, string>> = { 1: "icmp", 6: "tcp", 17: "udp", 47: "gre", 58: "icmp6" };

/** Returns an address or a network as a prefix without host bits; undefined for any other text. */
export function prefixOf(text: string): string | undefined {
  let key: Key;
  try {
    key = parseKey(text);
  } catch {
    return undefined;
  }
  if (key.kind === "range") return undefined;
  return key.kind === "ip" ? `${key.text}/${familyBits(key.family)}` : (networkOfKey(key) ?? key.text);
}

/** Reports whether a prefix is a single address. */
export function isHost(prefix: string): boolean {
  return prefix.endsWith(prefix.includes(":") ? "/128" : "/32");
}

/** Returns a key that is equal for routes of which a speaker holds only one: the later replaces the earlier. */
export function routeKey({ kind, prefix, match = {} }: Route): string {
  return JSON.stringify([kind, prefix, Object.entries(match).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}

/** Returns the first prefix of a list that shares addresses with a prefix. */
export function overlap(prefix: string, others: readonly string[]): string | undefined {
  const key = parseKey(prefix);
  return others.find((other) => {
    const its = parseKey(other);
    return keyContains(key, its) || keyContains(its, key);
  });
}

/** The shortest prefix that a flow specification may have. A mistake can affect no larger network. */
export const shortest: Readonly<Record<Family, number>> = { 4: 16, 6: 32 };

/** Loopback, link-local and multicast addresses and the like. Routers use them for their own protocols and do not forward them. */
const notForwarded = ["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3", "::/127", "fe80::/10", "ff00::/8"];

/** Returns why a route must never be announced; undefined where it may be. @param never the prefixes of SVC_WATCH_ANSWERS_NEVER. */
export function whyNever({ kind, prefix, nextHop }: Route, never: readonly string[]): string | undefined {
  const { family } = parseKey(prefix);
  const length = Number(prefix.slice(prefix.indexOf("/") + 1));
  const least = kind === "blackhole" ? familyBits(family) : shortest[family];
  if (length < least) return `${prefix} is never announced: it is shorter than /${least}`;
  const found = overlap(prefix, never);
  if (found !== undefined) return `${prefix} is never announced: SVC_WATCH_ANSWERS_NEVER has ${found}`;
  const special = overlap(prefix, notForwarded);
  if (special !== undefined) return `${prefix} is never announced: routers forward nothing to ${special}`;
  if (nextHop !== undefined && overlap(prefix, [nextHop]) !== undefined)
    return `${prefix} is never announced: it is its own next hop`;
  return undefined;
}

/** Returns a description of what a route does. */
export function routeText({ kind, prefix, nextHop, match = {}, bytesPerSecond = 0 }: Route): string {
  if (kind === "blackhole") return `all packets to ${prefix} to ${nextHop ?? "nowhere"}`;
  const { source, protocol, sourcePorts, destinationPorts, packetLength, fragment, syn } = match;
  const verb = bytesPerSecond === 0 ? "discard" : `at most ${bytesPerSecond} bytes/s of`;
  const parts = [
    protocol === undefined ? "packets" : (protocolNames[protocol] ?? `protocol ${protocol}`),
    source && `from ${source}`,
    sourcePorts && `from port ${sourcePorts.join(", ")}`,
    `to ${prefix}`,
    destinationPorts && `to port ${destinationPorts.join(", ")}`,
    packetLength && `of ${packetLength.from} to ${packetLength.to} bytes`,
    fragment === true && "that are fragments",
    syn === true && "that ask for a connection",
  ];
  return `${verb} ${parts.filter((part) => typeof part === "string").join(" ")}`;
}

/** Returns a route in the syntax of ExaBGP's `announce` and `withdraw`. */
export function exabgpText({ kind, prefix, nextHop, communities, match = {}, bytesPerSecond = 0 }: Route): string {
  const community = communities.length === 0 ? "" : ` community [ ${communities.join(" ")} ]`;
  if (kind === "blackhole") return `route ${prefix} next-hop ${nextHop ?? ""}${community}`;
  const values = (list: readonly number[]): string =>
    list.length === 1 ? `=${list[0]}` : `[ ${list.map((each) => `=${each}`).join(" ")} ]`;
  const { source, protocol, sourcePorts, destinationPorts, packetLength, fragment, syn } = match;
  const terms = [
    source && `source ${source}`,
    `destination ${prefix}`,
    protocol !== undefined && `protocol =${protocol}`,
    destinationPorts && `destination-port ${values(destinationPorts)}`,
    sourcePorts && `source-port ${values(sourcePorts)}`,
    syn === true && "tcp-flags syn&!ack",
    packetLength && `packet-length >=${packetLength.from}&<=${packetLength.to}`,
    fragment === true && "fragment is-fragment",
  ].filter((term) => typeof term === "string");
  const action = bytesPerSecond === 0 ? "discard;" : `rate-limit ${bytesPerSecond};`;
  return `flow route { match { ${terms.map((term) => `${term};`).join(" ")} } then { ${action}${community === "" ? "" : `${community};`} } }`;
}

/** Returns a route for a `protocol static` of BIRD. */
export function birdText({ kind, prefix, match = {} }: Route): string {
  if (kind === "blackhole") return `route ${prefix} blackhole;`;
  const { source, protocol, sourcePorts, destinationPorts, packetLength, fragment, syn } = match;
  const isIpv6 = prefix.includes(":");
  const terms = [
    `dst ${prefix}`,
    source && `src ${source}`,
    protocol !== undefined && `${isIpv6 ? "next header" : "proto"} ${protocol}`,
    destinationPorts && `dport ${destinationPorts.join(",")}`,
    sourcePorts && `sport ${sourcePorts.join(",")}`,
    syn === true && "tcp flags 0x02/0x12",
    packetLength && `length ${packetLength.from}..${packetLength.to}`,
    fragment === true && "fragment is_fragment",
  ].filter((term) => typeof term === "string");
  return `route flow${isIpv6 ? 6 : 4} { ${terms.map((term) => `${term};`).join(" ")} };`;
}
