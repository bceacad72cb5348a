import {
  type Key,
  addressKey,
  formatAddress,
  keyContains,
  parseAddress,
  KeyError,
  parseKey,
} from "../../base/ip/index.ts";
import type { Secret } from "../../base/text/index.ts";
import {
  integer,
  list,
  mapping,
  mergedPairs,
  oneOf,
  optional,
  pairsOf,
  Shape,
  type FileNode,
  type Values,
  type YamlNode,
} from "../../base/yaml/index.ts";
import { usmCredential, type V3Credential, versions, type Finding } from "../definitions/definitions.ts";
import type { Credential } from "../session/security.ts";
import { communities, v3Credentials } from "../definitions/device-shape.ts";
import { defaultId } from "../definitions/definition-formats.ts";
import { anyKey, isGiven, SettingsFile, tolerant, trueOrFalse, wholeFile, word } from "../definitions/settings-file.ts";

/** The credential with which an address is probed. */
export type SweepCredential =
  | { readonly version: "1" | "2c"; readonly community: Secret }
  | { readonly version: "3"; readonly user: V3Credential };

/** An entry of `networks.yml`, with its defaults filled in. */
export interface Network {
  readonly name: string;
  /** The ranges that a run probes, in this order. */
  readonly ranges: readonly Key[];
  /** The addresses that are never probed, whoever names them. */
  readonly excludes: readonly Key[];
  /** The networks in which neighbours and exporters may be probed, in addition to the ranges. */
  readonly allow: readonly Key[];
  readonly port: number;
  /** The credentials in the order in which they are tried; at least one. */
  readonly credentials: readonly SweepCredential[];
  readonly timeoutMs: number;
  /** The number of tries after the first one, with each credential. */
  readonly retries: number;
  /** True if SNMP is tried only at addresses that answer a ping. */
  readonly ping: boolean;
  /** The device groups in the files of its devices; undefined for the defaults. */
  readonly deviceGroups: readonly string[] | undefined;
}

/** Returns a credential whose secrets are in the clear. */
export function sessionCredential(credential: SweepCredential): Credential {
  if (credential.version === "3") return usmCredential(credential.user);
  return { version: credential.version, community: credential.community.reveal() };
}

/** Describes a credential by its position and version, never by its content, so that it may be shown. */
export function credentialName({ credentials }: Network, index: number): string {
  return `${index + 1} (version ${credentials[index]?.version})`;
}

/**
 * Returns the first and the last host of a key. The network and broadcast addresses of an IPv4 prefix are not hosts (RFC 3021: a /31
 * has two hosts).
 */
function hostsOf({ kind, family, first, last }: Key): readonly [first: bigint, last: bigint] {
  return kind === "cidr" && family === 4 && last - first > 1n ? [first + 1n, last - 1n] : [first, last];
}

/** Returns the number of hosts of a key. */
function countHosts(key: Key): bigint {
  const [first, last] = hostsOf(key);
  return last - first + 1n;
}

/** Yields the hosts of the ranges in order, as canonical text, without the excluded ones. */
export function* hostsIn(ranges: readonly Key[], excludes: readonly Key[]): Generator<string> {
  for (const range of ranges) {
    const { family } = range;
    const [first, last] = hostsOf(range);
    const left = excludes.filter((key) => key.family === family && key.first <= last && first <= key.last);
    for (let value = first; value <= last; value++) {
      const hole = left.find((key) => key.first <= value && value <= key.last);
      if (hole === undefined) yield formatAddress({ family, value });
      // A wide excluded range is skipped at once.
      else value = hole.last;
    }
  }
}

/** Reports whether one of the keys covers the address, given as text. */
export function covers(keys: readonly Key[], address: string): boolean {
  const parsed = parseAddress(address);
  if (parsed === undefined) return false;
  const key = addressKey(parsed);
  return keys.some((one) => keyContains(one, key));
}

/** The protocols by which devices know their neighbours. */
const neighbourProtocols = ["lldp", "cdp", "arp"] as const;
export type NeighbourProtocol = (typeof neighbourProtocols)[number];

/** The source of addresses that may be devices: neighbours, or flows. */
export type CandidateSource = NeighbourProtocol | "flow";

export interface NetworksFile {
  /** The networks; empty if there is an error. */
  readonly networks: readonly Network[];
  readonly findings: readonly Finding[];
}

/** The most addresses of an IPv6 range, because they are probed one by one. */
const maxIpv6Range = 1024n;

/** The networks without addresses of devices: "this network", multicast and the reserved range above it. */
const notUnicast = ["0.0.0.0/8", "224.0.0.0/3", "::/128", "ff00::/8"].map(parseKey);

const addresses: Shape<Key> = word.to((given, at) => {
  try {
    return parseKey(given.replace(/\s*-\s*/, "-"));
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    return at.error(error.message.replace(/^key /, ""));
  }
});

const range = addresses.to((key, at) => {
  const wrong = notUnicast.find((one) => one.family === key.family && one.first <= key.last && key.first <= one.last);
  if (wrong !== undefined) at.error(`${key.text} has addresses of ${wrong.text}, which are no device's`);
  if (key.family === 6 && countHosts(key) > maxIpv6Range) {
    const most = `at most ${maxIpv6Range} of a range are searched (a /118), or list them`;
    at.error(`${key.text} has too many IPv6 addresses: ${most}`);
  }
  return key;
});

const credentialFields = {
  version: optional(oneOf(versions), "Of SNMP, for communities: `2c` where nothing says."),
  communities: optional(communities, "Of versions 1 and 2c, in the order in which they are tried."),
  v3_credentials: optional(v3Credentials, "Users of version 3, in the order in which they are tried."),
};
const credentialNames = Object.keys(credentialFields);

