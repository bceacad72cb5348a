import { orEmpty, plainText, row } from "../../base/settings/index.ts";
import { commonRows } from "../delivery/settings.ts";
import {
  addressesRow,
  clientCertificateRows,
  credentialRows,
  gzipRow,
  headersRow,
  labelsRow,
  tlsOf,
  tlsRows,
  tokenRow,
} from "../http/server-settings.ts";
import { outputKind, type OwnSettings } from "../output-kind.ts";

const rows = {
  ...commonRows("Grafana Loki"),
  ADDRESSES: addressesRow(["127.0.0.1:3100"]),
  ...tlsRows,
  ...clientCertificateRows,
  ...credentialRows(""),
  TOKEN: tokenRow,
  HEADERS: headersRow,
  COMPRESSION: gzipRow,
  TENANT: row(orEmpty(plainText), "", "The tenant, sent as `X-Scope-OrgID`.", "network"),
  LABEL_FIELDS: labelsRow(
    "Fields that are labels of the streams. They must have few values: each set of them is a stream.",
  ),
};
export type LokiSettings = OwnSettings<typeof rows>;

export const loki = outputKind(rows, {
  word: "LOKI",
  name: "loki",
  addresses: "ADDRESSES",
  tls: tlsOf,
  load: async () => (await import("./loki-output.ts")).createLokiOutput,
});
