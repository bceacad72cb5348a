import { bool, int, oneOf, row, type SettingType } from "../../base/settings/index.ts";
import { commonRows } from "../delivery/settings.ts";
import { addressesRow, clientCertificateRows, credentialRows, tlsOf, tlsRows } from "../http/server-settings.ts";
import { outputKind, type OwnSettings } from "../output-kind.ts";

/** A name of a database or table, or what one begins with. */
const sqlName: SettingType<string> = {
  expected: "letters, digits and underscores, 64 at most, the first no digit",
  parse: (value) => (/^[a-z_][a-z0-9_]{0,63}$/i.test(value) ? value : undefined),
  format: (value) => value,
};

const rows = {
  ...commonRows("ClickHouse"),
  ADDRESSES: addressesRow(["127.0.0.1:8123"]),
  ...tlsRows,
  ...clientCertificateRows,
  ...credentialRows("default"),
  COMPRESSION: row(oneOf(["none", "gzip"]), "none", "The compression of requests."),
  DATABASE: row(sqlName, "default", "The database of the tables."),
  TABLE_PREFIX: row(
    sqlName,
    "netgloss_",
    "The beginning of the names of tables: `<prefix>flow`, `<prefix>flow_option`, `<prefix>telemetry`.",
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
