import { isChange, type EntryChange } from "../model/apply-writes.ts";
import { type UdmCommit, UdmError, type UdmIndex } from "../model/udm-store.ts";
import type { NewLayerChange } from "../history/history.ts";
import {
  applyBatches,
  type Outcome,
  createCommitQueue,
  entriesOf,
  originOf,
  type Batch,
  createSubmit,
} from "../store/commit-queue.ts";
import type { NewCommit } from "./entry-rows.ts";
import { createTransact, type TransactOptions, beginTransaction, createWriter, rollBack } from "./transact.ts";
import {
  type Session,
  createFollower,
  messageOf,
  migrate,
  migrateMs,
  showDatabase,
  type DatabaseAccess,
} from "../../base/postgresql/index.ts";
import { nodeFileIo, runAfter } from "../../base/file/index.ts";
import { limitLog } from "../../base/report/index.ts";
import { createSharedIndex } from "../index/shared-index.ts";
import { AddressWatch, type CollectorUdmStore, PublishedState } from "../store/store-contract.ts";
import { logWrite, WriteHealth, StoreMetrics } from "../store/store-reporting.ts";
import { UdmLayers } from "../store/udm-layers.ts";
import { createCatchUp, createMirror, ReloadNeeded } from "./mirror.ts";
import { createDatabaseHealth, createPostgresqlMetrics } from "./database-reporting.ts";
import { type UdmPostgresqlStoreOptions, channel, trialRows, udmSchema } from "./schema.ts";
import { createSharedHistory } from "./fetch-commits.ts";
import { createStateCopies } from "./state-copies.ts";

/** What happened to a group of batches. */
interface CommittedGroup {
  /** Of each batch, in their order. */
  readonly outcomes: readonly Outcome<UdmCommit>[];
  /** The batches that changed anything. */
  readonly changed: ReadonlySet<Batch>;
}

/** Makes commits of batches. Calls follow one another. */
interface Committer {
  /** All batches in one transaction, a commit for each that changes anything. @throws UdmError when none was made. */
  commit(batches: readonly Batch[]): Promise<CommittedGroup>;
  /** Puts what a source says into the history. @throws UdmError */
  note(change: NewLayerChange): Promise<void>;
}

function createCommitter(options: TransactOptions): Committer {
  const { current, release } = options;
  const transact = createTransact(options);
  return {
    async commit(batches) {
      let outcomes: readonly Outcome<readonly EntryChange[]>[] = [];
      let numbers: readonly (number | undefined)[] = [];
      await transact(async (from) => {
        const applied = await applyBatches(current(), batches);
        outcomes = applied.outcomes;
        numbers = [];
        if (applied.changed === undefined) return undefined;
        const commits = newCommits(batches, outcomes, from.number);
        numbers = commits.map((commit) => commit?.number);
        const real = commits.filter((commit) => commit !== undefined);
        if (real.length > 0) return { commits: real, next: applied.changed.next };
        release(applied.changed.next);
        return undefined;
      });
      return {
        changed: new Set(batches.filter((_, i) => numbers[i] !== undefined)),
        outcomes: outcomes.map((outcome, i) =>
          "result" in outcome ? { result: { entries: entriesOf(outcome.result), change: numbers[i] } } : outcome,
        ),
      };
    },
    note: (change) =>
      transact(async ({ number }) => ({ commits: [{ ...change, number: number + 1 }], next: current() })),
  };
}

/** The commits of a group's batches; undefined for those that change nothing. */
function newCommits(
  batches: readonly Batch[],
  outcomes: readonly Outcome<readonly EntryChange[]>[],
  last: number,
): readonly (NewCommit | undefined)[] {
  let number = last;
  return batches.map((batch, i) => {
    const outcome = outcomes[i] as Outcome<readonly EntryChange[]>;
    const changes = "result" in outcome ? outcome.result.filter(isChange) : [];
    if (changes.length === 0) return undefined;
    number++;
    return { number, ...originOf(batch), layer: undefined, entries: changes.length, changes };
  });
}

/** Commits removed at a time: whoever commits waits for the end of one removal only. */
const commitsAtOnce = 500;
/** One collector of several removes. "prune" as bytes, cut. */
const lockKey = 0x7072_756e;

/** Removes the oldest changes of the log until it has no more than this many bytes, about. The last one stays. */
async function pruneLog(session: Session, maxBytes: number): Promise<void> {
  while (await session.ask(() => removeSome(session, maxBytes)));
}

