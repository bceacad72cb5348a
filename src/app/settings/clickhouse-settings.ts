import { row } from "./setting-row.ts";
import { bool, int, oneOf } from "./setting-type.ts";
import { sqlName } from "./name-types.ts";

const group = "Outputs";

export const clickHouseRows = {
  COMPRESSION: row(group, oneOf(["none", "gzip"]), "none", "The compression of requests."),
  DATABASE: row(group, sqlName, "default", "The database of the tables."),
  TABLE_PREFIX: row(
    group,
    sqlName,
    "netgloss_",
    "The beginning of the names of tables: `<prefix>flow`, `<prefix>flow_option`, `<prefix>telemetry`.",
  ),
  TABLE_CREATE: row(group, bool, true, "Creates missing databases, tables and columns."),
  TABLE_TTL: row(
    group,
    int(0, 36_500, "days"),
    30,
    "How long new tables keep rows. 0 is for ever. Existing tables keep their TTL.",
  ),
};
