import { bool, filterText, GiB, int, list, MiB, oneOf, plainText, row, size } from "../../base/settings/index.ts";

export const stdoutRows = {
  ENABLE: row(bool, false, "Writes records to the standard output as JSON."),
  FORMAT: row(
    oneOf(["json", "json_pretty"]),
    "json",
    "`json`: a record is one line. `json_pretty`: it has a line for each field.",
  ),
  FILTER: row(
    filterText,
    "",
    "Only records that match this filter go to this output. Empty is all records.",
    "src in 10.0.0.0/8 and dst.tag = pci",
  ),
  ROLLUP_FIELDS: row(
    list(plainText),
    [],
    "Fields by which flow records of SVC_PROCESSOR_ROLLUP_INTERVAL become one, with their bytes and packets added up. Empty is every record as it is.",
    "src.as,dst.as,proto",
  ),
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
