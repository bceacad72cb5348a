import { bool, oneOf, orEmpty, plainText, row, secret } from "../../base/settings/index.ts";
import { Secret } from "../../base/text/index.ts";
import { commonRows } from "../delivery/settings.ts";
import { addressesRow, clientCertificateRows, tlsOf, tlsRows } from "../http/server-settings.ts";
import { outputKind, type OwnSettings } from "../output-kind.ts";

const rows = {
  ...commonRows("Splunk's HTTP Event Collector"),
  ADDRESSES: addressesRow(["127.0.0.1:8088"]),
  ...tlsRows,
  ...clientCertificateRows,
  TOKEN: row(secret, new Secret(""), "The token of the collector, sent as `Authorization: Splunk <token>`."),
  TLS_ENABLE: row(bool, true, "Uses TLS for addresses that are no URLs."),
  FORMAT: row(
    oneOf(["event", "raw"]),
    "event",
    "`event`: each record is an event with time and host. `raw`: lines, which Splunk takes apart by the source type.",
  ),
  COMPRESSION: row(oneOf(["none", "gzip"]), "none", "Of requests."),
  INDEX: row(orEmpty(plainText), "", "The index; empty: the one of the token.", "network"),
  SOURCE: row(orEmpty(plainText), "", "The source; empty: the one of the token.", "netgloss-1"),
  SOURCETYPE: row(plainText, "netgloss", "The source type."),
  CIM_ENABLE: row(
    bool,
    false,
    "Adds indexed fields of the data model Network Traffic, such as `src_ip`, to events (not to `raw`).",
  ),
};
export type SplunkSettings = OwnSettings<typeof rows>;

export const splunk = outputKind(rows, {
  word: "SPLUNK_HEC",
  name: "splunk",
  addresses: "ADDRESSES",
  tls: tlsOf,
  load: async () => (await import("./splunk-output.ts")).createSplunkOutput,
});
