import type { Histogram, Counter, Log, Metrics, Reporting } from "../../base/report/index.ts";
import { dirname, join } from "node:path";
import { networkOfKey } from "../../base/ip/index.ts";
import type { UdmWrite, WriteOrigin, UdmErrorCode } from "../model/udm-store.ts";
import { temporaryPath, type FileIo } from "../../base/file/index.ts";
import type { SharedIndexStats } from "../index/shared-index.ts";

/** The most keys that a log line lists. */
const maxKeys = 10;

/** Logs one line at level info for each saved batch of writes: user, client and keys. */
export function logWrite(log: Log, writes: readonly UdmWrite[], revision: number, origin: WriteOrigin): void {
  if (writes.length === 0) return;
  const method = origin.method ?? writes[0]?.op;
  const keys = writes.slice(0, maxKeys).map(({ key }) => key.text);
  log.info({ ...origin, method, keys, entries: writes.length, revision }, "metadata written");
  warnOfHostBits(log, writes);
}

function warnOfHostBits(log: Log, writes: readonly UdmWrite[]): void {
  const keys: { readonly key: string; readonly covers: string }[] = [];
  let entries = 0;
  for (const { op, key } of writes) {
    const covers = op === "delete" ? undefined : networkOfKey(key);
    if (covers === undefined) continue;
    entries++;
    if (keys.length < maxKeys) keys.push({ key: key.text, covers });
  }
  if (entries > 0) log.warn({ keys, entries }, hostBitsWarning);
}

export const hostBitsWarning = "a prefix with host bits covers its whole network, not only the address";

/** The interval in milliseconds of tests whether writes are possible again. */
const tryMs = 10_000;

/**
 * Reports to the readiness check whether writes of metadata are possible. It uses the result of the last write. At the start and after a failure it
 * uses trials, because there may be no writes.
 */
export class WriteHealth {
  readonly #trial: () => Promise<void>;
  readonly #alone: (action: () => Promise<void>) => Promise<void>;
  readonly #after: (action: () => void, ms: number) => () => void;
  readonly #reporting: Reporting;
  /** The name of the readiness check. */
  readonly #name: string;
  #isFailing = false;
  #callOff = (): void => {};
  #isStopped = false;

  /**
   * @param trial tests whether a write would be possible, without writing. It rejects with the reason, for an operator.
   * @param alone runs an action while no write runs.
   * @param store the name of the store.
   */
  constructor(
    trial: () => Promise<void>,
    alone: (action: () => Promise<void>) => Promise<void>,
    after: (action: () => void, ms: number) => () => void,
    reporting: Reporting,
    store: string,
  ) {
    this.#name = `${store} writes`;
    this.#trial = trial;
    this.#alone = alone;
    this.#after = after;
    this.#reporting = reporting;
  }