/** @returns whether there is more to do. */
async function removeSome({ sql }: Session, maxBytes: number): Promise<boolean> {
  await sql.unsafe("begin isolation level read committed read write");
  try {
    const [lock] = await sql<{ ours: boolean }[]>`select pg_try_advisory_xact_lock(${lockKey}) as ours`;
    const [state] = await sql<{ excess: number; last: number }[]>`
      select log_bytes::float8 - ${maxBytes}::float8 as excess, last_number::float8 as last from netgloss.udm_state`;
    if (lock?.ours !== true || state === undefined || state.excess <= 0) {
      await sql.unsafe("rollback");
      return false;
    }
    const old = await sql<{ number: number; bytes: number }[]>`
      select number::float8 as number, bytes::float8 as bytes from netgloss.udm_commit
      where number < ${state.last} order by number limit ${commitsAtOnce}`;
    let freed = 0;
    let cut = 0;
    for (const { number, bytes } of old) {
      if (freed >= state.excess) break;
      freed += bytes;
      cut = number;
    }
    await sql`delete from netgloss.udm_change where number <= ${cut}`;
    await sql`delete from netgloss.udm_commit where number <= ${cut}`;
    await sql`update netgloss.udm_state set log_bytes = log_bytes - ${freed}, first_number = ${cut + 1} where ${cut} > 0`;
    await sql.unsafe("commit");
    return freed < state.excess && old.length === commitsAtOnce;
  } catch (error) {
    await sql.unsafe("rollback").catch(() => {});
    throw error;
  }
}

/** The longest wait for somebody else's lock: others that wait must be answered, too. */
const lockTimeoutMs = 3000;
/** At a start, how long to wait for the database before the copy is used. */
const waitWithCopyMs = 2000;

/**
 * The store that shares its entries with other collectors through a PostgreSQL database.
 *
 * - The database is the truth. All entries are in memory, too, as of one commit; reads and enrichment never ask the database.
 * - A commit is one transaction. It locks the row that has the number of the last commit, takes over what others have committed, applies its
 *   writes to that, and saves log and entries: each write is judged by what is there then.
 * - Others learn of a commit by a notification, and fetch what they miss by number.
 * - While the database is away, memory is as it was, writes are refused at once. A start finds the last copy on disk.
 */