function checkCredentials(given: Partial<Values<typeof credentialFields>>, at: FileNode): void {
  if (given.version === "3" && (given.communities ?? []).length > 0)
    at.below("communities").error("version 3 has users, see v3_credentials", undefined, "key");
}

/** Returns the credentials to try, and reports if there are none. */
function credentialsOf(given: Values<typeof credentialFields>, at: FileNode): SweepCredential[] {
  const version = given.version === "1" ? ("1" as const) : ("2c" as const);
  const users = given.v3_credentials ?? [];
  const found = [
    ...(given.communities ?? []).map((community) => ({ version, community })),
    ...users.map((user) => ({ version: "3" as const, user })),
  ];
  if (found.length === 0) at.error("communities or v3_credentials are missing", undefined, "key");
  return found;
}

const networkFields = {
  ranges: optional(list(range), "Addresses, CIDRs and ranges that a run probes, in this order."),
  excludes: optional(list(addresses), "Those that are never probed."),
  allow: optional(list(addresses), "Where neighbours and exporters may be probed, in addition to `ranges`."),
  credentials: optional(
    list(mapping(credentialFields, { ...tolerant, check: checkCredentials }).to(credentialsOf)),
    "What devices are asked with, in this order; or its keys stand in the network itself.",
  ),
  ...credentialFields,
  port: optional(integer(1, 65_535), "161 where nothing says."),
  timeout: optional(integer(1, 60_000), "Milliseconds that an answer may take; 1000 where nothing says."),
  retries: optional(integer(0, 10), "Tries after the first one, with each credential; 1 where nothing says."),
  ping: optional(trueOrFalse, "Whether only addresses that answer a ping are asked."),
  device_groups: optional(list(word), "For the files of its devices. Left out: the defaults."),
};

const networkShape: Shape<Network> = mapping(networkFields, {
  ...tolerant,
  check: (given, at) => {
    if (!isGiven(at, "ranges") && !isGiven(at, "allow")) at.error("ranges is missing", undefined, "key");
    const both = credentialNames.find((name) => isGiven(at, name));
    if (!isGiven(at, "credentials")) checkCredentials(given, at);
    else if (both !== undefined) at.below(both).error("not together with credentials", undefined, "key");
  },
}).to((given, at) => ({
  name: String(at.step),
  ranges: given.ranges ?? [],
  excludes: given.excludes ?? [],
  allow: given.allow ?? [],
  port: given.port ?? 161,
  credentials: given.credentials?.flat() ?? credentialsOf(given, at),
  timeoutMs: given.timeout ?? 1000,
  retries: given.retries ?? 1,
  ping: given.ping ?? false,
  deviceGroups: given.device_groups,
}));

const anything = new Shape("anything", () => true);
/** The shape of the settings for all networks. It checks only their keys; their values are checked in each network. */
const sharedShape = mapping(
  Object.fromEntries(Object.keys(networkFields).map((name) => [name, optional(anything, "")])),
  { ...tolerant, isAbsent: () => false },
);

/** The shape of a file of networks. */
export const networksShape: Shape<[string, Network][]> = pairsOf(anyKey, networkShape, { name: "<network>" });

/**
 * Adds the settings of `default` to each other network. A network's own settings win. A fault in an added value is reported at the key
 * of the network, wherever `default` stands.
 */
function withShared(root: YamlNode): YamlNode {
  if (root.kind !== "mapping") return root;
  const pairs = mergedPairs(root, unreachable);
  const shared = pairs.find(({ key }) => key.text === defaultId)?.value;
  if (shared?.kind !== "mapping") return root;
  const added = mergedPairs(shared, unreachable)
    .filter(({ key }) => Object.hasOwn(networkFields, key.text))
    .map(({ key, value }) => ({ key: { ...key, at: 0 }, value }));
  const joined = (value: YamlNode): YamlNode => {
    if (value === shared || value.kind !== "mapping") return value;
    const own = mergedPairs(value, unreachable);
    return { ...value, pairs: [...own, ...added.filter((one) => own.every(({ key }) => key.text !== one.key.text))] };
  };
  return { ...root, pairs: pairs.map(({ key, value }) => ({ key, value: joined(value) })) };
}

function unreachable(message: string): never {
  throw new Error(message);
}

/**
 * Reads `networks.yml`: a mapping from names to networks. The settings of `default` apply to all others.
 *
 * @param maxAddresses the most addresses of all ranges together. More are an error; the ranges are never cut.
 */
export function readNetworks(path: string, bytes: Uint8Array, maxAddresses: number): NetworksFile {
  const file = SettingsFile.read(path, bytes, true, withShared);
  const what = "a mapping from names to networks";
  const networks: Network[] = [];
  let count = 0n;
  for (const pair of file.pairs(what)) {
    if (pair.step === defaultId) sharedShape.read(pair);
    const network = pair.step === defaultId ? undefined : networkShape.read(pair);
    if (network === undefined) continue;
    networks.push(network);
    count += network.ranges.reduce((sum, one) => sum + countHosts(one), 0n);
    if (count <= BigInt(maxAddresses)) continue;
    const most = `SVC_INPUT_SNMP_DISCOVERY_MAX_ADDRESSES (${maxAddresses})`;
    pair.below("ranges").error(`${count} addresses up to here are more than ${most}`);
  }
  const { findings } = file;
  if (networks.length === 0 && findings.length === 0) {
    const message = file.root === undefined ? `expected ${what}, found nothing` : "names no network";
    findings.push({ ...wholeFile(path, message), line: 1, column: 1 });
  }
  return { networks: findings.some(({ severity }) => severity === "error") ? [] : networks, findings };
}
