import { formatAddress, parseAddress } from "../../base/ip/index.ts";
import {
  defaulted,
  integer,
  list,
  mapOf,
  mapping,
  oneOf,
  optional,
  required,
  scalar,
  type FileNode,
  type Shape,
  type Values,
} from "../../base/yaml/index.ts";
import { authenticationProtocols, privacyProtocols } from "../settings.ts";
import { transports } from "../session/peer.ts";
import { versions, type Device, type V3Credential } from "./definitions.ts";
import { anyKey, distinctWords, isGiven, orNothing, textLine, tolerant, trueOrFalse, word } from "./settings-file.ts";
import { Secret } from "../../base/text/index.ts";

/** The settings of a device in a file; the rest comes from the defaults. */
export type DeviceSettings = Partial<Omit<Device, "id" | "name" | "ip">>;

export type DeviceDraft = DeviceSettings & Pick<Device, "name" | "ip">;

/** The longest interval. Longer ones are typing errors, and timers end at 24 days anyway. */
const maxIntervalSeconds = 20 * 86_400;

function seconds(least: number): Shape<number> {
  return integer(least, maxIntervalSeconds).to((value) => value * 1000);
}

/** The least length of a passphrase (RFC 3414 section 11.2): agents refuse shorter ones. */
const minPassphraseBytes = 8;

const credentialFields = {
  username: required(textLine, "Who asks."),
  authentication_protocol: defaulted(oneOf(authenticationProtocols), "noauth", "How messages are authenticated."),
  authentication_passphrase: optional(textLine, "At least 8 characters; needed with a protocol."),
  privacy_protocol: defaulted(oneOf(privacyProtocols), "nopriv", "How messages are encrypted."),
  privacy_passphrase: optional(textLine, "At least 8 characters; needed with a protocol."),
};

function checkCredential(given: Partial<Values<typeof credentialFields>>, at: FileNode): void {
  const { authentication_protocol: authentication = "noauth", privacy_protocol: privacy = "nopriv" } = given;
  if (authentication !== "noauth") checkPassphrase(given, "authentication_passphrase", at);
  if (privacy !== "nopriv") checkPassphrase(given, "privacy_passphrase", at);
  if (privacy !== "nopriv" && authentication === "noauth")
    at.below("privacy_protocol").error("privacy needs an authentication_protocol");
}

function checkPassphrase(
  given: Partial<Values<typeof credentialFields>>,
  key: "authentication_passphrase" | "privacy_passphrase",
  at: FileNode,
): void {
  const passphrase = given[key];
  if (!isGiven(at, key)) at.error(`${key} is missing`, undefined, "key");
  else if (passphrase !== undefined && Buffer.byteLength(passphrase) < minPassphraseBytes)
    at.below(key).error(`expected at least ${minPassphraseBytes} characters`);
}

/** The shape of users of version 3, in the order of the list. */
export const v3Credentials: Shape<V3Credential[]> = list(
  mapping(credentialFields, { ...tolerant, check: checkCredential }).to((given) => {
    const { authentication_protocol: authenticationProtocol, privacy_protocol: privacyProtocol } = given;
    const secret = (isUsed: boolean, passphrase: string | undefined): Secret | undefined =>
      isUsed && passphrase !== undefined ? new Secret(passphrase) : undefined;
    return {
      username: given.username,
      authenticationProtocol,
      authenticationPassphrase: secret(authenticationProtocol !== "noauth", given.authentication_passphrase),
      privacyProtocol,
      privacyPassphrase: secret(privacyProtocol !== "nopriv", given.privacy_passphrase),
    };
  }),
);

export const communities: Shape<Secret[]> = list(word.to((given) => new Secret(given)));

const settingFields = {
  port: optional(integer(1, 65_535), "161 where nothing says."),
  transport: optional(oneOf(transports), "`udp` where nothing says."),
  version: optional(oneOf(versions), "Of SNMP; `2c` where nothing says."),
  context: optional(textLine, "Which of the agent's contexts is asked."),
  object_contexts: optional(
    mapOf(anyKey, orNothing(distinctWords), { name: "<object>" }),
    "In which contexts objects (`MIB::object`) are read, in the place of those that their definitions name.",
  ),
  communities: optional(communities, "Of versions 1 and 2c, in the order in which they are tried."),
  v3_credentials: optional(v3Credentials, "Users of version 3, in the order in which they are tried."),
  device_groups: optional(list(word), "What is polled; `auto` stands for the groups of its sysObjectID."),
  timeout: optional(integer(1, 600_000), "Milliseconds that an answer may take; 3000 where nothing says."),
  retries: optional(integer(0, 100), "How often a request is sent again; 2 where nothing says."),
  exponential_timeout: optional(trueOrFalse, "Whether the time-out doubles with each retry."),
  poll_interval: optional(seconds(1), "Seconds; 60 where nothing says. Intervals of object types come before it."),
  poll_intervals: optional(
    mapOf(anyKey, orNothing(seconds(1)), { name: "<type>" }),
    "Seconds by object type; these come before all others.",
  ),
  rediscover_interval: optional(
    seconds(0),
    "Seconds from one discovery to the next; 0 is never, a day where nothing says.",
  ),
  max_oids: optional(integer(1, 10_000), "The most OIDs in one request; 64 where nothing says."),
  max_repetitions: optional(integer(0, 10_000), "Of a GetBulk; 0 is automatic."),
  max_rows: optional(integer(1, 100_000_000), "The most rows that are read of one table; 100000 where nothing says."),
  max_concurrent_polls: optional(integer(1, 1000), "4 where nothing says."),
};

/** The names that settings have in a {@link Device}. */
const settingNames: { readonly [Key in keyof typeof settingFields]: keyof DeviceSettings } = {
  port: "port",
  transport: "transport",
  version: "version",
  context: "context",
  object_contexts: "objectContexts",
  communities: "communities",
  v3_credentials: "v3Credentials",
  device_groups: "deviceGroups",
  timeout: "timeoutMs",
  retries: "retries",
  exponential_timeout: "exponentialTimeout",
  poll_interval: "pollIntervalMs",
  poll_intervals: "pollIntervalsMs",
  rediscover_interval: "rediscoverIntervalMs",
  max_oids: "maxOids",
  max_repetitions: "maxRepetitions",
  max_rows: "maxRows",
  max_concurrent_polls: "maxConcurrentPolls",
};

/** Returns the given settings without the absent ones. */
function settingsOf(given: Values<typeof settingFields>): DeviceSettings {
  const settings: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(given)) settings[settingNames[key as keyof typeof settingNames]] = value;
  return settings;
}

const address = scalar("an IP address", (given) => {
  const parsed = parseAddress(given);
  return parsed && formatAddress(parsed);
});

export const deviceShape: Shape<DeviceDraft> = mapping(
  { ip: required(address, "Where it is."), ...settingFields },
  tolerant,
).to(({ ip, ...given }, at) => ({ ...settingsOf(given), name: String(at.step), ip }));

export const deviceDefaultsShape: Shape<DeviceSettings> = mapping(settingFields, tolerant).to(settingsOf);

/** The shape of an object type, as its interval in ms. */
export const objectTypeShape: Shape<number> = mapping({ poll_interval: required(seconds(1), "Seconds.") }, tolerant).to(
  (given) => given.poll_interval,
);
