import { join } from "node:path";
import { isMissing, makeFolder, replaceContent, type FileIo } from "../../base/file/index.ts";
import { limitLog, type Clock, type Component, type Log, type Reporting } from "../../base/report/index.ts";
import { quote } from "../../base/text/index.ts";
import { recordVocabulary } from "../../record/index.ts";
import { ExploreError, readQuery } from "../../explore/index.ts";
import {
  apiError,
  roles,
  suffices,
  type Board,
  type Role,
  type SavedView,
  type SavedViewOperations,
  type SavedViewsAnswer,
  type ViewChanges,
  type ViewsImported,
  type ViewUser,
} from "../../server/index.ts";

type Kind = "view" | "board";
type Item = SavedView | Board;
type Change = ViewChanges["changes"][number];
/** An item as people write it, with what was left out. */
type Draft =
  | Omit<SavedView, "revision" | "changedAt" | "changedBy">
  | Omit<Board, "revision" | "changedAt" | "changedBy">;

interface State {
  readonly view: ReadonlyMap<string, SavedView>;
  readonly board: ReadonlyMap<string, Board>;
  /** The newest first. */
  readonly changes: readonly Change[];
}

const version = 1;
const mostOfKind = 500;
const mostChanges = 300;
const mostViews = 12;
const longest = { id: 64, name: 100, description: 1000, filter: 4096, time: 40 } as const;
/** A question is judged without its time: any will do. */
const anyTime = 86_400_000;
const empty: State = { view: new Map(), board: new Map(), changes: [] };

/**
 * Views and boards that people share, with the record of who changed what. State and record are one file, replaced as a whole: one never says what
 * the other does not. A change counts when it is on the disk; one that cannot be written is refused and changes nothing.
 */
