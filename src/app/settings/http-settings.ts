import type { Compression } from "../../output/index.ts";
import { row, type Setting } from "./setting-row.ts";
import { listOrNone, oneOf, plainText } from "./setting-type.ts";

const group = "Outputs";

const compressions = ["none", "gzip", "zstd"] as const satisfies readonly Compression[];

export const httpRows = {
  FORMAT: row(
    group,
    oneOf(["ndjson", "array"]),
    "ndjson",
    "The format of a request: one record a line, or one JSON array.",
  ),
  COMPRESSION: row(group, oneOf(compressions), "none", "The compression of requests. zstd needs Node 22.15 or later."),
};

export const labelsRow = (what: string): Setting<readonly string[]> =>
  row(group, listOrNone(plainText), ["flow.export.ip.addr", "system.ip.addr"], what);

export const gzipRow = row(group, oneOf(["none", "gzip"]), "none", "Of requests.");
