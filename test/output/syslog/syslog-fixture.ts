import type { SettingsOf } from "../../../src/output/index.ts";

export type SyslogSettings = SettingsOf<"SYSLOG">;

export function syslogServer(server: string, given: Partial<SyslogSettings> = {}): Partial<SyslogSettings> {
  return { ADDRESSES: [server], HOSTNAME: "collector", ...given };
}
