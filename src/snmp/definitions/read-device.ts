import { formatAddress, parseAddress } from "../../base/ip/index.ts";
import { authenticationProtocols, privacyProtocols } from "../settings.ts";
import { transports, type Transport } from "../session/peer.ts";
import { versions, type SnmpVersion, type V3Credential } from "./definitions.ts";
import { type MapReader, describe } from "./map-reader.ts";
import { quote, Secret } from "../../base/text/index.ts";

/** What a file says of a device; the rest comes from the defaults. Intervals and time-outs as in a {@link Device}. */
export interface DeviceSettings {
  readonly port?: number;
  readonly transport?: Transport;
  readonly version?: SnmpVersion;
  readonly context?: string;
  readonly objectContexts?: ReadonlyMap<string, readonly string[]>;
  readonly communities?: readonly Secret[];
  readonly v3Credentials?: readonly V3Credential[];
  readonly deviceGroups?: readonly string[];
  readonly timeoutMs?: number;
  readonly retries?: number;
  readonly exponentialTimeout?: boolean;
  readonly pollIntervalMs?: number;
  readonly pollIntervalsMs?: ReadonlyMap<string, number>;
  readonly rediscoverIntervalMs?: number;
  readonly maxOids?: number;
  readonly maxRepetitions?: number;
  readonly maxRows?: number;
  readonly maxConcurrentPolls?: number;
}

export interface DeviceDraft extends DeviceSettings {
  readonly name: string;
  /** Canonical text. */
  readonly ip: string;
}

const settingNames = [
  "port",
  "transport",
  "context",
  "object_contexts",
  "timeout",
  "retries",
  "exponential_timeout",
  "version",
  "communities",
  "v3_credentials",
  "device_groups",
  "poll_interval",
  "poll_intervals",
  "rediscover_interval",
  "max_oids",
  "max_repetitions",
  "max_rows",
  "max_concurrent_polls",
];

/** A year: longer intervals are typing errors, and timers end at 24 days anyway. */
const maxIntervalSeconds = 20 * 86_400;

export function readDevice(name: string, reader: MapReader): DeviceDraft | undefined {
  reader.knowOnly(["ip", ...settingNames]);
  const text = reader.requiredText("ip");
  const ip = text === undefined ? undefined : parseAddress(text);
  if (text !== undefined && ip === undefined) reader.error(["ip"], "value", `ip: ${quote(text)} is not an IP address`);
  const settings = readSettings(reader);
  return reader.isValid && ip !== undefined ? { ...settings, name, ip: formatAddress(ip) } : undefined;
}

export function readDeviceDefaults(reader: MapReader): DeviceSettings {
  reader.knowOnly(settingNames);
  return readSettings(reader);
}

function readSettings(reader: MapReader): DeviceSettings {
  return withoutUndefined({
    port: reader.integer("port", 1, 65_535),
    transport: reader.oneOf("transport", transports),
    version: reader.oneOf("version", versions),
    context: reader.text("context"),
    objectContexts: readObjectContexts(reader),
    communities: reader.texts("communities")?.map((text) => new Secret(text)),
    v3Credentials: readCredentials(reader),
    deviceGroups: reader.texts("device_groups"),
    timeoutMs: reader.integer("timeout", 1, 600_000),
    retries: reader.integer("retries", 0, 100),
    exponentialTimeout: reader.boolean("exponential_timeout"),
    pollIntervalMs: seconds(reader.integer("poll_interval", 1, maxIntervalSeconds)),
    pollIntervalsMs: readPollIntervals(reader),
    rediscoverIntervalMs: seconds(reader.integer("rediscover_interval", 0, maxIntervalSeconds)),
    maxOids: reader.integer("max_oids", 1, 10_000),
    maxRepetitions: reader.integer("max_repetitions", 0, 10_000),
    maxRows: reader.integer("max_rows", 1, 100_000_000),
    maxConcurrentPolls: reader.integer("max_concurrent_polls", 1, 1000),
  });
}

/** Milliseconds of an object type. */
export function readObjectType(reader: MapReader): number | undefined {
  reader.knowOnly(["poll_interval"]);
  if (!reader.has("poll_interval")) reader.error([], "key", "poll_interval is missing");
  return seconds(reader.integer("poll_interval", 1, maxIntervalSeconds));
}