export class SavedViews implements Component, SavedViewOperations {
  readonly name = "saved views";
  readonly #path: string | undefined;
  readonly #io: FileIo;
  readonly #clock: Clock;
  readonly #log: Log;
  #state = empty;
  #failures = 0;
  /** Why nothing is written: the file there is not understood and could not be set aside. */
  #unread: string | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** @param directory of what outlives a restart; undefined: there is none. */
  constructor(directory: string | undefined, io: FileIo, { clock, log, metrics }: Omit<Reporting, "health">) {
    this.#path = directory === undefined ? undefined : join(directory, "views", "views.json");
    this.#io = io;
    this.#clock = clock;
    this.#log = limitLog(log, clock);
    metrics.gaugeFrom("netgloss_saved_views", "Views and boards that people share.", ["kind"], () => [
      [{ kind: "view" }, this.#state.view.size],
      [{ kind: "board" }, this.#state.board.size],
    ]);
    metrics.counterFrom(
      "netgloss_saved_view_failures_total",
      "Changes of views and boards that were refused because they could not be written, and files of them that could not be read.",
      [],
      () => this.#failures,
    );
  }

  async start(): Promise<void> {
    if (this.#path === undefined) return;
    try {
      this.#state = parse(Buffer.from(await this.#io.read(this.#path)).toString());
    } catch (error) {
      if (isMissing(error)) return;
      this.#failures++;
      await this.#setAside(this.#path, error as Error);
    }
  }

  async stop(): Promise<void> {
    await this.#last;
  }

  list({ role }: ViewUser): SavedViewsAnswer {
    const seen = <T extends Item>(items: ReadonlyMap<string, T>): readonly T[] =>
      [...items.values()].filter((item) => suffices(role, item.role)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return { kept: this.#path !== undefined, views: seen(this.#state.view), boards: seen(this.#state.board) };
  }

  changes({ role }: ViewUser): ViewChanges {
    const roleOf = (text: string | undefined): Role =>
      text === undefined ? "viewer" : (JSON.parse(text) as Item).role;
    const mayRead = ({ before, after }: Change): boolean =>
      suffices(role, roleOf(before)) && suffices(role, roleOf(after));
    return { changes: this.#state.changes.filter(mayRead) };
  }

  async save(body: unknown, who: ViewUser): Promise<Item> {
    return this.#inTurn(async () => {
      const { revision, ...given } = fieldsOf(body, "", ["view", "board", "revision"]);
      const kind: Kind = given["board"] === undefined ? "view" : "board";
      if (given["view"] !== undefined && kind === "board") throw wrong("board", "give a view or a board, not both");
      const draft = this.#read(kind, given[kind], kind, this.#state);
      // The role first: what one may not see has no revision to tell.
      const changed = this.#with(this.#state, kind, draft, who);
      this.#expect(kind, draft.id, revision);
      await this.#keep(changed);
      return changed[kind].get(draft.id) as Item;
    });
  }

  async remove(body: unknown, who: ViewUser): Promise<{ readonly deleted: string }> {
    return this.#inTurn(async () => {
      const { kind, id, revision } = fieldsOf(body, "", ["kind", "id", "revision"]);
      if (kind !== "view" && kind !== "board") throw wrong("kind", "kind must be view or board");
      const item = typeof id === "string" ? this.#state[kind].get(id) : undefined;
      if (item === undefined || !suffices(who.role, item.role))
        throw apiError("not_found", "UNKNOWN_VIEW", `there is no ${kind} ${quote(String(id))}`);
      this.#expect(kind, item.id, revision);
      const showing = [...this.#state.board.values()].filter(({ views }) => kind === "view" && views.includes(item.id));
      if (showing.length > 0) {
        const seen = showing.filter((board) => suffices(who.role, board.role)).map(({ name }) => quote(name));
        const names = seen.length > 0 ? `the board ${seen.join(", ")}` : "a board for another role";
        throw apiError("failed_precondition", "VIEW_IN_USE", `${quote(item.name)} is on ${names}: take it off first`);
      }
      const rest = new Map<string, Item>(this.#state[kind]);
      rest.delete(item.id);
      await this.#keep({ ...this.#state, [kind]: rest, changes: this.#noted(this.#state, kind, item, undefined, who) });
      return { deleted: item.id };
    });
  }

  async import(body: unknown, who: ViewUser): Promise<ViewsImported> {
    return this.#inTurn(async () => {
      const { views = [], boards = [], dryRun = false } = fieldsOf(body, "", ["views", "boards", "dryRun"]);
      if (typeof dryRun !== "boolean") throw wrong("dryRun", "dryRun must be true or false");
      const outcome = { created: [] as string[], changed: [] as string[], unchanged: [] as string[], dryRun };
      let state = this.#state;
      for (const [kind, name, list] of [["view", "views", views] as const, ["board", "boards", boards] as const]) {
        if (!Array.isArray(list) || list.length > mostOfKind)
          throw wrong(name, `${name} must be a list of at most ${mostOfKind}`);
        for (const [at, given] of list.entries()) {
          const draft = this.#read(kind, given, `${name}[${at}]`, state);
          const before = state[kind].get(draft.id);
          const isSame = before !== undefined && JSON.stringify({ ...before, ...draft }) === JSON.stringify(before);
          outcome[before === undefined ? "created" : isSame ? "unchanged" : "changed"].push(draft.id);
          if (!isSame) state = this.#with(state, kind, draft, who);
        }
      }
      if (!dryRun && state !== this.#state) await this.#keep(state);
      return outcome;
    });
  }

  /** One change after the other: each is made of what the one before left. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  #expect(kind: Kind, id: string, revision: unknown): void {
    if (revision === undefined) return;
    if (typeof revision !== "number" || !Number.isInteger(revision) || revision < 0)
      throw wrong("revision", "revision must be a whole number");
    const now = this.#state[kind].get(id)?.revision ?? 0;
    if (now === revision) return;
    const what =
      now === 0 ? "it is not there any more" : revision === 0 ? "there is one already" : "somebody else has changed it";
    throw apiError("failed_precondition", "VIEW_CHANGED", `${kind} ${quote(id)}: ${what}; revision ${now} is there`);
  }

  #with(state: State, kind: Kind, draft: Draft, who: ViewUser): State {
    const before = state[kind].get(draft.id);
    const needed = [before?.role ?? "viewer", draft.role].find((role) => !suffices(who.role, role));
    if (needed !== undefined)
      throw apiError(
        "permission_denied",
        "ROLE",
        `${kind} ${quote(draft.id)} is for the role ${needed}, ${quote(who.name)} has ${who.role}`,
      );
    if (before === undefined && state[kind].size >= mostOfKind)
      throw apiError("resource_exhausted", "TOO_MANY_VIEWS", `there are ${mostOfKind} ${kind}s already: delete some`);
    const changedAt = new Date(this.#clock.now()).toISOString();
    const after = { ...draft, revision: (before?.revision ?? 0) + 1, changedAt, changedBy: who.name } as Item;
    const items = new Map<string, Item>(state[kind]).set(draft.id, after);
    return { ...state, [kind]: items, changes: this.#noted(state, kind, before, after, who) };
  }

  #noted(
    state: State,
    kind: Kind,
    before: Item | undefined,
    after: Item | undefined,
    who: ViewUser,
  ): readonly Change[] {
    const change: Change = {
      number: (state.changes[0]?.number ?? 0) + 1,
      time: new Date(this.#clock.now()).toISOString(),
      user: who.name,
      kind,
      id: (after ?? before)?.id ?? "",
      action: before === undefined ? "created" : after === undefined ? "deleted" : "changed",
      ...(before !== undefined && { before: JSON.stringify(before) }),
      ...(after !== undefined && { after: JSON.stringify(after) }),
    };
    return [change, ...state.changes].slice(0, mostChanges);
  }

  async #keep(state: State): Promise<void> {
    if (this.#path !== undefined) {
      try {
        if (this.#unread !== undefined) throw new Error(this.#unread);
        await makeFolder(join(this.#path, ".."));
        await replaceContent(
          this.#io,
          { target: this.#path, temporary: `${this.#path}.tmp`, mode: 0o600 },
          Buffer.from(format(state)),
        );
      } catch (error) {
        this.#failures++;
        this.#log.warn({ error, path: this.#path }, "a change of saved views could not be written, and was refused");
        throw apiError(
          "unavailable",
          "NOT_SAVED",
          `it could not be written, and nothing has changed: ${(error as Error).message}`,
        );
      }
    }
    this.#state = state;
  }

  /** What cannot be understood is never overwritten. */
  async #setAside(path: string, error: Error): Promise<void> {
    const aside = `${path}.broken-${this.#clock.now()}`;
    try {
      if (!(error instanceof BrokenFile)) throw error;
      await this.#io.rename(path, aside);
      this.#log.warn({ error, aside }, "the saved views could not be read: the file was set aside, and none are known");
    } catch (failure) {
      this.#unread = `the file of saved views cannot be read: ${(failure as Error).message}`;
      this.#log.warn(
        { error, path },
        "the saved views could not be read: the file stays as it is, and none can be saved",
      );
    }
  }

  /** @param at where it stands in the body. @throws ConnectError */
  #read(kind: Kind, given: unknown, at: string, state: State): Draft {
    const common = ["id", "name", "description", "role", "from", "to", "filter"];
    const own = kind === "view" ? ["dimensions", "measure", "when", "limit", "compare", "show"] : ["views"];
    // What was read may be written again: that the collector says the rest itself is no fault.
    const fields = fieldsOf(given, at, [...common, ...own, "revision", "changedAt", "changedBy"]);
    const textOf = (name: string, otherwise: string, most: number): string =>
      readText(fields[name], `${at}.${name}`, otherwise, most);
    const name = textOf("name", "", longest.name).trim();
    if (name === "") throw wrong(`${at}.name`, `${kind}s need a name`);
    const id = textOf("id", freeId(name, state[kind]), longest.id);
    if (!/^[a-z0-9][a-z0-9-]*$/.test(id)) throw wrong(`${at}.id`, "an id has small letters, digits and hyphens");
    const role = fields["role"] ?? "viewer";
    if (!roles.includes(role as Role)) throw wrong(`${at}.role`, `role must be one of ${roles.join(", ")}`);
    const base = {
      id,
      name,
      description: textOf("description", "", longest.description),
      role: role as Role,
      from: textOf("from", "-1h", longest.time),
      to: textOf("to", "now", longest.time),
      filter: textOf("filter", "", longest.filter),
    };
    return kind === "view"
      ? { ...base, ...readAsked(fields, base.filter, at) }
      : { ...base, views: readViews(fields, at, state) };
  }
}

