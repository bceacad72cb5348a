import type { ImportFault } from "../../exchange/fault-list.ts";
import type { LayerChanges } from "../../store/udm-layers.ts";
import type { UdmEntry } from "../../model/udm-entry.ts";
import type { RunFaultCode } from "../source-fault.ts";

/** How a run ended: `held` waits for a person's yes. */
export const runResults = ["updated", "unchanged", "held", "failed"] as const;
export type RunResult = (typeof runResults)[number];

/** How many entries a run changes. */
export interface ChangeCounts {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly unchanged: number;
}

/** The last run of a source. Times are milliseconds since the epoch. */
export interface RunState {
  readonly at: number;
  readonly ms: number;
  readonly result: RunResult;
  /** Why it failed or is held; may have parts of what was read. */
  readonly reason?: string;
  /** Which kind of failure it was. */
  readonly code?: RunFaultCode;
  readonly rows: number;
  /** Rows that were left out. */
  readonly faultyRows: number;
  readonly faults: readonly ImportFault[];
  readonly changes?: ChangeCounts;
}

/** What is known of a source. */
export interface SourceState {
  readonly name: string;
  readonly kind: string;
  /** URL without parameters, or path. */
  readonly place: string;
  readonly priority: number;
  readonly entries: number;
  readonly state: "waiting" | "restored" | "working" | "held" | "failing";
  /** When entries last came, or were confirmed. */
  readonly lastGood?: number;
  readonly nextRun?: number;
  readonly run?: RunState;
}

/** What a run would change, in words for people: keys. */
export interface SourceDiff {
  readonly name: string;
  readonly result: Exclude<RunResult, "failed">;
  readonly reason?: string;
  readonly changes: ChangeCounts;
  readonly added: readonly UdmEntry[];
  readonly changed: readonly UdmEntry[];
  readonly removed: readonly UdmEntry[];
}

export function countsOf({ added, changed, removed, unchanged }: LayerChanges): ChangeCounts {
  return { added: added.length, changed: changed.length, removed: removed.length, unchanged };
}
