import { toolsPath, type ApiCall } from "../../api/call.ts";
import type { EntryChange } from "../../api/entries.ts";

/** What ImportUdms answers. */
export interface ImportAnswer {
  readonly changes?: readonly EntryChange[];
  readonly created?: number;
  readonly updated?: number;
  readonly deleted?: number;
  readonly unchanged?: number;
  readonly change?: number;
  readonly rows?: number;
  readonly faults?: readonly ImportFault[];
  readonly faultCount?: number;
}

export interface ImportFault {
  readonly row?: number;
  readonly line?: number;
  readonly column?: string;
  readonly field?: string;
  readonly reason?: string;
}

/** How a text is to be brought in. */
export interface ImportPlan {
  readonly text: string;
  readonly format: string;
  /** A ready map, or one as JSON. */
  readonly map: string;
  /** What of the metadata becomes exactly the sheet; undefined: entries are created or changed, none is deleted. */
  readonly scope: Readonly<Record<string, unknown>> | undefined;
  readonly skipFaultyRows: boolean;
}

/** Changes that are listed. */
const mostChanges = 200;

export function importCall(plan: ImportPlan, dryRun: boolean): ApiCall {
  const { scope, ...rest } = plan;
  return { path: toolsPath("ImportUdms"), body: { ...rest, ...(scope && { scope }), dryRun, mostChanges } };
}

const formats: Readonly<Record<string, string>> = {
  json: "json",
  ndjson: "ndjson",
  jsonl: "ndjson",
  yml: "yaml",
  yaml: "yaml",
};

export function formatOf(fileName: string): string {
  return formats[fileName.slice(fileName.lastIndexOf(".") + 1).toLowerCase()] ?? "csv";
}
