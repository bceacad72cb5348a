import { bool, brokerAddress, list, oneOf, orEmpty, printable, row, wordOrNumber } from "../../base/settings/index.ts";
import { commonRows } from "../delivery/settings.ts";
import { clientCertificateRows, tlsOf, tlsRows } from "../http/server-settings.ts";
import { outputKind, type OwnSettings } from "../output-kind.ts";

const facilities = {
  kern: "0",
  user: "1",
  mail: "2",
  daemon: "3",
  auth: "4",
  syslog: "5",
  lpr: "6",
  news: "7",
  uucp: "8",
  cron: "9",
  authpriv: "10",
  ftp: "11",
  local0: "16",
  local1: "17",
  local2: "18",
  local3: "19",
  local4: "20",
  local5: "21",
  local6: "22",
  local7: "23",
};

const severities = {
  emerg: "0",
  alert: "1",
  crit: "2",
  err: "3",
  warning: "4",
  notice: "5",
  info: "6",
  debug: "7",
};

const rows = {
  ...commonRows("receivers of syslog"),
  ADDRESSES: row(
    list(brokerAddress),
    ["127.0.0.1:514"],
    "The receivers. Batches are spread over those that answer.",
    "syslog-1.example.com:6514,syslog-2.example.com:6514",
  ),
  PROTOCOL: row(oneOf(["tcp", "udp"]), "tcp", "`udp`: at most once. What is lost on the way is not noticed."),
  CONFIRM: row(
    oneOf(["close", "write"]),
    "close",
    "When a batch counts as delivered by TCP. `close`: each has a connection, and the receiver has closed it after reading it. `write`: connections stay, and the system has taken it; what the receiver had not read when it went away is lost.",
  ),
  FACILITY: row(wordOrNumber(facilities), "local0", "The facility of the messages."),
  SEVERITY: row(wordOrNumber(severities), "info", "The severity of the messages."),
  APP_NAME: row(printable(48), "netgloss", "The APP-NAME of the messages."),
  HOSTNAME: row(
    orEmpty(printable(255)),
    "",
    "The HOSTNAME of the messages. Empty is the name of this host.",
    "netgloss-1.example.com",
  ),
  ...tlsRows,
  TLS_ENABLE: row(bool, false, "Uses TLS over TCP.", { needs: [{ must: { PROTOCOL: "tcp" } }] }),
  ...clientCertificateRows,
};
export type SyslogSettings = OwnSettings<typeof rows>;

/** Returns the number of the facility and the severity at the start of a message (RFC 5424, 6.2.1). */
export function priorityOf({ FACILITY, SEVERITY }: Pick<SyslogSettings, "FACILITY" | "SEVERITY">): number {
  return 8 * Number(facilities[FACILITY]) + Number(severities[SEVERITY]);
}

export const syslog = outputKind(rows, {
  word: "SYSLOG",
  name: "syslog",
  addresses: "ADDRESSES",
  tls: (settings) => (settings.TLS_ENABLE ? tlsOf(settings) : undefined),
  load: async () => (await import("./syslog-output.ts")).createSyslogOutput,
});