const isField = (name: unknown): boolean =>
  typeof name === "string" && recordVocabulary.find(name)?.fields.includes(name) === true;

type AskedPart = Pick<SavedView, "dimensions" | "measure" | "when" | "limit" | "compare" | "show">;

/** The question of a view; what Explore would refuse is refused here, too. */
function readAsked(fields: Readonly<Record<string, unknown>>, filter: string, at: string): AskedPart {
  const {
    dimensions = [],
    measure = "bits_per_second",
    when = "flowed",
    limit = 10,
    compare = false,
    show = "both",
  } = fields;
  if (typeof limit === "number" && limit > 100) throw wrong(`${at}.limit`, "limit must be at most 100");
  if (show !== "chart" && show !== "table" && show !== "both")
    throw wrong(`${at}.show`, "show must be chart, table or both");
  try {
    const unknown = Array.isArray(dimensions) ? dimensions.find((one) => !isField(one)) : undefined;
    if (unknown !== undefined) throw wrong(`${at}.dimensions`, `there is no field ${quote(String(unknown))}`);
    const query = readQuery({ filter, dimensions, measure, when, limit, compare }, anyTime);
    return {
      dimensions: query.dimensions,
      measure: query.measure,
      when: query.when,
      limit: query.limit,
      compare: query.compare,
      show,
    };
  } catch (error) {
    if (!(error instanceof ExploreError)) throw error;
    throw wrong(`${at}.${error.field ?? ""}`, error.message);
  }
}

