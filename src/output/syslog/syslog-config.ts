import type { TlsConfig } from "../delivery/tls-options.ts";

/** What the settings say of an output by syslog; plain data. */
export interface SyslogOutputConfig {
  readonly kind: "syslog";
  /** Each `<host>:<port>`; one or more. */
  readonly servers: readonly string[];
  readonly protocol: "tcp" | "udp";
  /** Over TCP; undefined: none. */
  readonly tls: TlsConfig | undefined;
  /**
   * When a batch counts as delivered over TCP. `close`: the server has closed the connection after its end, having read it.
   * `write`: the system has taken it, which says nothing of the server.
   */
  readonly confirm: "close" | "write";
  /** 0 to 23. */
  readonly facility: number;
  /** 0 to 7. */
  readonly severity: number;
  readonly appName: string;
  /** Of this host. */
  readonly hostName: string;
}
