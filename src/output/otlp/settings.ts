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
  ...commonRows("a server that takes logs by OTLP/HTTP"),
  ADDRESSES: addressesRow(["127.0.0.1:4318"]),
  ...tlsRows,
  ...clientCertificateRows,
  ...credentialRows(""),
  TOKEN: tokenRow,
  HEADERS: headersRow,
  COMPRESSION: gzipRow,
  ATTRIBUTE_FIELDS: labelsRow("Fields that are attributes of the log records, too."),
};
export type OtlpSettings = OwnSettings<typeof rows>;

export const otlp = outputKind(rows, {
  word: "OTLP",
  name: "otlp",
  addresses: "ADDRESSES",
  tls: tlsOf,
  load: async () => (await import("./otlp-output.ts")).createOtlpOutput,
});
