import { labelsRow, logStoreRows, tlsOf } from "../http/server-settings.ts";
import { outputKind, type OwnSettings } from "../output-kind.ts";

const rows = {
  ...logStoreRows("a server that takes logs by OTLP/HTTP", "127.0.0.1:4318"),
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
