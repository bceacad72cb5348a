import { importEntries, type ExchangeFormat } from "../../exchange/export-entries.ts";
import { readyMap } from "../../exchange/map/ready-maps.ts";
import { aThird, minutes, type SourceKind } from "./source-kind.ts";

/** A document with rows, at a URL or path. */
function rowsOf(format: ExchangeFormat): SourceKind {
  return {
    place: "either",
    options: [],
    isRows: true,
    intervalMs: 15 * minutes,
    maxShrink: aThird,
    tokenScheme: "Bearer",
    map: readyMap(format === "csv" ? "sheet" : "netgloss"),
    check: ({ format: given, select }) =>
      select !== undefined && (given ?? format) !== "json" ? "select is for JSON" : undefined,
    async read({ config, reader, select: evaluate, signal }) {
      const bytes = await reader.document();
      if (bytes === undefined) return undefined;
      const map = config.map ?? readyMap(format === "csv" ? "sheet" : "netgloss");
      const { csv, select: expression } = config;
      const select = expression === undefined ? undefined : (text: string) => evaluate(text, expression, signal);
      return { result: await importEntries([bytes], { format: config.format ?? format, map, csv, select }) };
    },
  };
}

export const rowKinds: Readonly<Record<string, SourceKind>> = {
  csv: rowsOf("csv"),
  json: rowsOf("json"),
  ndjson: rowsOf("ndjson"),
  yaml: rowsOf("yaml"),
};
