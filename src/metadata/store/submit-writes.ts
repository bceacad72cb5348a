import type { Clock } from "../../base/report/index.ts";
import type { EntryChange } from "../model/apply-writes.ts";
import type { UdmEntry } from "../model/udm-entry.ts";
import { UdmError } from "../model/udm-error.ts";
import type { UdmCommit, WriteOrigin } from "../model/udm-store.ts";
import type { WriteBatch } from "./apply-batches.ts";
import type { CommitQueue } from "./commit-queue.ts";
import type { CollectorUdmStore } from "./file-store-contract.ts";
import type { StoreMetrics } from "./udm-store-metrics.ts";

/** One call of `submit`. */
export interface Batch extends WriteBatch {
  readonly origin: WriteOrigin;
}

export interface SubmitOptions {
  readonly queue: Pick<CommitQueue<Batch, UdmCommit>, "submit">;
  /** Throws while no writes are taken. */
  readonly check: () => void;
  readonly report: Pick<StoreMetrics, "committed">;
  readonly clock: Pick<Clock, "monotonic">;
}

/** How writes come into a store: each is counted with its result and its time. */
export function createSubmit({
  queue,
  check,
  report,
  clock,
}: SubmitOptions): Pick<CollectorUdmStore, "submit" | "commit"> {
  const submit: CollectorUdmStore["submit"] = async (writes, origin = {}, onVersion) => {
    const start = clock.monotonic();
    try {
      check();
      const isPlanned = typeof writes === "function";
      const batch = isPlanned ? { writes: [], plan: writes, origin } : { writes, origin, onVersion };
      const committed = await queue.submit(batch, isPlanned);
      report.committed("ok", clock.monotonic() - start);
      return committed;
    } catch (error) {
      report.committed(error instanceof UdmError ? error.code : "error", clock.monotonic() - start);
      throw error;
    }
  };
  return { submit, commit: async (writes, origin) => (await submit(writes, origin)).entries };
}

/** Who made a batch, and by which method, as the history has it. */
export function originOf({ writes, origin }: Batch): { readonly author: string; readonly method: string } {
  return { author: origin.user ?? origin.author ?? "", method: origin.method ?? writes[0]?.op ?? "" };
}

/** The entries of an answer: of each write the one that it left, or deleted. */
export function entriesOf(done: readonly EntryChange[]): readonly UdmEntry[] {
  return done.flatMap(({ before, after }) => after ?? before ?? []);
}
