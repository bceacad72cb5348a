import { familyBits, keyContains, networkOfKey, parseKey, type Family, type Key } from "../../base/ip/index.ts";

/** What of the packets to a prefix a flow specification is about (RFC 8955); what is left out does not matter. */
export interface Match {
  /** A prefix of sources. */
  readonly source?: string;
  /** The number of the protocol. */
  readonly protocol?: number;
  readonly sourcePorts?: readonly number[];
  readonly destinationPorts?: readonly number[];
  /** Bytes of the packet with its IP header, both ends included. */
  readonly packetLength?: { readonly from: number; readonly to: number };
  /** Packets that are parts of others. */
  readonly fragment?: boolean;
  /** Packets of TCP that ask for a connection. */
  readonly syn?: boolean;
}

/** A route that a speaker announces; plain data. */
export interface Route {
  readonly kind: "blackhole" | "flowspec";
  /** Where the packets go. */
  readonly prefix: string;
  readonly nextHop?: string;
  /** Such as `65535:666`. */
  readonly communities: readonly string[];
  /** Of a flow specification. */
  readonly match?: Match;
  /** Of a flow specification: what may pass, 0 for nothing. */
  readonly bytesPerSecond?: number;
}

/** The kinds of components of a flow specification in the order of their numbers, each with its number (RFC 8955, section 4.2). */
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

/** Returns an address or a network as a prefix, without host bits; undefined for another text. */
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

/** Tells whether a prefix is a single address. */
export function isHost(prefix: string): boolean {
  return prefix.endsWith(prefix.includes(":") ? "/128" : "/32");
}

/** The same for routes of which a speaker holds one at a time: one takes the place of the other. */
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

/** The shortest prefix that a flow specification may be about: no mistake takes more than such a network. */
export const shortest: Readonly<Record<Family, number>> = { 4: 16, 6: 32 };

/** Of a host itself, of one link, of groups: routers speak their own protocols there, and forward none of it. */
const notForwarded = ["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3", "::/127", "fe80::/10", "ff00::/8"];

/** Says why a route is never announced; undefined where it may be. @param never SVC_WATCH_ANSWERS_NEVER. */
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

/** Says in words what a route does. */
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

/** A route as ExaBGP's `announce` and `withdraw` take it. */
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

/** A route as a `protocol static` of BIRD has it. */
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
