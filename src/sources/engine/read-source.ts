import {
  ExchangeError,
  importObjects,
  toUdmEntry,
  type ColumnMap,
  type ImportFault,
  type Select,
} from "../../exchange/index.ts";
import type { Clock } from "../../report/index.ts";
import type { UdmEntry } from "../../udm/index.ts";
import type { AgentFor } from "../fetch/http-get.ts";
import { createSourceReader, readSecret, type Validators } from "../fetch/source-reader.ts";
import { sourceKinds } from "../kinds/kinds.ts";
import type { SourceKind } from "../kinds/source-kind.ts";
import type { SourceConfig } from "../source-config.ts";
import { SourceFault } from "../source-fault.ts";

/** What was read of a source. */
export interface SourceReading {
  /** Undefined: the same as at the last run that was used. */
  readonly entries: readonly UdmEntry[] | undefined;
  readonly validators: Validators;
  readonly rows: number;
  /** Rows that are left out, the first of them in words. */
  readonly faults: readonly ImportFault[];
  readonly faultCount: number;
}

export interface ReadSourceOptions {
  readonly agentFor: AgentFor;
  readonly select: Select;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Reads all entries of a source.
 *
 * @param known of the last run that was used; undefined: the whole is wanted.
 * @throws SourceFault when not all could be read.
 */
export async function readSource(
  config: SourceConfig,
  known: Validators | undefined,
  memory: Map<string, unknown>,
  options: ReadSourceOptions,
  signal: AbortSignal,
): Promise<SourceReading> {
  const kind = sourceKinds[config.kind] as SourceKind;
  const map = mapOf(config, kind);
  const reader = createSourceReader({ ...options, config, known, signal, tokenScheme: kind.tokenScheme ?? "" });
  try {
    const answer = await kind.read({
      config: { ...config, map },
      reader,
      select: options.select,
      signal,
      memory,
      now: options.clock.now(),
      secret: async (which) => {
        const place = config[which];
        return place === undefined ? "" : readSecret(place, options.env);
      },
    });
    const { validators } = reader;
    if (answer === undefined) return { entries: undefined, validators, rows: 0, faults: [], faultCount: 0 };
    const result = "rows" in answer ? await importObjects(answer.rows, map) : answer.result;
    const { entries, rows, faults, faultCount } = result;
    const gap = faults.find(({ lines }) => lines !== undefined);
    if (gap !== undefined) throw new SourceFault("content", gap.reason);
    if (entries.length === 0 && faultCount > 0) {
      throw new SourceFault("content", `none of ${rows} rows can be used: ${showFault(faults[0])}`);
    }
    return { entries: entries.map(toUdmEntry), validators, rows, faults, faultCount };
  } catch (error) {
    if (error instanceof ExchangeError) throw new SourceFault("content", error.message);
    throw error;
  }
}

/** The map of the source, else that of its kind, with the source's own defaults. */
function mapOf({ map, defaults }: SourceConfig, kind: SourceKind): ColumnMap {
  const base = map ?? kind.map;
  const { tags, metadata, ...rest } = defaults;
  return {
    ...base,
    defaults: {
      ...base.defaults,
      ...rest,
      tags: [...(base.defaults.tags ?? []), ...(tags ?? [])],
      metadata: new Map([...(base.defaults.metadata ?? []), ...(metadata ?? [])]),
    },
  };
}

export function showFault(fault: ImportFault | undefined): string {
  if (fault === undefined) return "";
  const column = fault.column === "" ? "" : `, column ${fault.column}`;
  return `row ${fault.row}${column}: ${fault.reason}`;
}
