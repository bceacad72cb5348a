import { Secret } from "../../base/text/index.ts";
import { GiB, row } from "./setting-row.ts";
import { bool, int, list, listOrNone, orEmpty, path, plainText, secret, size } from "./setting-type.ts";
import { natsAddress } from "./address-types.ts";
import { natsName, natsSubject } from "./name-types.ts";

const group = "Outputs";

/** Settings that only the output to NATS JetStream has. */
export const natsRows = {
  ADDRESSES: row(
    group,
    list(natsAddress),
    ["127.0.0.1:4222"],
    "The servers. One of those that answer is used.",
    "tls://nats-1.example.com:4222,tls://nats-2.example.com:4222",
  ),
  TLS_HANDSHAKE_FIRST: row(group, bool, false, "Begins TLS at once, for servers with `handshake_first`."),
  USERNAME: row(group, orEmpty(plainText), "", "The user name.", "netgloss"),
  PASSWORD: row(group, secret, new Secret(""), "The password of USERNAME."),
  TOKEN: row(group, secret, new Secret(""), "The token, in place of a user name."),
  NKEY_SEED: row(group, secret, new Secret(""), "The seed of a user's NKey, in place of a user name."),
  CREDENTIALS_FILEPATH: row(
    group,
    path,
    "",
    "A file with the user's JWT and seed, in place of a user name. It is read at each connection.",
    "/etc/netgloss/netgloss.creds",
  ),
  SUBJECT: row(
    group,
    natsSubject,
    "netgloss",
    "The beginning of subjects: `<SUBJECT>.flow.<key>`, `<SUBJECT>.flow_option.<key>`, `<SUBJECT>.telemetry.<key>`.",
  ),
  SUBJECT_KEY: row(
    group,
    listOrNone(plainText),
    ["flow.export.ip.addr", "system.ip.addr"],
    "The first of these fields that a record has is the key in its subject, with underscores in place of dots. With none subjects have no key.",
  ),
  STREAM_CREATE: row(group, bool, true, "Creates the stream if none takes the subjects."),
  STREAM_NAME: row(group, natsName, "NETGLOSS", "The name of the stream that is created."),
  STREAM_REPLICAS: row(group, int(1, 5, "replicas"), 1, "Replicas of the stream that is created."),
  STREAM_MAX_AGE: row(
    group,
    int(0, 876_000, "hours"),
    168,
    "How long the stream that is created keeps records. 0 is for ever.",
  ),
  STREAM_MAX_SIZE: row(
    group,
    size(0, 1024 * 1024 * GiB),
    0,
    "The most bytes of the stream that is created; then it drops its oldest records. 0 is no limit.",
  ),
  STREAM_DUPLICATE_WINDOW: row(
    group,
    int(1, 86_400, "seconds"),
    120,
    "How long the stream that is created recognises a record that is sent again. The server needs memory for each record of this time.",
  ),
};
