import { bool, filterText, GiB, int, list, MiB, path, plainText, row, size } from "../../base/settings/index.ts";

export const fileRows = {
  ENABLE: row(bool, false, "Writes records to a file, one JSON object a line.", {
    needs: [{ must: { PATH: "set" } }],
  }),
  FILTER: row(
    filterText,
    "",
    "Only records that match this filter go to this output. Empty is all records.",
    "src in 10.0.0.0/8 and dst.tag = pci",
  ),
  THIN_RATE: row(
    int(0, 10_000_000, "records a second"),
    0,
    "The most flow records that go to this output. Of more, one stands for several: its sampling rate, bytes and packets are multiplied. 0 is no limit.",
  ),
  ROLLUP_FIELDS: row(
    list(plainText),
    [],
    "Fields by which flow records of SVC_PROCESSOR_ROLLUP_INTERVAL become one, with their bytes and packets added up. Empty is every record as it is.",
    "src.as,dst.as,proto",
  ),
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
