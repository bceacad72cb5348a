import { createRecordedLog, type LogLine } from "./recorded-log.ts";
import postgres from "postgres";
import { createHealth, createMetrics, systemClock, type Health, type Metrics } from "../../src/base/report/index.ts";
import { UdmPostgresqlStore, type UdmPostgresqlStoreOptions } from "../../src/metadata/index.ts";
import { parseServerAddress } from "../../src/base/postgresql/index.ts";
import { cleanUp, type Owner } from "./clean-up.ts";
import { memoryFileIo } from "./memory-file-io.ts";
import { startPartner } from "./partner.ts";
import { leastEntries } from "./shared-index.ts";

/** A database of a server of its own, which ends with the test. */
export interface TestDatabase {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly ca: string;
  /** What the server says of itself. */
  readonly partner: Readonly<Record<string, string | number>>;
  /** Asks as the owner. */
  readonly sql: postgres.Sql;
  /** Removes all that collectors have made. */
  reset(): Promise<void>;
}

export async function startDatabase(t: Owner, env: Readonly<Record<string, string>> = {}): Promise<TestDatabase> {
  const partner = await startPartner(t, "postgres", env);
  const url = String(partner["url"]);
  const sql = postgres(url, { max: 2, onnotice: () => {} });
  cleanUp(t, () => sql.end({ timeout: 0 }));
  return {
    url,
    host: "127.0.0.1",
    port: Number(partner["port"]),
    ca: String(partner["ca"]),
    partner,
    sql,
    reset: async () => void (await sql`drop schema if exists netgloss cascade`),
  };
}

/** Makes the tables those of a version that knew no scopes. */
export async function withoutScopes(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    alter table netgloss.udm_entry drop constraint udm_entry_pkey;
    alter table netgloss.udm_entry drop column scope;
    alter table netgloss.udm_entry add primary key (key);
    alter table netgloss.udm_commit drop column scope, drop column change, drop column definition;
    alter table netgloss.udm_commit rename column without_changes to is_cut;
    drop table netgloss.udm_numbering, netgloss.udm_scope;
    delete from netgloss.migration where number = 3;`);
}

export interface PostgresqlFixture {
  readonly store: UdmPostgresqlStore;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly lines: readonly LogLine[];
}

/** A store on a database, not started. */
export function storeOnDatabase(url: string, options: Partial<UdmPostgresqlStoreOptions> = {}): PostgresqlFixture {
  const metrics = createMetrics();
  const health = createHealth();
  const { log, lines } = createRecordedLog();
  const store = new UdmPostgresqlStore({
    address: parseServerAddress(url),
    tls: {},
    timeoutMs: 5000,
    owned: true,
    collector: "a",
    stateDirectory: "",
    exportPath: "",
    historyBytes: 64 * 2 ** 20,
    maxEntries: leastEntries,
    io: memoryFileIo(),
    log,
    metrics,
    health,
    clock: systemClock,
    ...options,
  });
  return { store, metrics, health, lines };
}
