import { bool, int, oneOf, orEmpty, row, type SettingType } from "../../base/settings/index.ts";
import { commonRows } from "../delivery/settings.ts";
import {
  addressesRow,
  clientCertificateRows,
  credentialRows,
  tlsOf,
  tlsRows,
  zstdFault,
} from "../http/server-settings.ts";
import { outputKind, type OwnSettings } from "../output-kind.ts";

/** The name of a database or table, or the prefix of one. */
const sqlName: SettingType<string> = {
  expected: "letters, digits and underscores, 64 at most, the first no digit",
  parse: (value) => (/^[a-z_][a-z0-9_]{0,63}$/i.test(value) ? value : undefined),
  format: (value) => value,
};

/** The name of a cluster, or a macro of the servers that holds it. */
const clusterName: SettingType<string> = {
  expected: "letters, digits, dots, dashes and underscores, 64 at most, or a macro of the servers: {cluster}",
  parse: (value) => (/^([a-z0-9_.-]{1,64}|\{[a-z0-9_]{1,62}\})$/i.test(value) ? value : undefined),
  format: (value) => value,
};

const rows = {
  ...commonRows("ClickHouse"),
  ADDRESSES: addressesRow(["127.0.0.1:8123"]),
  ...tlsRows,
  ...clientCertificateRows,
  ...credentialRows("default"),
  COMPRESSION: row(
    oneOf(["none", "gzip", "lz4", "zstd"]),
    "lz4",
    "The compression of requests. `lz4` takes the least CPU, `gzip` is smaller. `zstd` needs Node 22.15 or later.",
    { fault: zstdFault },
  ),
  DATABASE: row(sqlName, "default", "The database of the tables."),
  TABLE_PREFIX: row(
    sqlName,
    "netgloss_",
    "The beginning of the names of tables: `<prefix>flow`, `<prefix>flow_option`, `<prefix>telemetry`.",
  ),
  CLUSTER: row(
    orEmpty(clusterName),
    "",
    "The cluster whose servers get the tables: one with replicas for the rows of a shard, and one in front of all shards. Empty: tables of one server.",
    "{cluster}",
  ),
  TABLE_CREATE: row(bool, true, "Creates missing databases, tables and columns."),
  TABLE_TTL: row(
    int(0, 36_500, "days"),
    30,
    "How long new tables keep rows. 0 is for ever. Existing tables keep their TTL.",
  ),
};
export type ClickHouseSettings = OwnSettings<typeof rows>;

export const clickHouse = outputKind(rows, {
  word: "CLICKHOUSE",
  name: "clickhouse",
  addresses: "ADDRESSES",
  tls: tlsOf,
  async load() {
    const { ClickHouseOutput } = await import("./clickhouse-output.ts");
    return (settings, context) => new ClickHouseOutput(settings, context);
  },
});
