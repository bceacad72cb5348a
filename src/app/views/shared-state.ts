import { randomUUID } from "node:crypto";
import { runAfter } from "../../base/file/index.ts";
import { limitLog, Rounds, type Log, type Reporting } from "../../base/report/index.ts";
import type { FleetStateRow, PostgresqlFleetStates } from "../../fleet/index.ts";
import { NotKept, type FileState, type KeptState, type StateForm } from "./kept-state.ts";

/** The places of a fleet's state: the database, and copies on this host. */
interface SharedPlaces<T> {
  readonly states: Pick<PostgresqlFleetStates, "read" | "write" | "watch">;
  /** The name in the table. */
  readonly key: string;
  /** Returns the session of this collector while it is a member of its fleet. */
  readonly session: () => string | undefined;
  /** This collector's state from before it joined: the initial state of a new fleet. It is never written. */
  readonly own: FileState<T>;
  /** The last state of the database, shown after a restart while the database is away. */
  readonly copy: FileState<T>;
}

/** The most tries of a change: others write rarely, so this many conflicts in a row do not happen. */
const mostTries = 50;
const retryMs = 1000;
/** The interval between reads without a notification, milliseconds: a lost connection sends none. */
const lookMs = 10_000;
/** The number and interval of checks whether a write with a lost answer was carried out. */
const asks = 40;
const askMs = 250;

/**
 * A state that the collectors of a fleet share, in their database. A change is based on the database's state, and repeated if another
 * collector's came first. While the database is away nothing can be changed, and its last known state is shown.
 */
export class SharedState<T> implements KeptState<T> {
  readonly name: string;
  readonly isKept = true;
  /** The time for which an ended session may still note its work. A collector cut off from the database writes within a second once it is back. */
  readonly patienceMs = 10_000;
  readonly #places: SharedPlaces<T>;
  readonly #form: StateForm<T>;
  readonly #log: Log;
  readonly #health: Reporting["health"];
  readonly #after: typeof runAfter;
  readonly #rounds: Rounds;
  #state: T;
  /** The version of the state; undefined: the database has none, or was not asked yet. */
  #version: string | undefined;
  #problem: string | undefined = "the database of the fleet has not been asked yet";
  #endWatch = (): void => {};
  /** The last read or change. They run in turn, so an older answer never follows a newer one. */
  #last: Promise<unknown> = Promise.resolve();
  /** The number of refused changes. */
  failures = 0;
  #isStopping = false;

  /** @param after runs an action once after a time, without keeping the process alive. */
  constructor(
    name: string,
    places: SharedPlaces<T>,
    form: StateForm<T>,
    { clock, log, health }: Pick<Reporting, "clock" | "log" | "health">,
    after = runAfter,
  ) {
    this.name = name;
    this.#places = places;
    this.#form = form;
    this.#log = limitLog(log, clock);
    this.#health = health;
    this.#after = after;
    this.#state = form.empty;
    this.#rounds = new Rounds(
      () => this.#inTurn(() => this.#refresh()),
      () => retryMs,
      after,
    );
  }

  async start(): Promise<void> {
    const { states, key, own, copy } = this.#places;
    await own.start();
    await copy.start();
    this.#state = copy.now();
    this.#endWatch = states.watch(key, () => this.#rounds.ask());
    await this.#rounds.start();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#endWatch();
    await this.#rounds.stop();
    await this.#last;
    await this.#places.copy.stop();
  }

  /** Returns the last state of the database. */
  now(): T {
    return this.#state;
  }

  /** Returns why the state may be outdated and cannot be changed; undefined: it is that of the database. */
  problem(): string | undefined {
    return this.#problem;
  }

  session(): string | undefined {
    return this.#places.session();
  }

  /** Changes the state. @throws NotKept where it cannot be written. @param work may be called again, with another collector's new state. */
  change(work: (state: T, isAlive: (session: string) => boolean) => T): Promise<T> {
    return this.#inTurn(async () => {
      try {
        return await this.#changed(work);
      } catch (error) {
        if (error instanceof NotKept) this.failures++;
        throw error;
      }
    });
  }

  async #changed(work: (state: T, isAlive: (session: string) => boolean) => T): Promise<T> {
    for (let tries = 0; tries < mostTries; tries++) {
      const living = new Set(await this.#read());
      const next = work(this.#state, (session) => living.has(session));
      if (next === this.#state || (await this.#write(next))) return next;
    }
    throw new NotKept("other collectors of the fleet change it all the time", { cause: undefined });
  }

  #inTurn<R>(work: () => Promise<R>): Promise<R> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #refresh(): Promise<number> {
    await this.#read();
    // The first collector contributes its earlier state.
    if (this.#version === undefined && this.#state !== this.#form.empty) await this.#write(this.#state);
    return lookMs;
  }

  /** Reads the state from the database. @returns the live sessions. @throws NotKept */
  async #read(): Promise<readonly string[]> {
    const { states, key, own } = this.#places;
    try {
      const row = await states.read(key, this.#version);
      if (row.version === undefined) {
        this.#version = undefined;
        this.#state = own.now();
      } else if (row.text !== undefined) this.#take(row.version, this.#form.parse(row.text));
      this.#tell(undefined);
      return row.living;
    } catch (error) {
      throw this.#failed(error as Error);
    }
  }

  /** Writes a state. @returns false where another collector's change came first. @throws NotKept */
  async #write(next: T): Promise<boolean> {
    const { states, key } = this.#places;
    const [after, version] = [this.#version, randomUUID()];
    try {
      const isWritten = await states.write(key, { after, version, text: this.#form.format(next) });
      if (isWritten) this.#take(version, next);
      return isWritten;
    } catch (error) {
      const row = await this.#rowAfter();
      if (row?.version === version) {
        this.#take(version, next);
        return true;
      }
      const isSame = row !== undefined && row.version === after;
      throw this.#failed(error as Error, !isSame);
    }
  }

  /** Reads the row when the database is back; undefined: it stays away. */
  async #rowAfter(): Promise<FleetStateRow | undefined> {
    const { states, key } = this.#places;
    for (let count = 0; count < asks && !this.#isStopping; count++) {
      try {
        return await states.read(key, this.#version);
      } catch {
        await new Promise<void>((resolve) => void this.#after(resolve, askMs));
      }
    }
    return undefined;
  }

  #take(version: string, state: T): void {
    this.#version = version;
    this.#state = state;
    // Only a restart uses the copy; failures of its file are logged.
    this.#places.copy.change(() => state).catch(() => {});
  }

  #failed(cause: Error, isUnsure = false): NotKept {
    this.#log.warn({ error: cause }, `${this.name} of the fleet could not be read or written`);
    this.#tell(cause.message);
    // Read again until that works: there is no notification when a database accepts requests again after refusing one.
    this.#rounds.ask();
    return new NotKept(cause.message, { cause, isUnsure });
  }

  #tell(problem: string | undefined): void {
    this.#problem = problem;
    const detail = problem && `as they were last known: ${problem}`;
    const name = `${this.name} of the fleet`;
    this.#health.set({ name, ready: true, ...(detail !== undefined && { degraded: true, detail }) });
  }
}
