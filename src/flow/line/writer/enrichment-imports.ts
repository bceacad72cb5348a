import { scopedNumber, type LineEnricher, type Workspace } from "../../../record/index.ts";
import type { KernelImports } from "../../kernel/kernel.ts";
import type { ExporterAdditions } from "./exporter-additions.ts";
import { writeNumberAddition } from "../program/number-addition.ts";
import type { RecordFilter } from "./record-filter.ts";

/**
 * What every kernel asks of enrichment and of the filter.
 *
 * @param numberTables those of the exporter at hand; filled before its records are written.
 */
export function enrichmentImports(
  { bytes: memory, view }: Workspace,
  enricher: LineEnricher,
  numberTables: ExporterAdditions["numberTables"],
  filter: RecordFilter | undefined,
): Pick<KernelImports, "addNumber" | "judgeLine" | "locate" | "locateAll"> {
  return {
    addNumber(index, at, value, scope) {
      const table = numberTables[index];
      if (table === undefined) return at;
      const isScoped = enricher.numbers[index]?.scope !== undefined;
      return writeNumberAddition(view, at, table, isScoped ? scopedNumber(scope, value) : value);
    },
    judgeLine: (start, end) => (filter?.matches(memory, start, end) === false ? 0 : 1),
    locate: enricher.addresses[0]?.table?.locate ?? (() => 0),
    locateAll: enricher.addresses[0]?.table?.locateAll ?? (() => 0),
  };
}
