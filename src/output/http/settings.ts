import { oneOf, row, secret } from "../../base/settings/index.ts";
import { Secret } from "../../base/text/index.ts";
import { zstdFault, type Compression } from "./server-settings.ts";
import { commonRows } from "../delivery/settings.ts";
import { outputKind, type OwnSettings } from "../output-kind.ts";
import {
  addressesRow,
  clientCertificateRows,
  credentialRows,
  headersRow,
  postConfig,
  tlsOf,
  tlsRows,
  tokenRow,
} from "./server-settings.ts";

const compressions = ["none", "gzip", "zstd"] as const satisfies readonly Compression[];

/** Settings of the body of requests. */
const bodyRows = {
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

const criblRows = {
  ...commonRows("Cribl Stream"),
  ADDRESSES: addressesRow(["127.0.0.1:10080"]),
  ...tlsRows,
  ...clientCertificateRows,
  TOKEN: row(secret, new Secret(""), "The token of the HTTP source, sent as `Authorization: <token>`."),
  ...bodyRows,
};

export const cribl = outputKind(criblRows, {
  word: "CRIBL",
  name: "cribl",
  addresses: "ADDRESSES",
  tls: tlsOf,
  load: async () => {
    const { createPostedLines } = await import("./http-output.ts");
    return (settings, { clock }) => {
      const headers: Record<string, string> = settings.TOKEN === "" ? {} : { authorization: settings.TOKEN };
      return createPostedLines(postConfig(settings, headers, "/cribl/_bulk"), settings.FORMAT, clock);
    };
  },
});
