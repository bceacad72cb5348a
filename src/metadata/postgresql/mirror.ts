import type { Sql } from "postgres";
import type { Session } from "../../base/postgresql/index.ts";
import type { SharedIndex } from "../index/shared-index.ts";
import { StateBuilder, type IndexReturn } from "../index/index-builder.ts";
import { yieldToEventLoop } from "../model/apply-writes.ts";
import type { UdmIndex, UdmEdit } from "../model/udm-store.ts";
import type { ScopeText } from "../model/scope.ts";
import { arrayLiteral, readRow, type PlacedScopeChange } from "./entry-rows.ts";
import {
  changeOf,
  readFirstChanges,
  readLastChanges,
  readState,
  type Position,
  commitsAfter,
  LogGapError,
  type DatabaseState,
  type FetchedCommit,
} from "./fetch-commits.ts";
import type { UdmChange } from "../history/change.ts";
import type { DatabaseScopes } from "./database-scopes.ts";
import type { PublishedState } from "../store/collector-store.ts";
import type { FullLoadReason, PostgresqlMetrics, DatabaseHealth } from "./database-reporting.ts";
import type { Clock, Log } from "../../base/report/index.ts";

/** The rows that are fetched at a time and processed in one turn of the event loop. */
const rowsAtOnce = 500;

/** The content of a snapshot of the database. */
interface LoadedEntries {
  readonly index: UdmIndex;
  readonly position: Position;
  readonly texts: readonly ScopeText[];
  readonly states: ReadonlyMap<string, UdmIndex>;
  readonly lasts: ReadonlyMap<string, number>;
}

/**
 * Reads all entries from one snapshot of the database. Nothing else may change the index meanwhile.
 *
 * @param space the name of the set of entries outside scopes.
 * @param before the current state, which is returned where it has the same entries.
 * @throws Error; UdmError `resource_exhausted`
 */
async function loadEntries(
  session: Session,
  shared: SharedIndex,
  space: string,
  hasScopes: boolean,
  before: UdmIndex | undefined,
): Promise<LoadedEntries> {
  const { sql } = session;
  await session.ask(() => sql.unsafe("begin isolation level repeatable read read only"));
  const { last } = await session.ask(() => readState(sql, 0));
  const { store, save = "" } = await session.ask(() => readState(sql, last));
  const position = { store, number: last, save };
  const lease = shared.lease(before);
  let built: IndexReturn | undefined;
  try {
    const builder = new StateBuilder(lease);
    for await (const part of readEntries(session, [space])) {
      for (const { key, entry, fileOnly } of part) builder.add(readRow(key, entry, fileOnly));
    }
    builder.sort();
    built = builder.finish();
  } catch (error) {
    shared.cancelLease(lease);
    throw error;
  }
  if (built === undefined) shared.cancelLease(lease);
  const index = built === undefined ? (before ?? shared.empty()) : shared.completeLease(lease, built);
  const texts = hasScopes ? await session.ask(readScopes) : [];
  const names = texts.map(({ name }) => name);
  const states = await loadScopes(session, shared, names);
  const lasts = await session.ask(() => readLastChanges(sql, [space, ...names]));
  await session.ask(() => sql.unsafe("commit"));
  return { index, position, texts, states, lasts };
}

interface EntryRow {
  readonly scope: string;
  readonly key: string;
  readonly entry: string;
  readonly fileOnly: string | null;
}

/** Yields the entries of scopes, scope by scope, some rows at a time. It lets the event loop run in between. */
async function* readEntries(session: Session, scopes: readonly string[]): AsyncGenerator<readonly EntryRow[]> {
  // The rows of a single scope come in the order of the index. Without a sort, the first rows do not wait for the last.
  const condition = scopes.length === 1 ? "scope = ($1::text::text[])[1]" : "scope = any($1::text::text[])";
  const query = `select scope, key, entry::text as entry, file_only::text as "fileOnly" from netgloss.udm_entry
    where ${condition} order by scope, key`;
  const rows = session.sql.unsafe<EntryRow[]>(query, [arrayLiteral(scopes)]).cursor(rowsAtOnce);
  const iterator = rows[Symbol.asyncIterator]();
  for (;;) {
    const part = await session.ask(() => iterator.next());
    if (part.done === true) return;
    yield part.value;
    await yieldToEventLoop();
  }
}