function readViews(fields: Readonly<Record<string, unknown>>, at: string, state: State): readonly string[] {
  const { views = [] } = fields;
  const isList = Array.isArray(views) && views.every((id) => typeof id === "string");
  if (!isList || views.length > mostViews)
    throw wrong(`${at}.views`, `views must be a list of at most ${mostViews} ids of views`);
  const unknown = views.find((id) => !state.view.has(id));
  if (unknown !== undefined) throw wrong(`${at}.views`, `there is no view ${quote(unknown)}`);
  return views;
}

function readText(given: unknown, at: string, otherwise: string, most: number): string {
  if (given === undefined) return otherwise;
  if (typeof given !== "string" || given.length > most || /(?![\n\t])\p{Cc}/u.test(given))
    throw wrong(
      at,
      `${at.replace(/^.*\./, "")} must be a text of at most ${most} characters, without control characters`,
    );
  return given;
}

function fieldsOf(given: unknown, at: string, known: readonly string[]): Readonly<Record<string, unknown>> {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw wrong(at, `${at === "" ? "the body" : at} must be a JSON object`);
  const other = Object.keys(given).find((name) => !known.includes(name));
  if (other !== undefined)
    throw wrong(at === "" ? other : `${at}.${other}`, `there is no field ${quote(other)}: ${known.join(", ")}`);
  return given as Readonly<Record<string, unknown>>;
}

function wrong(field: string, description: string): Error {
  return apiError("invalid_argument", "INVALID_FIELD", description, { violations: [{ field, description }] });
}

/** An id made of a name that none has: `who-fills-it`, `who-fills-it-2`. */
function freeId(name: string, taken: ReadonlyMap<string, unknown>): string {
  const plain = name.normalize("NFKD").toLowerCase().replaceAll(/\p{M}/gu, "");
  const slug =
    plain
      .replaceAll(/[^a-z0-9]+/g, "-")
      .slice(0, longest.id - 4)
      .replaceAll(/^-+|-+$/g, "") || "view";
  for (let count = 1; ; count++) {
    const id = count === 1 ? slug : `${slug}-${count}`;
    if (!taken.has(id)) return id;
  }
}

class BrokenFile extends Error {}

function format({ view, board, changes }: State): string {
  return `${JSON.stringify({ version, views: [...view.values()], boards: [...board.values()], changes }, undefined, 1)}\n`;
}

/** Whether it is one as far as it is worked with here. An unknown role would be for everybody. */
function isItem(given: unknown, list: "dimensions" | "views"): boolean {
  const { id, name, role, revision, [list]: names } = (given ?? {}) as Record<string, unknown>;
  const areTexts = [id, name, ...(Array.isArray(names) ? names : [names])].every((one) => typeof one === "string");
  return areTexts && Array.isArray(names) && roles.includes(role as Role) && Number.isInteger(revision);
}

function isChange(given: unknown): boolean {
  const { number, before, after } = (given ?? {}) as Partial<Change>;
  return Number.isInteger(number) && [before, after].every((text) => text === undefined || hasRole(text));
}

function hasRole(text: string): boolean {
  try {
    return roles.includes((JSON.parse(text) as Item).role);
  } catch {
    return false;
  }
}

/** @throws BrokenFile */
function parse(text: string): State {
  let given: { readonly version?: number; views?: SavedView[]; boards?: Board[]; changes?: Change[] } | null;
  try {
    given = JSON.parse(text) as typeof given;
  } catch (error) {
    throw new BrokenFile((error as Error).message);
  }
  if (given?.version !== version) throw new BrokenFile(`it is no file of saved views of version ${version}`);
  const { views, boards, changes } = given;
  const areItems = (items: unknown, list: "dimensions" | "views"): boolean =>
    Array.isArray(items) && items.every((item) => isItem(item, list));
  if (
    !areItems(views, "dimensions") ||
    !areItems(boards, "views") ||
    !Array.isArray(changes) ||
    !changes.every(isChange)
  )
    throw new BrokenFile("it lacks views, boards or changes, or one of them its id, name, role or number");
  const byId = <T extends Item>(items: readonly T[] = []): ReadonlyMap<string, T> =>
    new Map(items.map((item) => [item.id, item]));
  return { view: byId(views), board: byId(boards), changes };
}
