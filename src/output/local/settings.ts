import { bool, GiB, int, MiB, oneOf, path, row, size } from "../../base/settings/index.ts";
import { filterRow, rollupFieldsRow, thinRateRow } from "../delivery/settings.ts";

export const fileRows = {
  ENABLE: row(bool, false, "Writes records to a file, one JSON object a line.", {
    needs: [{ must: { PATH: "set" } }],
  }),
  FILTER: filterRow,
  THIN_RATE: thinRateRow,
  ROLLUP_FIELDS: rollupFieldsRow,
  PATH: row(
    path,
    "",
    "The file. netgloss appends to it, and opens it again on SIGUSR2.",
    "/var/log/netgloss/records.ndjson",
  ),
  MAX_SIZE: row(
    size(0, 1024 * GiB),
    0,
    "Rotates the file when it has reached this size. 0 is never, for logrotate with SIGUSR2.",
  ),
  MAX_BACKUPS: row(int(1, 1000, "files"), 10, "How many rotated files are kept."),
  QUEUE_SIZE: row(
    size(64 * 1024, GiB),
    64 * MiB,
    "The queue for a slow disk. When it is full, records are dropped and counted.",
  ),
};

export const stdoutRows = {
  ENABLE: row(bool, false, "Writes records to the standard output as JSON."),
  FORMAT: row(
    oneOf(["json", "json_pretty"]),
    "json",
    "`json`: a record is one line. `json_pretty`: it has a line for each field.",
  ),
  FILTER: filterRow,
  ROLLUP_FIELDS: rollupFieldsRow,
  RATE: row(
    int(0, 1_000_000, "records a second"),
    0,
    "The most records that are written to the standard output; others are left out. 0 is no limit.",
  ),
  QUEUE_SIZE: row(
    size(64 * 1024, GiB),
    64 * MiB,
    "The queue for a slow reader of the standard output. When it is full, records are dropped and counted.",
  ),
};

export const monitorRows = {
  ENABLE: row(bool, false, "Logs how many records passed, and how many a second. It sends them nowhere."),
  INTERVAL: row(int(1, 86_400, "seconds"), 60, "How often the numbers of records are logged."),
};
