import { labelsRow, logStoreRows, tlsOf } from "../http/server-settings.ts";
import { outputKind, type OwnSettings } from "../output-kind.ts";

const rows = {
  ...logStoreRows("VictoriaLogs", "127.0.0.1:9428"),
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
