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
  ...commonRows("VictoriaLogs"),
  ADDRESSES: addressesRow(["127.0.0.1:9428"]),
  ...tlsRows,
  ...clientCertificateRows,
  ...credentialRows(""),
  TOKEN: tokenRow,
  HEADERS: headersRow,
  COMPRESSION: gzipRow,
  STREAM_FIELDS: labelsRow("Fields that define the streams. They must have few values."),
};
export type VictoriaLogsSettings = OwnSettings<typeof rows>;

export const victoriaLogs = outputKind(rows, {
  word: "VICTORIALOGS",
  name: "victorialogs",
  addresses: "ADDRESSES",
  tls: tlsOf,
  load: async () => (await import("./victoria-logs-output.ts")).createVictoriaLogsOutput,
});
