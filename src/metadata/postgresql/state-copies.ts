import { join } from "node:path";
import { type FileIo, resolveTarget } from "../../base/file/index.ts";
import { StateFile } from "../history/history-files.ts";
import type { SharedIndex } from "../index/shared-index.ts";
import type { KeyForm } from "../model/name-key.ts";
import type { ScopeText } from "../model/scope.ts";
import type { UdmIndex } from "../model/udm-store.ts";
import { FileThread, loadBytes } from "../store/file-thread-client.ts";
import type { FailureStep, PostgresqlMetrics } from "./database-reporting.ts";
import type { Position } from "./fetch-commits.ts";
import type { UdmPostgresqlStoreOptions } from "./schema.ts";

/** The first line of a copy, as JSON. The entries of the scopes follow in order. */
interface CopyHead extends Position {
  /** The format of the copy; 1 is that of a version without scopes. */
  readonly format: 1 | 2;
  readonly entries: number;
  /** The numbers of the last changes. */
  readonly lasts?: Readonly<Record<string, number>>;
  readonly scopes?: readonly { readonly text: ScopeText; readonly entries: number }[];
  /** The time of the database's last answer, in milliseconds since the Unix epoch. */
  readonly heardAt: number;
}

const headMark = "# netgloss copy ";
/** The line before the entries of a scope. */
const scopeLine = (scope: string): string => `# netgloss entries of scope ${scope}`;

/** The shortest pause after a write, as a multiple of its duration. It limits the share of time for writing. */
const timeShare = 20;

/**
 * Writes some time after a change. Further changes until then share the write.
 *
 * @param write never fails.
 * @param delayMs the milliseconds between the first change and the write; more where writing takes long.
 */
class LaterWrite {
  readonly #write: () => Promise<void>;
  readonly #delayMs: number;
  readonly #after: (action: () => void, ms: number) => () => void;
  readonly #monotonic: () => number;
  #cancel: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #isDue = false;
  #pause: number;

  constructor(
    write: () => Promise<void>,
    delayMs: number,
    after: (action: () => void, ms: number) => () => void,
    monotonic: () => number,
  ) {
    this.#write = write;
    this.#delayMs = delayMs;
    this.#after = after;
    this.#monotonic = monotonic;
    this.#pause = delayMs;
  }

  /** There is something to be written. */
  changed(): void {
    this.#isDue = true;
    if (this.#running === undefined) this.#schedule();
  }

  /** Writes pending changes at once. Resolves when no write is in progress. */
  async flush(): Promise<void> {
    await this.#running;
    if (this.#isDue) await (this.#running = this.#run());
    this.#cancel?.();
    this.#cancel = undefined;
  }

  async #run(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#isDue = false;
    const start = this.#monotonic();
    await this.#write();
    this.#pause = Math.max(this.#delayMs, (this.#monotonic() - start) * timeShare);
    this.#running = undefined;
    if (this.#isDue) this.#schedule();
  }

  #schedule(): void {
    this.#cancel ??= this.#after(() => void (this.#running ??= this.#run()), this.#pause);
  }
}

interface StateCopiesOptions extends UdmPostgresqlStoreOptions {
  readonly io: FileIo;
  readonly after: (action: () => void, ms: number) => () => void;
  readonly shared: SharedIndex;
  readonly report: PostgresqlMetrics;
  readonly state: () => {
    readonly index: UdmIndex | undefined;
    readonly position: Position | undefined;
    readonly lasts: ReadonlyMap<string, number>;
    readonly scopes: readonly { readonly text: ScopeText; readonly index: UdmIndex }[];
    readonly heardAt: number;
  };
}

/** The content of a copy. */
interface ReadCopy {
  readonly index: UdmIndex;
  readonly position: Position;
  readonly lasts: ReadonlyMap<string, number>;
  readonly texts: readonly ScopeText[];
  readonly states: ReadonlyMap<string, UdmIndex>;
  readonly heardAt: number;
}

/** The time by which a copy on disk may be older than the database. A start fetches the rest by number. */
const copyDelayMs = 30_000;
const exportDelayMs = 200;
/** The file mode of a copy. Other users must not read it, because it has all names of a network. */
const copyMode = 0o600;
/** The size in bytes from which a copy is read in a thread. */
const threadBytes = 256 * 1024;

/** The files of a database's state: the last copy, for starts without the database, and the export for other programs. */
export class StateCopies {
  readonly #options: StateCopiesOptions;
  readonly #run: string;
  readonly #path: string;
  readonly #copy: StateFile | undefined;
  readonly #thread: FileThread | undefined;
  readonly #writes: LaterWrite[] = [];