function readPollIntervals(reader: MapReader): ReadonlyMap<string, number> | undefined {
  const map = reader.map("poll_intervals");
  if (map === undefined) return undefined;
  const intervals = reader.within(map, ["poll_intervals"], "poll_intervals: ");
  const read = new Map<string, number>();
  for (const type of map.keys()) {
    const milliseconds = seconds(intervals.integer(type, 1, maxIntervalSeconds));
    if (milliseconds !== undefined) read.set(type, milliseconds);
  }
  if (!intervals.isValid) reader.isValid = false;
  return read;
}

function readObjectContexts(reader: MapReader): ReadonlyMap<string, readonly string[]> | undefined {
  const map = reader.map("object_contexts");
  if (map === undefined) return undefined;
  const objects = reader.within(map, ["object_contexts"], "object_contexts: ");
  const read = new Map<string, readonly string[]>();
  for (const id of map.keys()) {
    const contexts = readContexts(objects, id);
    if (contexts !== undefined) read.set(id, contexts);
  }
  if (!objects.isValid) reader.isValid = false;
  return read;
}

/** A list of contexts, each once. */
export function readContexts(reader: MapReader, key: string): string[] | undefined {
  const contexts = reader.texts(key);
  for (const [i, context] of (contexts ?? []).entries())
    if (contexts?.indexOf(context) !== i) reader.error([key, i], "value", `${key}: ${quote(context)} is there twice`);
  return contexts;
}

/** Users of version 3, in the order of the list. */
export function readCredentials(reader: MapReader): V3Credential[] | undefined {
  const list = reader.list("v3_credentials");
  if (list === undefined) return undefined;
  const credentials: V3Credential[] = [];
  for (const [i, item] of list.entries()) {
    const label = `v3_credentials ${i + 1}: `;
    if (!(item instanceof Map)) {
      reader.error(["v3_credentials", i], "value", `${label}expected a mapping, found ${describe(item)}`);
      continue;
    }
    const inner = reader.within(item, ["v3_credentials", i], label);
    const credential = readCredential(inner);
    if (credential === undefined) reader.isValid = false;
    else credentials.push(credential);
  }
  return credentials;
}

function readCredential(reader: MapReader): V3Credential | undefined {
  reader.knowOnly([
    "username",
    "authentication_protocol",
    "authentication_passphrase",
    "privacy_protocol",
    "privacy_passphrase",
  ]);
  const username = reader.requiredText("username");
  const authenticationProtocol = reader.oneOf("authentication_protocol", authenticationProtocols) ?? "noauth";
  const privacyProtocol = reader.oneOf("privacy_protocol", privacyProtocols) ?? "nopriv";
  const authenticationPassphrase = readPassphrase(reader, "authentication", authenticationProtocol !== "noauth");
  const privacyPassphrase = readPassphrase(reader, "privacy", privacyProtocol !== "nopriv");
  if (privacyProtocol !== "nopriv" && authenticationProtocol === "noauth") {
    reader.error(["privacy_protocol"], "value", "privacy needs an authentication_protocol");
  }
  if (!reader.isValid || username === undefined) return undefined;
  return { username, authenticationProtocol, authenticationPassphrase, privacyProtocol, privacyPassphrase };
}

/** RFC 3414 section 11.2: a shorter one is refused by agents. */
const minPassphraseBytes = 8;

function readPassphrase(reader: MapReader, of: "authentication" | "privacy", isNeeded: boolean): Secret | undefined {
  const key = `${of}_passphrase`;
  const text = isNeeded ? reader.requiredText(key) : reader.text(key);
  if (text === undefined || !isNeeded) return undefined;
  if (Buffer.byteLength(text) < minPassphraseBytes) {
    reader.error([key], "value", `${key}: expected at least ${minPassphraseBytes} characters`);
  }
  return new Secret(text);
}

function seconds(value: number | undefined): number | undefined {
  return value === undefined ? undefined : value * 1000;
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function withoutUndefined<T extends object>(value: T): Present<T> {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as Present<T>;
}