export function createUdmPostgresqlStore(options: UdmPostgresqlStoreOptions): CollectorUdmStore {
  const { address, owned, collector, io = nodeFileIo, after = runAfter, random = Math.random, clock, health } = options;
  const log = limitLog(options.log, clock);
  const access: DatabaseAccess = {
    address,
    files: options.tls,
    timeoutMs: options.timeoutMs,
    lockTimeoutMs: Math.min(lockTimeoutMs, options.timeoutMs),
    applicationName: `netgloss ${collector}`,
  };
  const place = showDatabase(address);
  const shared = createSharedIndex({
    maxEntries: options.maxEntries,
    ...(options.limitName !== undefined && { limitName: options.limitName }),
    onSmallerReserve: (bytes, askedFor) =>
      log.warn({ bytes, askedFor }, "the system reserves less memory for metadata"),
  });
  const addresses = new AddressWatch(shared, log);
  const published = new PublishedState(shared, (changed) => addresses.changed(changed), log);
  const report = new StoreMetrics(
    options.metrics,
    () => published.index()?.size ?? 0,
    () => shared.stats(),
  );
  const state = createDatabaseHealth({ place, log, clock, health, at: () => mirror.position()?.number });
  const database = createPostgresqlMetrics(options.metrics, {
    isConnected: () => follower.session() !== undefined,
    behind: () => Math.max(0, mirror.known() - (mirror.position()?.number ?? 0)),
    staleMs: () => state.staleMs(),
  });
  const writer = createWriter(access, random);
  const history = createSharedHistory({
    isOn: () => options.historyBytes > 0,
    // A database that was set back, or another one, gives numbers again.
    epoch: () => (mirror.position()?.store ?? "").replaceAll("-", ""),
    last: () => mirror.position()?.number ?? 0,
    first: () => catchUp.firstKept(),
    ask: (work) => connected().ask(work),
    log,
  });
  const mirror = createMirror({
    shared,
    published,
    report: database,
    notify: history.notify,
    changed: () => copies.changed(),
  });
  const copies = createStateCopies({
    ...options,
    io,
    after,
    shared,
    log,
    report: database,
    state: () => ({
      index: published.index(),
      position: mirror.position(),
      heardAt: state.heardAt(),
    }),
  });
  let isRunning = false;

  /** @throws UdmError while the database is away. */
  const connected = (): Session => {
    const session = follower.session();
    if (session !== undefined) return session;
    throw new UdmError("unavailable", isRunning ? state.detail(follower.reason()) : "the metadata store does not run");
  };

  const current = (): UdmIndex => {
    const index = published.index();
    if (index === undefined) connected();
    if (index === undefined) throw new UdmError("unavailable", "the metadata has not been read yet");
    return index;
  };

  const catchUp = createCatchUp({ place, mirror, state, report: database, loaded: () => report.loaded(0), clock, log });

  const follower = createFollower({
    access,
    what: "the database of the metadata",
    after,
    random,
    clock,
    log,
    async connected(session) {
      const made = await migrate(session, udmSchema, migrateMs);
      if (made.length > 0) log.info({ database: place, steps: made }, "created the tables of the metadata");
      await session.ask((sql) => sql.unsafe(`listen ${channel}`));
      await queue.alone(async () => {
        try {
          mirror.check(await catchUp.ask(session, mirror.position()?.number ?? 0));
        } catch (error) {
          if (!(error instanceof ReloadNeeded)) throw error;
          await catchUp.reload(session, error);
        }
        await catchUp.follow(session);
      });
      database.connected();
      state.connected({ server: session.server, change: mirror.position()?.number ?? 0, entries: current().size });
    },
    notified(session, payload) {
      const [number = 0, time = 0] = payload.split(" ").map(Number);
      mirror.heard(number);
      if (number > (mirror.position()?.number ?? 0)) wake(session, time);
    },
    async beat(session) {
      const found = await catchUp.ask(session, mirror.position()?.number ?? 0);
      if (found.last > (mirror.position()?.number ?? 0)) wake(session, 0);
      if (owned && found.logBytes > options.historyBytes * 1.1) await prune();
    },
    lost(reason) {
      database.failed(mirror.position() === undefined ? "connect" : "follow");
      state.lost(reason, published.index() !== undefined);
    },
  });

  /** Commits that wait to be seen: numbers and times of notifications. */
  let isAwake = false;
  const wake = (session: Session, time: number): void => {
    if (isAwake) return;
    isAwake = true;
    void queue
      .alone(async () => {
        isAwake = false;
        if (!session.isOpen()) return;
        const before = mirror.position()?.number;
        await catchUp.follow(session);
        if (time > 0 && mirror.position()?.number !== before) database.seen(catchUp.now() - time);
      })
      .catch((error: unknown) => session.close(error instanceof Error ? error : new Error(String(error))));
  };

  const prune = async (): Promise<void> => {
    try {
      const session = await writer.session();
      await queue.alone(() => pruneLog(session, options.historyBytes));
    } catch (error) {
      database.failed("prune");
      log.warn({ error }, "old changes of the metadata cannot be removed from the database");
    }
  };

  const committer = createCommitter({
    access,
    place,
    collector,
    writer,
    connected,
    mirror,
    current,
    release: (index) => shared.release(index),
    reload: catchUp.reload,
    now: catchUp.now,
    log,
    report: database,
  });

  const writes = new WriteHealth({
    async trial() {
      // Of a server that is away the other check speaks.
      if (follower.session() === undefined) return;
      const session = await writer.session();
      try {
        await beginTransaction(session, mirror.position()?.number ?? 0);
        await session.ask((sql) => sql.unsafe(trialRows));
      } finally {
        await rollBack(session);
      }
    },
    alone: (action) => queue.alone(action),
    after,
    health,
    log,
  });

  const queue = createCommitQueue(async (batches: readonly Batch[]) => {
    const { outcomes, changed } = await committer.commit(batches).catch((error: unknown) => {
      if (follower.session() !== undefined) writes.failed(error);
      throw error;
    });
    if (changed.size > 0) writes.works();
    if (changed.size > 0) report.groupSize(batches.length);
    const { version } = current();
    for (const batch of changed) logWrite(options.log, batch.writes, version, batch.origin);
    return outcomes;
  });

  const noteLayer = async (change: NewLayerChange): Promise<void> => {
    if (!owned || follower.session() === undefined) return;
    try {
      await committer.note(change);
    } catch {
      // It is logged and counted; what a source says counts even when it cannot be noted.
    }
  };

  const layers = new UdmLayers({
    shared,
    own: () => published.index(),
    alone: (action) => queue.alone(action),
    changed: (changed) => addresses.changed(changed),
    note: noteLayer,
  });

  const submits = createSubmit({
    queue,
    report,
    clock,
    check() {
      if (!owned) throw new UdmError("unavailable", "the metadata is only read here, not written");
      connected();
    },
  });

  return {
    name: "metadata",

    async start() {
      isRunning = true;
      const copy = await copies.read();
      if (copy !== undefined) {
        mirror.take(copy.index, copy.position, []);
        state.copyRead(copy.heardAt, copy.index.size, copy.position.number);
      }
      const first = follower.start();
      const waited = new Promise<void>((resolve) => {
        if (copy !== undefined) after(resolve, waitWithCopyMs);
      });
      await Promise.race([first, waited]);
      if (owned) void queue.alone(() => writes.try());
    },

    async stop() {
      isRunning = false;
      writes.stop();
      const wasFollowing = follower.stop();
      writer.close();
      await queue.idle();
      await wasFollowing;
      await copies.stop();
    },

    load: () =>
      queue.alone(async () => {
        const session = connected();
        try {
          await catchUp.reload(session, new ReloadNeeded("asked"));
        } catch (error) {
          report.loadFailed("io");
          log.error({ error, database: place }, "the metadata cannot be read again: the previous state stays in use");
          session.close(new Error(messageOf(error)));
          throw error instanceof UdmError ? error : new UdmError("unavailable", messageOf(error), [], { cause: error });
        }
        return current();
      }),

    current,
    history,
    ...submits,
    layers,
    places: { file: place, linesOf: async (keys) => keys.map(() => undefined) },
    watchAddresses: (listener) => addresses.add(listener, published.index() !== undefined || layers.list().length > 0),
    readerHandle: () => shared.handle(),
    closeReader: (handle) => shared.closeReader(handle),
    watch: (listener) => published.watch(listener),
  };
}
