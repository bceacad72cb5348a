import {
  type Key,
  addressKey,
  formatAddress,
  keyContains,
  parseAddress,
  KeyError,
  parseKey,
} from "../../base/ip/index.ts";
import { Secret } from "../../base/text/index.ts";
import { usmCredential, type V3Credential, versions, type Finding } from "../definitions/definitions.ts";
import type { Credential } from "../session/security.ts";
import { FindingCollector, describe, isNull, MapReader, type YamlMap } from "../definitions/map-reader.ts";
import { decodeText, defaultId, parseOrReport } from "../definitions/parse-file.ts";
import { readCredentials } from "../definitions/read-device.ts";

/** What an address is asked with. */
export type SweepCredential =
  | { readonly version: "1" | "2c"; readonly community: Secret }
  | { readonly version: "3"; readonly user: V3Credential };

/** One entry of `networks.yml`, with its defaults filled in. */
export interface Network {
  readonly name: string;
  /** What a run probes, in this order. */
  readonly ranges: readonly Key[];
  /** Never probed, whoever names it. */
  readonly excludes: readonly Key[];
  /** Where neighbours and exporters may be probed, in addition to the ranges. */
  readonly allow: readonly Key[];
  readonly port: number;
  /** In the order in which they are tried; at least one. */
  readonly credentials: readonly SweepCredential[];
  readonly timeoutMs: number;
  /** Tries after the first one, with each credential. */
  readonly retries: number;
  /** Whether only addresses that answer a ping are asked by SNMP. */
  readonly ping: boolean;
  /** For the files of its devices; undefined: the defaults. */
  readonly deviceGroups: readonly string[] | undefined;
}

/** The secrets in it are in the clear. */
export function sessionCredential(credential: SweepCredential): Credential {
  if (credential.version === "3") return usmCredential(credential.user);
  return { version: credential.version, community: credential.community.reveal() };
}

/** A credential in words that may be shown: its place and version, never what it holds. */
export function credentialName({ credentials }: Network, index: number): string {
  return `${index + 1} (version ${credentials[index]?.version})`;
}

/**
 * First and last address that a key stands for. Those of an IPv4 prefix that are its network and its broadcast address
 * are no hosts (RFC 3021: a /31 has two).
 */
function hostsOf({ kind, family, first, last }: Key): readonly [first: bigint, last: bigint] {
  return kind === "cidr" && family === 4 && last - first > 1n ? [first + 1n, last - 1n] : [first, last];
}

/** How many addresses a key stands for. */
function countHosts(key: Key): bigint {
  const [first, last] = hostsOf(key);
  return last - first + 1n;
}

/** The addresses of the ranges in their order, as canonical text, without those that are excluded. */
export function* hostsIn(ranges: readonly Key[], excludes: readonly Key[]): Generator<string> {
  for (const range of ranges) {
    const { family } = range;
    const [first, last] = hostsOf(range);
    const left = excludes.filter((key) => key.family === family && key.first <= last && first <= key.last);
    for (let value = first; value <= last; value++) {
      const hole = left.find((key) => key.first <= value && value <= key.last);
      if (hole === undefined) yield formatAddress({ family, value });
      // The rest of a wide hole is passed over at once.
      else value = hole.last;
    }
  }
}

/** Whether one of the keys covers the address, given as text. */
export function covers(keys: readonly Key[], address: string): boolean {
  const parsed = parseAddress(address);
  if (parsed === undefined) return false;
  const key = addressKey(parsed);
  return keys.some((one) => keyContains(one, key));
}

/** Protocols by which devices know their neighbours. */
const neighbourProtocols = ["lldp", "cdp", "arp"] as const;
export type NeighbourProtocol = (typeof neighbourProtocols)[number];

/** Who names addresses that may be devices: neighbours, and flows. */
export type CandidateSource = NeighbourProtocol | "flow";

export interface NetworksFile {
  /** Empty where there is an error. */
  readonly networks: readonly Network[];
  readonly findings: readonly Finding[];
}

const credentialNames = ["version", "communities", "v3_credentials"];
const names = [
  ...credentialNames,
  "ranges",
  "excludes",
  "allow",
  "credentials",
  "port",
  "timeout",
  "retries",
  "ping",
  "device_groups",
];

/** More addresses of IPv6 than these are not searched one by one. */
const maxIpv6Range = 1024n;

/** What is no address of a device: "this network", multicast and what is reserved above it. */
const notUnicast = ["0.0.0.0/8", "224.0.0.0/3", "::/128", "ff00::/8"].map(parseKey);

/**
 * Reads `networks.yml`: a mapping from names to networks. What `default` says holds for all the others.
 *
 * @param maxAddresses the most addresses of all ranges together: more are an error, never a part of them.
 */
