import { join } from "node:path";
import { isMissing, makeFolder, replaceContent, type FileIo } from "../../base/file/index.ts";
import { limitLog, type Clock, type Component, type Log } from "../../base/report/index.ts";

/** The form in which a state is kept. */
export interface StateForm<T> {
  readonly empty: T;
  /** Parses a state. @throws BrokenState for a text of another form. */
  parse(text: string): T;
  format(state: T): string;
}

/** The error of a text that is not a state of its form. */
export class BrokenState extends Error {}

/** The error of a state that could not be written: the earlier state stays in force. */
export class NotKept extends Error {
  /** True if it may have been written all the same, because the answer was lost. */
  readonly isUnsure: boolean;

  constructor(message: string, { cause, isUnsure = false }: { readonly cause: unknown; readonly isUnsure?: boolean }) {
    super(message, { cause });
    this.isUnsure = isUnsure;
  }
}

/** A state in a file of its own, or, without a path, in memory. A file that cannot be understood is set aside, never overwritten. */
export class FileState<T> implements Component {
  readonly name: string;
  /** True if a restart finds it again. */
  readonly isKept: boolean;
  readonly #path: string | undefined;
  readonly #form: StateForm<T>;
  readonly #session: string;
  readonly #io: FileIo;
  readonly #clock: Clock;
  readonly #log: Log;
  #state: T;
  /** The reason why nothing is written: the file could not be understood or set aside. */
  #unread: string | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** The number of failed reads and writes. */
  failures = 0;

  /** @param path undefined: it is only in memory. @param session different in each run. */
  constructor(
    name: string,
    path: string | undefined,
    form: StateForm<T>,
    session: string,
    { io, clock, log }: { readonly io: FileIo; readonly clock: Clock; readonly log: Log },
  ) {
    this.name = name;
    this.isKept = path !== undefined;
    this.#path = path;
    this.#form = form;
    this.#session = session;
    this.#io = io;
    this.#clock = clock;
    this.#log = limitLog(log, clock);
    this.#state = form.empty;
  }

  async start(): Promise<void> {
    if (this.#path === undefined) return;
    // A run that was killed may have left it: the first change would be refused.
    await this.#io.unlink(temporaryOf(this.#path)).catch(() => {});
    try {
      this.#state = this.#form.parse(Buffer.from(await this.#io.read(this.#path)).toString());
    } catch (error) {
      if (isMissing(error)) return;
      this.failures++;
      await this.#setAside(this.#path, error as Error);
    }
  }

  async stop(): Promise<void> {
    await this.#last;
  }

  /** Returns the state as known here. */
  now(): T {
    return this.#state;
  }

  /** Returns why the state is incomplete and cannot be changed; undefined: no fault is known. */
  problem(): string | undefined {
    return this.#unread;
  }

  /** The time for which an ended session may still note its work; none, because no other session has the file. */
  readonly patienceMs = 0;

  /** Returns the session that owns this collector's work in the state; undefined: it may take none at present. */
  session(): string | undefined {
    return this.#session;
  }

  /**
   * Replaces the state by the result of `work`; an unchanged one is not written.
   *
   * @param work throws to change nothing. `isAlive` reports whether a session is still working.
   * @throws NotKept where it cannot be written.
   */
  change(work: (state: T, isAlive: (session: string) => boolean) => T): Promise<T> {
    const turn = this.#last.then(() => this.#apply(work));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #apply(work: (state: T, isAlive: (session: string) => boolean) => T): Promise<T> {
    const next = work(this.#state, (session) => session === this.#session);
    if (next !== this.#state) await this.#keep(next);
    this.#state = next;
    return next;
  }

  /** Writes the state. @throws NotKept */
  async #keep(state: T): Promise<void> {
    const path = this.#path;
    if (path === undefined) return;
    try {
      if (this.#unread !== undefined) throw new Error(this.#unread);
      await makeFolder(join(path, ".."));
      const content = Buffer.from(this.#form.format(state));
      await replaceContent(this.#io, { target: path, temporary: temporaryOf(path), mode: 0o600 }, content);
    } catch (error) {
      this.failures++;
      this.#log.warn({ error, path }, `a change of ${this.name} could not be written, and was refused`);
      throw new NotKept((error as Error).message, { cause: error });
    }
  }

  async #setAside(path: string, error: Error): Promise<void> {
    const aside = `${path}.broken-${this.#clock.now()}`;
    try {
      if (!(error instanceof BrokenState)) throw error;
      await this.#io.rename(path, aside);
      this.#log.warn({ error, aside }, `${this.name} could not be read: the file was set aside, and none are known`);
    } catch (failure) {
      this.#unread = `the file of ${this.name} cannot be read: ${(failure as Error).message}`;
      this.#log.warn({ error, path }, `${this.name} could not be read: the file stays as it is, and none can be saved`);
    }
  }
}

function temporaryOf(path: string): string {
  return `${path}.tmp`;
}

/** A state that is replaced as a whole, wherever it is kept. Each change is based on the one before, and is valid once it is written. */
export type KeptState<T> = Component &
  Pick<FileState<T>, "isKept" | "failures" | "now" | "problem" | "session" | "change"> & {
    readonly patienceMs: number;
  };
