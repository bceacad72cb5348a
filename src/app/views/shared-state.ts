import { randomUUID } from "node:crypto";
import { runAfter } from "../../base/file/index.ts";
import { limitLog, Rounds, type Log, type Reporting } from "../../base/report/index.ts";
import type { FleetStateRow, PostgresqlFleetStates } from "../../fleet/index.ts";
import { NotKept, type FileState, type KeptState, type StateForm } from "./kept-state.ts";

/** Where a state of a fleet is kept, and what is there of it on this host. */
interface SharedPlaces<T> {
  readonly states: Pick<PostgresqlFleetStates, "read" | "write" | "watch">;
  /** The name in the table. */
  readonly key: string;
  /** The session of this collector while it is a member of its fleet. */
  readonly session: () => string | undefined;
  /** What this collector had before it was in a fleet: the state of a fleet that has none yet. It is never written. */
  readonly own: FileState<T>;
  /** What the database said last: shown after a restart while that is away. */
  readonly copy: FileState<T>;
}

/** Others write seldom: so many changes in a row do not come between a reading and a writing. */
const mostTries = 50;
const retryMs = 1000;
/** How often it is read without a notification: nobody says that the database has gone away. */
const lookMs = 10_000;
/** It is asked so often, and after this time each, whether a write was carried out whose answer was lost. */
const asks = 40;
const askMs = 250;

/**
 * A state that the collectors of a fleet share, in their database. A change is made of what the database has, and made again where another
 * collector's came first. While the database is away nothing can be changed, and what it said last is shown.
 */
export class SharedState<T> implements KeptState<T> {
  readonly name: string;
  readonly isKept = true;
  /** Who was cut off from the database writes again within a second when it is back. */
  readonly patienceMs = 10_000;
  readonly #places: SharedPlaces<T>;
  readonly #form: StateForm<T>;
  readonly #log: Log;
  readonly #health: Reporting["health"];
  readonly #after: typeof runAfter;
  readonly #rounds: Rounds;
  #state: T;
  /** Of the state; undefined: the database has none, or was not asked yet. */
  #version: string | undefined;
  #problem: string | undefined = "the database of the fleet has not been asked yet";
  #endWatch = (): void => {};
  /** Readings and changes, one after the other: an older answer never comes after a newer one. */
  #last: Promise<unknown> = Promise.resolve();
  /** So many changes were refused. */
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

  /** The state that the database had last. */
  now(): T {
    return this.#state;
  }

  /** Why it may be an old one, and cannot be changed; undefined: it is that of the database. */
  problem(): string | undefined {
    return this.#problem;
  }

  session(): string | undefined {
    return this.#places.session();
  }

  /** @throws NotKept where it cannot be written. @param work may be called again, with what another collector has written meanwhile. */
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
    // The first collector brings what it had before.
    if (this.#version === undefined && this.#state !== this.#form.empty) await this.#write(this.#state);
    return lookMs;
  }

  /** Makes the state that of the database. @returns the sessions that live. @throws NotKept */
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

  /** @returns false where another collector's change came first. @throws NotKept */
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

  /** What the database has when it is back; undefined: it stays away. */
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
    // It is of use after a restart alone; a file that cannot be written is in the log.
    this.#places.copy.change(() => state).catch(() => {});
  }

  #failed(cause: Error, isUnsure = false): NotKept {
    this.#log.warn({ error: cause }, `${this.name} of the fleet could not be read or written`);
    this.#tell(cause.message);
    // It is read again until that works: nobody says when a database takes questions again that refused one.
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