export function readNetworks(file: string, bytes: Uint8Array, maxAddresses: number): NetworksFile {
  const text = decodeText(bytes);
  const collector = new FindingCollector(file, () => text);
  const root = parseOrReport("network", bytes, collector);
  const networks: Network[] = [];
  if (root instanceof Map) {
    const shared = root.get(defaultId);
    let addresses = 0n;
    for (const [name, node] of root) {
      const reader = new MapReader(node instanceof Map ? node : new Map(), collector.for("network"), [name]);
      if (!(node instanceof Map)) reader.error([], "key", `expected a mapping, found ${describe(node)}`);
      reader.knowOnly(names);
      if (name === defaultId || !(node instanceof Map)) continue;
      const joined: YamlMap = new Map([...(shared instanceof Map ? shared : []), ...node]);
      const network = readNetwork(name, new MapReader(joined, collector.for("network"), [name]));
      if (network === undefined) continue;
      addresses += network.ranges.reduce((sum, range) => sum + countHosts(range), 0n);
      if (addresses > BigInt(maxAddresses)) {
        const message = `ranges: ${addresses} addresses up to here are more than SVC_INPUT_SNMP_DISCOVERY_MAX_ADDRESSES (${maxAddresses})`;
        reader.error(["ranges"], "value", message);
      }
      networks.push(network);
    }
    if (networks.length === 0 && collector.findings.length === 0)
      collector.addFile("network", "names no network", 1, 1);
  } else if (root !== undefined) {
    const found = isNull(root) ? "nothing" : describe(root);
    collector.addFile("network", `expected a mapping from names to networks, found ${found}`, 1, 1);
  }
  const hasErrors = collector.findings.some(({ severity }) => severity === "error");
  return { networks: hasErrors ? [] : networks, findings: collector.findings };
}

function readNetwork(name: string, reader: MapReader): Network | undefined {
  const ranges = readKeys(reader, "ranges") ?? [];
  const allow = readKeys(reader, "allow") ?? [];
  if (!reader.has("ranges") && !reader.has("allow")) reader.error([], "key", "ranges is missing");
  for (const [i, range] of ranges.entries()) checkRange(reader, i, range);
  const credentials = readAllCredentials(reader);
  const network: Network = {
    name,
    ranges,
    excludes: readKeys(reader, "excludes") ?? [],
    allow,
    port: reader.integer("port", 1, 65_535) ?? 161,
    credentials,
    timeoutMs: reader.integer("timeout", 1, 60_000) ?? 1000,
    retries: reader.integer("retries", 0, 10) ?? 1,
    ping: reader.boolean("ping") ?? false,
    deviceGroups: reader.texts("device_groups"),
  };
  return reader.isValid ? network : undefined;
}

function readKeys(reader: MapReader, name: string): Key[] | undefined {
  return reader.texts(name)?.flatMap((text, i) => {
    try {
      return [parseKey(text.replace(/\s*-\s*/, "-"))];
    } catch (error) {
      if (!(error instanceof KeyError)) throw error;
      reader.error([name, i], "value", `${name}: ${error.message.replace(/^key /, "")}`);
      return [];
    }
  });
}

function checkRange(reader: MapReader, i: number, range: Key): void {
  const wrong = notUnicast.find(
    (key) => key.family === range.family && key.first <= range.last && range.first <= key.last,
  );
  if (wrong !== undefined) {
    reader.error(["ranges", i], "value", `ranges: ${range.text} has addresses of ${wrong.text}, which are no device's`);
  }
  if (range.family === 6 && countHosts(range) > maxIpv6Range) {
    const most = `at most ${maxIpv6Range} of a range are searched (a /118), or list them`;
    reader.error(["ranges", i], "value", `ranges: ${range.text} has too many IPv6 addresses: ${most}`);
  }
}

/** `credentials`, a list of what a device has; or the same keys in the network itself. */
function readAllCredentials(reader: MapReader): SweepCredential[] {
  const list = reader.list("credentials");
  if (list === undefined) return readSome(reader);
  const both = credentialNames.find((name) => reader.has(name));
  if (both !== undefined) reader.error([both], "key", `${both}: not together with credentials`);
  return list.flatMap((item, i) => {
    const label = `credentials ${i + 1}: `;
    if (!(item instanceof Map)) {
      reader.error(["credentials", i], "value", `${label}expected a mapping, found ${describe(item)}`);
      return [];
    }
    const inner = reader.within(item, ["credentials", i], label);
    inner.knowOnly(credentialNames);
    const found = readSome(inner);
    if (!inner.isValid) reader.isValid = false;
    return found;
  });
}

function readSome(reader: MapReader): SweepCredential[] {
  const version = reader.oneOf("version", versions);
  const communities = reader.texts("communities") ?? [];
  const users = readCredentials(reader) ?? [];
  if (version === "3" && communities.length > 0) {
    reader.error(["communities"], "key", "communities: version 3 has users, see v3_credentials");
  }
  if (reader.isValid && communities.length + users.length === 0) {
    reader.error([], "key", "communities or v3_credentials are missing");
  }
  const ofCommunities = version === "1" ? ("1" as const) : ("2c" as const);
  return [
    ...communities.map((community) => ({ version: ofCommunities, community: new Secret(community) })),
    ...users.map((user) => ({ version: "3" as const, user })),
  ];
}
