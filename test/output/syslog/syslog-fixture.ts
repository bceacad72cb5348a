import type { SyslogOutputConfig } from "../../../src/output/index.ts";

export function syslogConfig(server: string, given: Partial<SyslogOutputConfig> = {}): SyslogOutputConfig {
  return {
    kind: "syslog",
    servers: [server],
    protocol: "tcp",
    tls: undefined,
    confirm: "close",
    facility: 16,
    severity: 6,
    appName: "netgloss",
    hostName: "collector",
    ...given,
  };
}
