import { orEmpty, plainText, row } from "../../base/settings/index.ts";
import { labelsRow, logStoreRows, tlsOf } from "../http/server-settings.ts";
import { outputKind, type OwnSettings } from "../output-kind.ts";

const rows = {
  ...logStoreRows("Grafana Loki", "127.0.0.1:3100"),
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
