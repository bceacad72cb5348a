import { createMemoryExporterTables } from "../support/memory-exporter-table.ts";
import { runExporterTableContract } from "../support/exporter-table-contract.ts";

// The table that tests of sharing use keeps what the one in PostgreSQL keeps (test/system/fleet-exporters.test.ts).
runExporterTableContract(() => {
  const tables = createMemoryExporterTables(() => Date.now());
  return Promise.resolve((member) => Promise.resolve(tables.table(member)));
});
