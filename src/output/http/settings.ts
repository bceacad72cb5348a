import { oneOf, row } from "../../base/settings/index.ts";
import { zstdFault, type Compression } from "./server-settings.ts";
import { commonRows } from "../delivery/settings.ts";
import { outputKind, type OwnSettings } from "../output-kind.ts";
import {
  addressesRow,
  clientCertificateRows,
  credentialRows,
  headersRow,
  tlsOf,
  tlsRows,
  tokenRow,
} from "./server-settings.ts";

const compressions = ["none", "gzip", "zstd"] as const satisfies readonly Compression[];

/** Settings of the body of requests. */
export const bodyRows = {
  FORMAT: row(oneOf(["ndjson", "array"]), "ndjson", "The format of a request: one record a line, or one JSON array."),
  COMPRESSION: row(oneOf(compressions), "none", "The compression of requests. zstd needs Node 22.15 or later.", {
    fault: zstdFault,
  }),
};

const rows = {
  ...commonRows("any server that accepts JSON by HTTP"),
  ADDRESSES: addressesRow([]),
  ...tlsRows,
  ...clientCertificateRows,
  ...credentialRows(""),
  TOKEN: tokenRow,
  HEADERS: headersRow,
  ...bodyRows,
};
export type HttpSettings = OwnSettings<typeof rows>;

export const http = outputKind(rows, {
  word: "GENERIC_HTTP",
  name: "http",
  addresses: "ADDRESSES",
  tls: tlsOf,
  load: async () => (await import("./http-output.ts")).createHttpOutput,
});