/** Builds the states of scopes, also of those without entries. @throws Error; UdmError `resource_exhausted` */
async function loadScopes(
  session: Session,
  shared: SharedIndex,
  names: readonly string[],
): Promise<Map<string, UdmIndex>> {
  const states = new Map(names.map((name) => [name, shared.empty()]));
  if (names.length === 0) return states;
  let of = "";
  let edit: UdmEdit | undefined;
  try {
    for await (const part of readEntries(session, names)) {
      for (const { scope, key, entry, fileOnly } of part) {
        if (scope !== of) {
          if (edit !== undefined) states.set(of, edit.done());
          edit = (states.get(scope) as UdmIndex).edit();
          of = scope;
        }
        edit?.put(readRow(key, entry, fileOnly));
      }
    }
    if (edit !== undefined) states.set(of, edit.done());
    return states;
  } catch (error) {
    edit?.drop();
    for (const index of states.values()) shared.release(index);
    throw error;
  }
}

async function readScopes(sql: Sql): Promise<readonly ScopeText[]> {
  const rows = await sql<{ definition: string }[]>`
    select definition::text as definition from netgloss.udm_scope order by place, name`;
  return rows.map(({ definition }) => JSON.parse(definition) as ScopeText);
}

/** Returns the scopes after a change of one scope. */
function changedScopes(
  scopes: readonly ScopeText[],
  { before, after, place }: PlacedScopeChange,
): readonly ScopeText[] {
  const rest = scopes.filter(({ name }) => name !== (after ?? before)?.name);
  const at = rest.findIndex(({ name }) => name === place);
  return after === undefined ? rest : rest.toSpliced(at < 0 ? rest.length : at, 0, after);
}

/** The error where the commits after a position cannot be applied one by one, so that all entries must be read. */
export class ReloadNeeded extends Error {
  override readonly name = "ReloadNeeded";
  readonly reason: FullLoadReason;

  constructor(reason: FullLoadReason) {
    super(`all entries must be read: ${reason}`);
    this.reason = reason;
  }
}

interface MirrorOptions {
  /** The name of its own set of entries in the database. The entries of scopes come in addition. */
  readonly space: string;
  readonly scopes: DatabaseScopes | undefined;
  /** The name of the database, for people. */
  readonly location: string;
  readonly shared: SharedIndex;
  readonly published: PublishedState;
  readonly state: DatabaseHealth;
  readonly report: PostgresqlMetrics;
  /** Is called with each applied commit, in order, but not with the commits before a full load. */
  readonly notify: (change: UdmChange) => void;
  /** Is called after each change of the entries or of the position. */
  readonly changed: () => void;
  /** Is called when all entries were read. */
  readonly loaded: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** The states and scopes after one or several commits. */
export interface MirroredStates {
  /** The states by scope, for the scopes whose entries have changed. */
  readonly states: ReadonlyMap<string, UdmIndex>;
  /** The scopes; undefined where they are unchanged. */
  readonly texts?: readonly ScopeText[] | undefined;
}

/** The number of entries that are applied in one turn of the event loop. */
const entriesPerYield = 200;

/** The entries of the database in memory, as of one commit. Calls that change it must not overlap. */
export class Mirror {
  readonly #options: MirrorOptions;
  #position: Position | undefined;
  #known = 0;
  /** The milliseconds by which the database's clock is ahead of the local clock. */
  #clockOffset = 0;
  #firstKept = 1;
  /** The number of the last change of each scope. */
  #lasts = new Map<string, number>();
  /** The number of the oldest kept change of each scope. */
  #firsts: ReadonlyMap<string, number> = new Map();

  constructor(options: MirrorOptions) {
    this.#options = options;
  }

  /** Returns the position; undefined before there is a state. */
  position(): Position | undefined {
    return this.#position;
  }

  /** Returns the number of the commit in memory; 0 before there is one. */
  number(): number {
    return this.#position?.number ?? 0;
  }