  /** Reports a failed write. @param error the reason, for an operator. */
  failed(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#isFailing = true;
    this.#reporting.health.set({ name: this.#name, ready: true, degraded: true, detail: `${reason}; trying again` });
    this.#callOff();
    if (!this.#isStopped) this.#callOff = this.#after(() => void this.#alone(() => this.#tryAgain()), tryMs);
  }

  /** Reports that a write was saved, or would be possible. */
  works(): void {
    const { health, log } = this.#reporting;
    if (!this.#isFailing) return;
    log.info({ store: this.#name }, "metadata can be written again");
    this.#isFailing = false;
    this.#callOff();
    health.set({ name: this.#name, ready: true });
  }

  /** Tests whether a write would be possible. It must not run during a write. */
  async try(): Promise<void> {
    try {
      await this.#trial();
      this.works();
    } catch (error) {
      this.failed(error);
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#callOff();
  }

  async #tryAgain(): Promise<void> {
    if (this.#isFailing && !this.#isStopped) await this.try();
  }
}

/** The most bytes that a trial writes. */
const mostTried = 8 * 1024 * 1024;
const oneWrite = 1024 * 1024;

/**
 * Tests the folders in which a save creates files, by writing as many bytes as the save would. The caller must hold the lock.
 *
 * @param target the file.
 * @param size the bytes of the file.
 * @param folders further folders that must be writable.
 * @throws Error that names the folder.
 */
export async function tryFolders(io: FileIo, target: string, size: number, folders: readonly string[]): Promise<void> {
  const plan: [path: string, bytes: number][] = [
    [temporaryPath(target, "trial", 0), Math.min(size, mostTried)],
    ...folders.map((folder): [string, number] => [temporaryPath(join(folder, "metadata"), "trial", 0), 1]),
  ];
  for (const [path, bytes] of plan) {
    await tryFolder(io, path, bytes).catch((error: Error) => {
      throw new Error(`${dirname(path)} cannot be written: ${error.message}`, { cause: error });
    });
  }
}

async function tryFolder(io: FileIo, path: string, bytes: number): Promise<void> {
  // A killed collector may have left such a file.
  await io.unlink(path).catch(() => {});
  const file = await io.create(path, 0o600);
  try {
    for (let rest = Math.max(4096, bytes); rest > 0;)
      rest -= await file.write(new Uint8Array(Math.min(rest, oneWrite)));
    // Some file systems report a full disk only at this call.
    await file.sync();
  } finally {
    await file.close().catch(() => {});
    await io.unlink(path);
  }
}

const loadFailures = ["io", "content", "locked", "other"] as const;
type LoadFailure = (typeof loadFailures)[number];
const commitResults = [
  "ok",
  "error",
  "invalid_argument",
  "not_found",
  "already_exists",
  "failed_precondition",
  "unavailable",
  "resource_exhausted",
] as const satisfies readonly CommitResult[];
type CommitResult = "ok" | "error" | UdmErrorCode;

/** Reports the loads and commits of a store. */
export class StoreMetrics {
  readonly #loads: Counter;
  readonly #warnings: Counter;
  readonly #failures: Counter;
  readonly #editsIgnored: Counter;
  readonly #commits: Counter;
  readonly #commitSeconds: Histogram;
  readonly #groupSizes: Histogram;

  constructor(metrics: Metrics, entries: () => number, stats: () => SharedIndexStats) {
    metrics.gaugeFrom("netgloss_udm_entries", "Metadata entries in use.", [], entries);
    metrics.gaugeFrom(
      "netgloss_udm_index_bytes",
      "Memory of the metadata index: of its tree, of entries, used before and now free, and address space reserved.",
      ["part"],
      () => {
        const { tree, entries: blocks, free, reserved } = stats();
        return Object.entries({ tree, entries: blocks, free, reserved }).map(([part, bytes]) => [{ part }, bytes]);
      },
    );
    metrics.gaugeFrom(
      "netgloss_udm_index_pinned_snapshots",
      "Snapshots of the metadata that are kept: the current one, those of lists in progress, and those that are not garbage-collected yet.",
      [],
      () => stats().heldSnapshots,
    );
    this.#loads = metrics.counter("netgloss_udm_loads_total", "Times the metadata file was read.");
    this.#warnings = metrics.counter(
      "netgloss_udm_load_warnings_total",
      "Entries of the metadata file that break the rules for values, or have characters that are not seen; they are used as written.",
    );
    this.#failures = metrics.counter(
      "netgloss_udm_load_failures_total",
      "Times the metadata file could not be used, by reason.",
      { reason: loadFailures },
    );
    this.#editsIgnored = metrics.counter(
      "netgloss_udm_edits_ignored_total",
      "Times a reload found the metadata file changed by hand while the API owns it. The next write keeps the edit under another name.",
    );
    this.#commits = metrics.counter("netgloss_udm_commits_total", "Write requests by result.", {
      result: commitResults,
    });
    this.#commitSeconds = metrics.histogram(
      "netgloss_udm_commit_seconds",
      "Time from a write request to its answer, the waiting for others included.",
      [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    );
    this.#groupSizes = metrics.histogram(
      "netgloss_udm_commit_group_size",
      "Write requests answered by one replacement of the file.",
      [1, 2, 4, 8, 16, 32, 64, 128, 256],
    );
  }

  /** Counts a load. @param count the number of entries that break the rules for values. */
  loaded(count: number): void {
    this.#loads.add();
    this.#warnings.add(count);
  }

  /** Counts a load that found a file edited by a person although the store owns it. */
  editIgnored(): void {
    this.#editsIgnored.add();
  }

  loadFailed(reason: LoadFailure): void {
    this.#failures.add(1, { reason });
  }

  /** Counts an answered batch, which took `ms` milliseconds including its wait. */
  committed(result: CommitResult, ms: number): void {
    this.#commits.add(1, { result });
    this.#commitSeconds.observe(ms / 1000);
  }

  /** Records the number of batches that are saved together. */
  groupSize(batches: number): void {
    this.#groupSizes.observe(batches);
  }
}
