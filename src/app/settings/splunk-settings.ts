import { row } from "./setting-row.ts";
import { bool, oneOf, orEmpty, plainText } from "./setting-type.ts";

const group = "Outputs";

export const splunkRows = {
  TLS_ENABLE: row(group, bool, true, "Uses TLS for addresses that are no URLs."),
  FORMAT: row(
    group,
    oneOf(["event", "raw"]),
    "event",
    "`event`: each record is an event with time and host. `raw`: lines, which Splunk takes apart by the source type.",
  ),
  COMPRESSION: row(group, oneOf(["none", "gzip"]), "none", "Of requests."),
  INDEX: row(group, orEmpty(plainText), "", "The index; empty: the one of the token.", "network"),
  SOURCE: row(group, orEmpty(plainText), "", "The source; empty: the one of the token.", "netgloss-1"),
  SOURCETYPE: row(group, plainText, "netgloss", "The source type."),
  CIM_ENABLE: row(
    group,
    bool,
    false,
    "Adds indexed fields of the data model Network Traffic, such as `src_ip`, to events (not to `raw`).",
  ),
};