  /** Returns the number of known commits that are not applied here yet. */
  behind(): number {
    return Math.max(0, this.#known - this.number());
  }

  heard(number: number): void {
    this.#known = Math.max(this.#known, number);
  }

  /** Returns the number of the last change of a scope. */
  lastOf(scope: string): number {
    return this.#lasts.get(scope) ?? 0;
  }

  /** Returns the number of the oldest change of a scope in the log, as of the last answer. */
  firstOf(scope: string): number {
    return this.#firstKept === 1 ? 1 : (this.#firsts.get(scope) ?? this.lastOf(scope) + 1);
  }

  /** Returns the number of the last change of each scope in memory. */
  lasts(): ReadonlyMap<string, number> {
    return this.#lasts;
  }

  /** Returns the entries of a scope; undefined where memory does not have them. */
  index(scope: string): UdmIndex | undefined {
    const { space, published, scopes } = this.#options;
    return scope === space ? published.index() : scopes?.index(scope);
  }

  /** Returns the estimated time of the database's clock, in milliseconds since the Unix epoch. */
  now(): number {
    return this.#options.clock.now() + this.#clockOffset;
  }

  /** Shows states after commits, and records the last numbers of the commits. */
  take({ states, texts }: MirroredStates, now: Position, commits: readonly FetchedCommit[]): void {
    const { space, scopes, published, notify, changed } = this.#options;
    if (texts !== undefined) scopes?.define(texts, states);
    for (const [scope, index] of states) {
      if (scope === space) published.makeCurrent(index);
      else scopes?.show(scope, index);
    }
    this.#position = now;
    this.#known = Math.max(this.#known, now.number);
    for (const { scopeName, number } of commits)
      if (this.index(scopeName) !== undefined) this.#lasts.set(scopeName, number);
    if (texts !== undefined)
      for (const scope of this.#lasts.keys()) if (this.index(scope) === undefined) this.#lasts.delete(scope);
    for (const commit of commits) {
      if (commit.scopeName === space) notify(changeOf(commit));
      else scopes?.notify(commit.scopeName, changeOf(commit));
    }
    changed();
  }

  /** Replaces everything by the content at a position. */
  takeAll(now: Position, { texts, states, lasts }: Required<MirroredStates> & Pick<LoadedEntries, "lasts">): void {
    this.#lasts = new Map(lasts);
    this.take({ states, texts }, now, []);
  }

  /** Reads the present state of the database. */
  async ask(session: Session): Promise<DatabaseState> {
    const { clock, state } = this.#options;
    const asked = clock.now();
    const found = await session.ask((sql) => readState(sql, this.number()));
    this.#clockOffset = found.time - (asked + clock.now()) / 2;
    if (found.first !== this.#firstKept) this.#firsts = await session.ask(readFirstChanges);
    this.#firstKept = found.first;
    state.heard();
    return found;
  }

  /** Checks a state of the database. @throws ReloadNeeded where the database does not continue from the position of this mirror. */
  check(state: DatabaseState): void {
    this.#known = state.last;
    const { position: at } = this.#here();
    if (state.store !== at.store || state.last < at.number) throw new ReloadNeeded("set_back");
    if (state.save === at.save) return;
    throw new ReloadNeeded(at.number < state.first ? "pruned" : "set_back");
  }

  /** Applies the commits of others. @returns the commits. @throws ReloadNeeded, or an error of the session. */
  async catchUp(session: Session): Promise<readonly FetchedCommit[]> {
    const { position: from } = this.#here();
    const commits: FetchedCommit[] = [];
    try {
      const all = commitsAfter(session.sql, from.number);
      for (
        let next = await session.ask(() => all.next());
        next.done !== true;
        next = await session.ask(() => all.next())
      ) {
        commits.push(next.value);
      }
    } catch (error) {
      if (error instanceof LogGapError) throw new ReloadNeeded("pruned");
      throw error;
    }
    const last = commits.at(-1);
    if (last === undefined) return commits;
    const changed = await this.#apply(session, commits);
    this.take(changed, { store: from.store, number: last.at, save: last.save }, commits);
    return commits;
  }

  /** Builds the states after commits. The entries of a new scope are read in their present state, so that commits up to then change nothing more. */
  async #apply(session: Session, commits: readonly FetchedCommit[]): Promise<MirroredStates> {
    const { space, shared, scopes } = this.#options;
    const edits = commits.flatMap(({ scope, scopeName }) =>
      scope === undefined || scopeName !== space ? [] : [scope],
    );
    const texts = scopes === undefined || edits.length === 0 ? undefined : edits.reduce(changedScopes, scopes.texts());
    const states = new Map<string, UdmIndex>();
    try {
      for (const scope of new Set(commits.map(({ scopeName }) => scopeName))) {
        const ofScope = commits.filter(({ scopeName }) => scopeName === scope);
        const index = this.index(scope);
        const isGone = scope !== space && texts?.some(({ name }) => name === scope) === false;
        if (index === undefined || isGone) continue;
        const next = await applyCommits(index, ofScope);
        if (next !== index) states.set(scope, next);
      }
      const added = texts?.flatMap(({ name }) => (this.index(name) === undefined ? [name] : [])) ?? [];
      for (const [scope, index] of await this.loadScopes(session, added)) states.set(scope, index);
      return { states, texts };
    } catch (error) {
      for (const index of states.values()) shared.release(index);
      throw error;
    }
  }

  /** Reads the entries of scopes that are not in memory, and the numbers of their last changes. Nothing else may change the index meanwhile. */
  async loadScopes(session: Session, names: readonly string[]): Promise<ReadonlyMap<string, UdmIndex>> {
    if (names.length === 0) return new Map();
    const lasts = await session.ask((sql) => readLastChanges(sql, names));
    const states = await loadScopes(session, this.#options.shared, names);
    for (const [scope, number] of lasts) this.#lasts.set(scope, number);
    return states;
  }

  /** Applies the commits of others, with a full reload if needed. It must run alone and outside of transactions. */
  async follow(session: Session): Promise<void> {
    const { report, log } = this.#options;
    try {
      const commits = await this.catchUp(session);
      report.followed(commits.length);
      for (const { at, author, method, collector, entries } of commits) {
        log.debug({ change: at, author, method, collector, entries }, "another collector has changed metadata");
      }
    } catch (error) {
      if (!(error instanceof ReloadNeeded)) throw error;
      await this.reload(session, error);
    }
  }

  /** Reads all entries again. */
  async reload(session: Session, { reason }: ReloadNeeded): Promise<void> {
    const { location, shared, space, scopes, published, report, loaded, log } = this.#options;
    const warning = reloadWarnings[reason];
    if (warning !== undefined) log.warn({ database: location }, `${warning}; reading everything again`);
    try {
      const found = await loadEntries(session, shared, space, scopes !== undefined, published.index());
      const { index, position } = found;
      report.fullLoad(reason);
      this.#known = position.number;
      this.takeAll(position, { ...found, states: new Map([[space, index], ...found.states]) });
    } catch (error) {
      report.failed("load");
      throw error;
    }
    loaded();
  }

  #here(): { position: Position } {
    if (this.#options.published.index() === undefined || this.#position === undefined) throw new ReloadNeeded("first");
    return { position: this.#position };
  }
}

const reloadWarnings: Readonly<Partial<Record<FullLoadReason, string>>> = {
  set_back: "the database lacks commits that were seen here: it is another database or was set back",
  changed_by_hand: "entries of the database were changed by hand, without a commit number",
};

/** Applies commits to a state. @returns the new state, or the same one where no entry has changed. @throws ReloadNeeded */
async function applyCommits(index: UdmIndex, commits: readonly FetchedCommit[]): Promise<UdmIndex> {
  const edit = index.edit();
  let puts = 0;
  try {
    for (const commit of commits) puts += await apply(edit, commit);
  } catch (error) {
    edit.drop();
    throw error;
  }
  if (puts > 0) return edit.done();
  edit.drop();
  return index;
}

/** Applies one commit. @returns the number of changed entries. */
async function apply(edit: UdmEdit, { layer, isCut, changes }: FetchedCommit): Promise<number> {
  // The entries of another collector's source are in the layers of that collector.
  if (layer !== undefined) return 0;
  if (isCut) throw new ReloadNeeded("big_commit");
  for (const [i, { before, after }] of changes.entries()) {
    if (i % entriesPerYield === entriesPerYield - 1) await yieldToEventLoop();
    if (after !== undefined) edit.put(after);
    else if (before !== undefined) edit.delete(before.key);
  }
  return changes.length;
}
