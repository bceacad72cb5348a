import {
  bool,
  brokerAddress,
  GiB,
  int,
  list,
  listOrNone,
  orEmpty,
  path,
  plainText,
  row,
  secret,
  size,
  type SettingType,
} from "../../base/settings/index.ts";
import { Secret } from "../../base/text/index.ts";
import { commonRows } from "../delivery/settings.ts";
import { clientCertificateRows, tlsOf, tlsRows } from "../http/server-settings.ts";
import type { TlsConfig } from "../delivery/tls-options.ts";
import { outputKind, type OwnSettings } from "../output-kind.ts";

/** The address of a NATS server. */
const natsAddress: SettingType<string> = {
  expected: "<host>:<port>, nats://<host>:<port> or tls://<host>:<port>",
  parse: (value) => (brokerAddress.parse(value.replace(/^(nats|tls):\/\//, "")) === undefined ? undefined : value),
  format: (value) => value,
};

/** A subject of NATS, or the prefix of one. */
const natsSubject: SettingType<string> = {
  expected: "a subject: words of letters, digits, dashes and underscores with dots between them",
  parse: (value) => (/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(value) ? value : undefined),
  format: (value) => value,
};

/** The name of a NATS stream. */
const natsName: SettingType<string> = {
  expected: "letters, digits, dashes and underscores, 32 at most",
  parse: (value) => (/^[A-Za-z0-9_-]{1,32}$/.test(value) ? value : undefined),
  format: (value) => value,
};

const rows = {
  ...commonRows("NATS JetStream"),
  ADDRESSES: row(
    list(natsAddress),
    ["127.0.0.1:4222"],
    "The servers. One of those that answer is used.",
    "tls://nats-1.example.com:4222,tls://nats-2.example.com:4222",
  ),
  TLS_HANDSHAKE_FIRST: row(bool, false, "Begins TLS at once, for servers with `handshake_first`."),
  USERNAME: row(orEmpty(plainText), "", "The user name.", {
    example: "netgloss",
    conflicts: ["TOKEN", "NKEY_SEED", "CREDENTIALS_FILEPATH"],
  }),
  PASSWORD: row(secret, new Secret(""), "The password of USERNAME."),
  TOKEN: row(secret, new Secret(""), "The token, in place of a user name."),
  NKEY_SEED: row(secret, new Secret(""), "The seed of a user's NKey, in place of a user name."),
  CREDENTIALS_FILEPATH: row(
    path,
    "",
    "A file with the user's JWT and seed, in place of a user name. It is read at each connection.",
    "/etc/netgloss/netgloss.creds",
  ),
  SUBJECT: row(
    natsSubject,
    "netgloss",
    "The beginning of subjects: `<SUBJECT>.flow.<key>`, `<SUBJECT>.flow_option.<key>`, `<SUBJECT>.telemetry.<key>`.",
  ),
  SUBJECT_KEY: row(
    listOrNone(plainText),
    ["flow.export.ip.addr", "system.ip.addr"],
    "The first of these fields that a record has is the key in its subject, with underscores in place of dots. With none subjects have no key.",
  ),
  STREAM_CREATE: row(bool, true, "Creates the stream if none takes the subjects."),
  STREAM_NAME: row(natsName, "NETGLOSS", "The name of the stream that is created."),
  STREAM_REPLICAS: row(int(1, 5, "replicas"), 1, "Replicas of the stream that is created."),
  STREAM_MAX_AGE: row(
    int(0, 876_000, "hours"),
    168,
    "How long the stream that is created keeps records. 0 is for ever.",
  ),
  STREAM_MAX_SIZE: row(
    size(0, 1024 * 1024 * GiB),
    0,
    "The most bytes of the stream that is created; then it drops its oldest records. 0 is no limit.",
  ),
  STREAM_DUPLICATE_WINDOW: row(
    int(1, 86_400, "seconds"),
    120,
    "How long the stream that is created recognises a record that is sent again. The server needs memory for each record of this time.",
  ),
  ...tlsRows,
  ...clientCertificateRows,
};
export type NatsSettings = OwnSettings<typeof rows>;

/** Returns the servers, each `<host>:<port>`. */
export function serversOf({ ADDRESSES }: Pick<NatsSettings, "ADDRESSES">): string[] {
  return ADDRESSES.map((address) => address.replace(/^[a-z]+:\/\//, ""));
}

/** Reads the TLS settings of the connection; undefined: TLS only if the server demands it. */
export function natsTls(settings: NatsSettings): TlsConfig | undefined {
  const isTls = settings.TLS_ENABLE || settings.ADDRESSES.some((address) => address.startsWith("tls:"));
  return isTls ? tlsOf(settings) : undefined;
}

export const nats = outputKind(rows, {
  word: "NATS",
  name: "nats",
  addresses: "ADDRESSES",
  tls: natsTls,
  async load() {
    const { NatsOutput } = await import("./nats-output.ts");
    return (settings, context) => new NatsOutput(settings, context);
  },
});
