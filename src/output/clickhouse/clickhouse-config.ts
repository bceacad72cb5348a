import type { TlsConfig } from "../delivery/tls-options.ts";

/** What the settings say of an output to ClickHouse; plain data. */
export interface ClickHouseOutputConfig {
  readonly kind: "clickhouse";
  /** Each `http://…` or `https://…`, without credentials; one or more. */
  readonly urls: readonly string[];
  /** Those that identify the user. */
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsConfig;
  readonly maxConnections: number;
  readonly isCompressed: boolean;
  readonly database: string;
  /** The names of the tables begin so. */
  readonly tablePrefix: string;
  /** Makes the database, the tables and columns that are missing. */
  readonly isTableMade: boolean;
  /** After how many days rows of a table that is made are removed; 0: never. */
  readonly ttlDays: number;
}
