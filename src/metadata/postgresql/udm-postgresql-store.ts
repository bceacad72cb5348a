import type { Key } from "../../base/ip/index.ts";
import { nodeFileIo, runAfter } from "../../base/file/index.ts";
import {
  type Session,
  Follower,
  messageOf,
  migrate,
  migrateMs,
  showDatabase,
  type DatabaseAccess,
} from "../../base/postgresql/index.ts";
import { limitLog, logWith, type Log } from "../../base/report/index.ts";
import type { NewLayerChange } from "../history/history.ts";
import { type UdmCommit, UdmError, type UdmIndex } from "../model/udm-store.ts";
import { type Batch, type Outcome, CollectorUdmStore, type UdmPlaces } from "../store/collector-store.ts";
import { logWrite } from "../store/store-reporting.ts";
import { DatabaseScopes } from "./database-scopes.ts";
import { DatabaseHealth, PostgresqlMetrics } from "./database-reporting.ts";
import { SharedHistory } from "./fetch-commits.ts";
import { Mirror, ReloadNeeded } from "./mirror.ts";
import { type UdmPostgresqlStoreOptions, channel, trialRows, udmSchema } from "./schema.ts";
import { StateCopies } from "./state-copies.ts";
import { beginTransaction, Committer, rollBack, Writer } from "./transact.ts";

/** The commits that are removed at a time, so that a new commit waits for only one removal. */
const commitsAtOnce = 500;
/** The key of the lock that lets only one collector remove commits: the first bytes of "prune". */
const lockKey = 0x7072_756e;

/** Removes the oldest changes of the log until it has at most about this many bytes. The last change stays. */
async function pruneLog(session: Session, maxBytes: number): Promise<void> {
  while (await session.ask(() => removeSome(session, maxBytes)));
}

/** Removes some commits. @returns true where more must be removed. */
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

/** The longest wait for another collector's lock. Waiting requests must be answered, too. */
const lockTimeoutMs = 3000;
/** The time that a start waits for the database before it uses the copy. */
const waitWithCopyMs = 2000;

/**
 * The store that shares its entries with other collectors through a PostgreSQL database.
 *
 * - The database is authoritative. Memory has all entries as of one commit; reads and enrichment never query the database.
 * - A commit is one transaction. It locks the row with the number of the last commit, applies the commits of others, then its
 *   own writes, and saves log and entries. So each write is validated against the latest state.
 * - Other collectors receive a notification of a commit, and fetch missing commits by number.
 * - While the database is unavailable, memory stays unchanged and writes are refused at once. A start uses the last copy on disk.
 */
export class UdmPostgresqlStore extends CollectorUdmStore {
  readonly history: SharedHistory;
  readonly places: UdmPlaces;
  /** The scopes of the database; undefined where this store does not read them. */
  readonly databaseScopes: DatabaseScopes | undefined;
  readonly #options: UdmPostgresqlStoreOptions;
  /** The database, for messages. */
  readonly #location: string;
  readonly #space: string;
  readonly #state: DatabaseHealth;
  readonly #metrics: PostgresqlMetrics;
  readonly #writer: Writer;
  readonly #mirror: Mirror;
  readonly #copies: StateCopies;
  readonly #follower: Follower;
  readonly #committer: Committer;
  #isRunning = false;
  /** True where there are commits that this collector has not read yet. */
  #isAwake = false;