  constructor(options: StateCopiesOptions) {
    const { stateDirectory, exportPath, startThread, io, clock, keys = "addresses" } = options;
    this.#options = options;
    this.#run = Math.floor(clock.now()).toString(36);
    this.#thread = startThread && new FileThread(startThread, io, options);
    this.#path = join(stateDirectory, `${copyNames[keys]}-postgresql.copy`);
    if (stateDirectory !== "") {
      this.#copy = new StateFile(io, this.#path, headMark, this.#run, copyMode);
      const message = "the copy of the metadata cannot be written to the state directory";
      this.#writes.push(this.#later("copy", copyDelayMs, message, () => this.#writeCopy()));
    }
    if (exportPath !== "") {
      const message = "the metadata cannot be exported to its file";
      this.#writes.push(this.#later("export", exportDelayMs, message, () => this.#export()));
    }
  }

  /** Reads the last copy as a state; returns undefined where there is no usable copy. */
  async read(): Promise<ReadCopy | undefined> {
    try {
      const copy = await this.#copy?.read();
      if (copy === undefined) return undefined;
      const { format, store, number, save, heardAt, entries, ...head } = JSON.parse(copy.head) as CopyHead;
      if (format !== 1 && format !== 2) throw new Error(`${this.#path} is a copy of another version`);
      const { scopes = [], lasts = { [this.#options.space ?? ""]: number } } = head;
      const [first = copy.bytes, ...rest] = partsOf(
        copy.bytes,
        scopes.map(({ text }) => text.name),
      );
      const index = await this.#load(first, entries, "");
      const states = new Map<string, UdmIndex>();
      for (const [i, { text, entries: count }] of scopes.entries()) {
        states.set(text.name, await this.#load(rest[i] ?? Buffer.of(), count, text.name));
      }
      const texts = scopes.map(({ text }) => text);
      return {
        index,
        position: { store, number, save },
        lasts: new Map(Object.entries(lasts)),
        texts,
        states,
        heardAt,
      };
    } catch (error) {
      this.#options.log.warn({ error, path: this.#path }, "the last copy of the metadata cannot be used");
      return undefined;
    } finally {
      await this.#thread?.stop();
    }
  }

  /** There is something to be written. */
  changed(): void {
    for (const write of this.#writes) write.changed();
  }

  /** Writes pending changes. */
  async stop(): Promise<void> {
    for (const write of this.#writes) await write.flush();
    await this.#thread?.stop();
  }

  async #writeCopy(): Promise<void> {
    const { index, position, lasts, scopes, heardAt } = this.#options.state();
    if (index === undefined || position === undefined) return;
    const { store, number, save } = position;
    const head: CopyHead = {
      format: 2,
      store,
      number,
      save,
      entries: index.size,
      heardAt,
      lasts: Object.fromEntries(lasts),
      scopes: scopes.map(({ text, index: { size } }) => ({ text, entries: size })),
    };
    const more = scopes.map(({ text, index: state }) => [scopeLine(text.name), state] as const);
    await this.#copy?.write(index, JSON.stringify(head), more);
  }

  async #load(bytes: Uint8Array, entries: number, scope: string): Promise<UdmIndex> {
    const { shared, keys } = this.#options;
    const { index } = await loadBytes(shared, this.#thread, threadBytes, bytes, undefined, false, keys);
    if (index.size === entries) return index;
    throw new Error(`${this.#path} has ${index.size} entries${scope && ` of scope ${scope}`}, not ${entries}`);
  }

  async #export(): Promise<void> {
    const { io, exportPath, state } = this.#options;
    const { index } = state();
    if (index === undefined) return;
    await new StateFile(io, await resolveTarget(io, exportPath), undefined, this.#run).write(index, "");
  }

  #later(step: FailureStep, delayMs: number, message: string, write: () => Promise<void>): LaterWrite {
    const { after, clock, report, log } = this.#options;
    const safe = (): Promise<void> =>
      write().catch((error: unknown) => {
        report.failed(step);
        log.error({ error }, message);
      });
    return new LaterWrite(safe, delayMs, after, () => clock.monotonic());
  }
}

/** The names of copies. One directory may have both. */
const copyNames: Readonly<Record<KeyForm, string>> = { addresses: "udm", names: "names" };

/** Splits a copy into the global entries and those of each scope. @throws Error where a part is missing. */
function partsOf(bytes: Uint8Array, scopes: readonly string[]): readonly Uint8Array[] {
  // Without scopes, the bytes go to a thread unchanged.
  if (scopes.length === 0) return [bytes];
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const parts: Uint8Array[] = [];
  let from = 0;
  for (const scope of scopes) {
    const at = text.indexOf(`${scopeLine(scope)}\n`, from);
    if (at < 0) throw new Error(`the entries of scope ${scope} are missing`);
    parts.push(bytes.slice(from, at));
    from = at;
  }
  return [...parts, bytes.slice(from)];
}