  constructor(options: UdmPostgresqlStoreOptions) {
    super({ ...options, log: limitLog(options.log, options.clock) });
    const { address, collector, random = Math.random, clock } = options;
    const { log } = this;
    const limited = { ...options, log };
    const location = showDatabase(address);
    const access: DatabaseAccess = {
      address,
      files: options.tls,
      timeoutMs: options.timeoutMs,
      lockTimeoutMs: Math.min(lockTimeoutMs, options.timeoutMs),
      applicationName: `netgloss ${collector}`,
    };
    this.#options = options;
    this.#location = location;
    const space = options.space ?? "";
    this.#space = space;
    this.places = { file: location, linesOf: async (keys: readonly Key[]) => keys.map(() => undefined) };
    this.#state = new DatabaseHealth(this.name, location, () => this.#mirror.position()?.number, limited);
    this.#metrics = new PostgresqlMetrics(
      options.metrics,
      () => this.#follower.session() !== undefined,
      () => this.#mirror.behind(),
      () => this.#state.staleMs(),
    );
    this.#writer = new Writer(access, random);
    const historyOf = (scope: string, closed?: AbortSignal): SharedHistory =>
      new SharedHistory(
        scope,
        () => this.#mirror,
        options.historyBytes > 0,
        (work) => this.#connected().ask(work),
        log,
        closed,
      );
    this.history = historyOf(space);
    const scopes = options.hasScopes === true ? this.#createScopes(limited, historyOf) : undefined;
    this.databaseScopes = scopes;
    this.#mirror = new Mirror({
      space,
      scopes,
      location,
      shared: this.shared,
      published: this.published,
      state: this.#state,
      report: this.#metrics,
      notify: (change) => this.history.notify(change),
      changed: () => this.#copies.changed(),
      loaded: () => this.report.loaded(0),
      clock,
      log,
    });
    this.#copies = this.#createCopies(limited);
    this.#follower = new Follower({
      access,
      what: "the database of the metadata",
      random,
      log,
      connected: (session) => this.#follow(session),
      notified: (session, payload) => this.#notified(session, payload),
      beat: (session) => this.#beat(session),
      lost: (reason) => this.#lost(reason),
    });
    this.#committer = new Committer({
      access,
      location,
      collector,
      writer: this.#writer,
      connected: () => this.#connected(),
      mirror: this.#mirror,
      release: (index) => this.shared.release(index),
      log,
      report: this.#metrics,
    });
  }

  async start(): Promise<void> {
    const { owned, after = runAfter } = this.#options;
    this.#isRunning = true;
    const copy = await this.#copies.read();
    if (copy !== undefined) {
      const states = new Map([[this.#space, copy.index], ...copy.states]);
      this.#mirror.takeAll(copy.position, { ...copy, states });
      this.#state.copyRead(copy.heardAt, copy.index.size, copy.position.number);
    }
    const first = this.#follower.start();
    const waited = new Promise<void>((resolve) => {
      if (copy !== undefined) after(resolve, waitWithCopyMs);
    });
    await Promise.race([first, waited]);
    if (owned) void this.queue.alone(() => this.writes.try());
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    this.writes.stop();
    const wasFollowing = this.#follower.stop();
    this.#writer.close();
    await this.queue.idle();
    await wasFollowing;
    await this.#copies.stop();
  }

  load(): Promise<UdmIndex> {
    return this.queue.alone(async () => {
      const session = this.#connected();
      try {
        await this.#mirror.reload(session, new ReloadNeeded("asked"));
      } catch (error) {
        this.report.loadFailed("io");
        this.log.error(
          { error, database: this.#location },
          "the metadata cannot be read again: the previous state stays in use",
        );
        session.close(new Error(messageOf(error)));
        throw error instanceof UdmError ? error : new UdmError("unavailable", messageOf(error), [], { cause: error });
      }
      return this.current();
    });
  }

  current(): UdmIndex {
    const index = this.published.index();
    if (index !== undefined) return index;
    this.#connected();
    throw new UdmError("unavailable", "the metadata has not been read yet");
  }

  protected checkWritable(): void {
    if (!this.#options.owned) throw new UdmError("unavailable", "the metadata is only read here, not written");
    this.#connected();
  }

  protected commitGroup(batches: readonly Batch[]): Promise<readonly Outcome<UdmCommit>[]> {
    return this.#commit(this.#space, batches, this.#options.log);
  }

  protected async tryWrite(): Promise<void> {
    // The other check reports an unavailable server.
    if (this.#follower.session() === undefined) return;
    const session = await this.#writer.session();
    try {
      await beginTransaction(session, this.#mirror.number());
      await session.ask((sql) => sql.unsafe(trialRows));
    } finally {
      await rollBack(session);
    }
  }

  protected noteLayer(change: NewLayerChange): Promise<void> {
    return this.#noteLayer(this.#space, change);
  }

  async #noteLayer(space: string, change: NewLayerChange): Promise<void> {
    if (!this.#options.owned || this.#follower.session() === undefined) return;
    // The failure is already logged and counted.
    await this.#committer.note(space, change).catch(() => {});
  }

  /** Does nothing. Scopes of the database are recorded with their commit; scopes of files belong to one collector only. */
  protected noteScope(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async #commit(scope: string, batches: readonly Batch[], log: Log): Promise<readonly Outcome<UdmCommit>[]> {
    const { outcomes, changed } = await this.#committer.commit(scope, batches).catch((error: unknown) => {
      if (this.#follower.session() !== undefined) this.writes.failed(error);
      throw error;
    });
    if (changed.length > 0) {
      this.writes.works();
      this.report.groupSize(batches.length);
    }
    const version = this.#mirror.index(scope)?.version ?? 0;
    for (const batch of changed) logWrite(log, batch.writes, version, batch.origin);
    return outcomes;
  }

  #createCopies(options: UdmPostgresqlStoreOptions): StateCopies {
    const { after = runAfter } = options;
    const scopes = this.databaseScopes;
    return new StateCopies({
      ...options,
      io: options.io ?? nodeFileIo,
      after,
      shared: this.shared,
      report: this.#metrics,
      state: () => ({
        index: this.published.index(),
        position: this.#mirror.position(),
        lasts: this.#mirror.lasts(),
        scopes: (scopes?.texts() ?? []).flatMap((text) => {
          const index = scopes?.index(text.name);
          return index === undefined ? [] : [{ text, index }];
        }),
        heardAt: this.#state.heardAt(),
      }),
    });
  }

  #createScopes(
    options: UdmPostgresqlStoreOptions,
    history: (scope: string, closed: AbortSignal) => SharedHistory,
  ): DatabaseScopes {
    const { clock, log, metrics, health } = options;
    const scopes: DatabaseScopes = new DatabaseScopes({
      clock,
      log,
      metrics,
      health,
      host: this.scopes,
      places: this.places,
      checkWritable: () => this.checkWritable(),
      load: () => this.load(),
      commit: (scope, batches) => this.#commit(scope, batches, logWith({ scope }, this.#options.log)),
      noteLayer: (scope, change) => this.#noteLayer(scope, change),
      define: (origin, plan) => this.#committer.define(this.#space, origin, () => scopes.texts(), plan),
      history,
    });
    return scopes;
  }

  /** Returns the session. @throws UdmError while the database is unavailable. */
  #connected(): Session {
    const session = this.#follower.session();
    if (session !== undefined) return session;
    const detail = this.#isRunning ? this.#state.detail(this.#follower.reason()) : "the metadata store does not run";
    throw new UdmError("unavailable", detail);
  }

  /** Prepares a session, which receives notifications from then on. */
  async #follow(session: Session): Promise<void> {
    const made = await migrate(session, udmSchema, migrateMs);
    if (made.length > 0) this.log.info({ database: this.#location, steps: made }, "created the tables of the metadata");
    await session.ask((sql) => sql.unsafe(`listen ${channel}`));
    await this.queue.alone(async () => {
      try {
        this.#mirror.check(await this.#mirror.ask(session));
      } catch (error) {
        if (!(error instanceof ReloadNeeded)) throw error;
        await this.#mirror.reload(session, error);
      }
      await this.#mirror.follow(session);
    });
    this.#metrics.connected();
    const entries = this.current().size;
    this.#state.connected({ server: session.server, change: this.#mirror.number(), entries });
  }

  #notified(session: Session, payload: string): void {
    const [number = 0, time = 0] = payload.split(" ").map(Number);
    this.#mirror.heard(number);
    if (number > this.#mirror.number()) this.#wake(session, time);
  }

  async #beat(session: Session): Promise<void> {
    const { owned, historyBytes } = this.#options;
    const found = await this.#mirror.ask(session);
    if (found.last > this.#mirror.number()) this.#wake(session, 0);
    if (owned && found.logBytes > historyBytes * 1.1) await this.#prune();
  }

  #lost(reason: string): void {
    this.#metrics.failed(this.#mirror.position() === undefined ? "connect" : "follow");
    this.#state.lost(reason, this.published.index() !== undefined);
  }

  /** Starts reading new commits. @param time the time of an unread commit by the database's clock; 0 where unknown. */
  #wake(session: Session, time: number): void {
    if (this.#isAwake) return;
    this.#isAwake = true;
    void this.queue
      .alone(async () => {
        this.#isAwake = false;
        if (!session.isOpen()) return;
        const before = this.#mirror.position()?.number;
        await this.#mirror.follow(session);
        const isNew = this.#mirror.position()?.number !== before;
        if (time > 0 && isNew) this.#metrics.seen(this.#mirror.now() - time);
      })
      .catch((error: unknown) => session.close(error instanceof Error ? error : new Error(String(error))));
  }

  async #prune(): Promise<void> {
    try {
      const session = await this.#writer.session();
      await this.queue.alone(() => pruneLog(session, this.#options.historyBytes));
    } catch (error) {
      this.#metrics.failed("prune");
      this.log.warn({ error }, "old changes of the metadata cannot be removed from the database");
    }
  }
}
