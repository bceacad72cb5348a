import type { Clock, Metrics } from "../../base/report/index.ts";
import { quote } from "../../base/text/index.ts";
import {
  apiError,
  savedKinds,
  suffices,
  type Role,
  type SavedKind,
  type SavedViewOperations,
  type SavedViewsAnswer,
  type ViewChanges,
  type ViewsImported,
  type ViewUser,
} from "../../server/index.ts";
import { NotKept, type KeptState } from "./kept-state.ts";
import {
  fieldsOf,
  listOf,
  mostOf,
  readItem,
  wrong,
  type Change,
  type Draft,
  type Item,
  type SavedState,
} from "./saved-items.ts";

const mostChanges = 300;
/** The kinds that are exported and imported; each needs only those before it. */
const importedKinds = ["view", "board", "report"] as const;

/** Returns names of the actions that take reports. */
export type ReportActions = () => Promise<readonly string[]>;

/**
 * Shared views, boards, reports and marks, with the record of who changed what. State and record are replaced together, so they
 * always agree. A change is valid once it is written; one that cannot be written is refused and changes nothing.
 */
export class SavedViews implements SavedViewOperations {
  readonly #kept: KeptState<SavedState>;
  readonly #actions: ReportActions;
  readonly #clock: Clock;

  constructor(
    kept: KeptState<SavedState>,
    actions: ReportActions,
    { clock, metrics }: { readonly clock: Clock; readonly metrics: Metrics },
  ) {
    this.#kept = kept;
    this.#actions = actions;
    this.#clock = clock;
    metrics.gaugeFrom("netgloss_saved_views", "Views, boards, reports and marks that people share.", ["kind"], () =>
      savedKinds.map((kind) => [{ kind }, kept.now()[kind].size]),
    );
    metrics.counterFrom(
      "netgloss_saved_view_failures_total",
      "Changes of views, boards, reports and marks that were refused because they could not be written, and files of them that could not be read.",
      [],
      () => kept.failures,
    );
  }

  /** Returns all saved items. */
  now(): SavedState {
    return this.#kept.now();
  }

  list({ role }: ViewUser): SavedViewsAnswer {
    const state = this.now();
    const seen = <T extends Item>(items: ReadonlyMap<string, T>): readonly T[] =>
      [...items.values()].filter((item) => suffices(role, item.role)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return {
      kept: this.#kept.isKept,
      problem: this.#kept.problem(),
      views: seen(state.view),
      boards: seen(state.board),
      reports: seen(state.report),
    };
  }

  changes({ role }: ViewUser): ViewChanges {
    const roleOf = (text: string | undefined): Role =>
      text === undefined ? "viewer" : (JSON.parse(text) as Item).role;
    const mayRead = ({ before, after }: Change): boolean =>
      suffices(role, roleOf(before)) && suffices(role, roleOf(after));
    return { changes: this.now().changes.filter(mayRead) };
  }

  async save(body: unknown, who: ViewUser): Promise<Item> {
    const { revision, ...given } = fieldsOf(body, "", [...savedKinds, "revision"]);
    const [kind = "view", ...more] = savedKinds.filter((each) => given[each] !== undefined);
    if (more.length > 0) throw wrong(more[0] as SavedKind, `give one of ${savedKinds.join(", ")}, not both`);
    const actions = kind === "report" ? await this.#actions() : [];
    let id = "";
    const state = await this.#change((before) => {
      const draft = readItem(kind, given[kind], kind, besideOf(before, who, actions));
      ({ id } = draft);
      // Check the role first: an item must not reveal its revision to those who may not see it.
      const changed = this.#with(before, kind, draft, who);
      expectRevision(before, kind, id, revision);
      return changed;
    });
    return state[kind].get(id) as Item;
  }

  async remove(body: unknown, who: ViewUser): Promise<{ readonly deleted: string }> {
    const { kind: given, id, revision } = fieldsOf(body, "", ["kind", "id", "revision"]);
    const kind = savedKinds.find((each) => each === given);
    if (kind === undefined) throw wrong("kind", `kind must be one of ${savedKinds.join(", ")}`);
    await this.#change((state) => {
      const item = typeof id === "string" ? state[kind].get(id) : undefined;
      if (item === undefined || !suffices(who.role, item.role))
        throw apiError("not_found", "UNKNOWN_VIEW", `there is no ${kind} ${quote(String(id))}`);
      expectRevision(state, kind, item.id, revision);
      refuseUsed(state, kind, item, who);
      const rest = new Map<string, Item>(state[kind]);
      rest.delete(item.id);
      return { ...state, [kind]: rest, changes: this.#noted(state, kind, item, undefined, who) };
    });
    return { deleted: String(id) };
  }

  async import(body: unknown, who: ViewUser): Promise<ViewsImported> {
    const { dryRun = false, ...lists } = fieldsOf(body, "", [...importedKinds.map((kind) => listOf[kind]), "dryRun"]);
    if (typeof dryRun !== "boolean") throw wrong("dryRun", "dryRun must be true or false");
    const actions = lists["reports"] === undefined ? [] : await this.#actions();
    let outcome = { created: [] as string[], changed: [] as string[], unchanged: [] as string[], dryRun };
    await this.#change((before) => {
      outcome = { created: [], changed: [], unchanged: [], dryRun };
      let state = before;
      for (const kind of importedKinds) {
        const name = listOf[kind];
        const given = lists[name] ?? [];
        if (!Array.isArray(given) || given.length > mostOf[kind])
          throw wrong(name, `${name} must be a list of at most ${mostOf[kind]}`);
        for (const [at, one] of given.entries()) {
          const draft = readItem(kind, one, `${name}[${at}]`, besideOf(state, who, actions));
          const old = state[kind].get(draft.id);
          const isSame = old !== undefined && JSON.stringify({ ...old, ...draft }) === JSON.stringify(old);
          outcome[old === undefined ? "created" : isSame ? "unchanged" : "changed"].push(draft.id);
          if (!isSame) state = this.#with(state, kind, draft, who);
        }
      }
      return dryRun ? before : state;
    });
    return outcome;
  }

  /** Changes the state. @throws ConnectError, also where the change cannot be written. */
  async #change(work: (state: SavedState) => SavedState): Promise<SavedState> {
    // Refusals are checked by then; any other error means that the change cannot be written.
    let refusal: unknown;
    try {
      return await this.#kept.change((state) => {
        refusal = undefined;
        try {
          return work(state);
        } catch (error) {
          refusal = error;
          throw error;
        }
      });
    } catch (error) {
      if (refusal !== undefined) throw refusal;
      const what =
        error instanceof NotKept && error.isUnsure
          ? "the answer of the database was lost, look whether it has changed"
          : "it could not be written, and nothing has changed";
      throw apiError("unavailable", "NOT_SAVED", `${what}: ${(error as Error).message}`);
    }
  }

  #with(state: SavedState, kind: SavedKind, draft: Draft, who: ViewUser): SavedState {
    const before = state[kind].get(draft.id);
    const needed = [before?.role ?? "viewer", draft.role].find((role) => !suffices(who.role, role));
    if (needed !== undefined)
      throw apiError(
        "permission_denied",
        "ROLE",
        `${kind} ${quote(draft.id)} is for the role ${needed}, ${quote(who.name)} has ${who.role}`,
      );
    const most = mostOf[kind];
    if (before === undefined && state[kind].size >= most)
      throw apiError("resource_exhausted", "TOO_MANY_VIEWS", `there are ${most} ${kind}s already: delete some`);
    const changedAt = new Date(this.#clock.now()).toISOString();
    const after = { ...draft, revision: (before?.revision ?? 0) + 1, changedAt, changedBy: who.name } as Item;
    const items = new Map<string, Item>(state[kind]).set(draft.id, after);
    return { ...state, [kind]: items, changes: this.#noted(state, kind, before, after, who) };
  }

  #noted(
    state: SavedState,
    kind: SavedKind,
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
}

const besideOf = (state: SavedState, { role }: ViewUser, actions: readonly string[]) => ({
  state,
  mayUse: (needed: Role) => suffices(role, needed),
  actions,
});

function expectRevision(state: SavedState, kind: SavedKind, id: string, revision: unknown): void {
  if (revision === undefined) return;
  if (typeof revision !== "number" || !Number.isInteger(revision) || revision < 0)
    throw wrong("revision", "revision must be a whole number");
  const now = state[kind].get(id)?.revision ?? 0;
  if (now === revision) return;
  const what =
    now === 0 ? "it is not there any more" : revision === 0 ? "there is one already" : "somebody else has changed it";
  throw apiError("failed_precondition", "VIEW_CHANGED", `${kind} ${quote(id)}: ${what}; revision ${now} is there`);
}

/** Refuses to delete a view that a board shows, or a board that a report sends. */
function refuseUsed(state: SavedState, kind: SavedKind, item: Item, who: ViewUser): void {
  const boards = [...state.board.values()].filter(({ views }) => kind === "view" && views.includes(item.id));
  const reports = [...state.report.values()].filter(({ board }) => kind === "board" && board === item.id);
  const using = [...boards, ...reports];
  if (using.length === 0) return;
  const seen = using.filter((one) => suffices(who.role, one.role)).map(({ name }) => quote(name));
  const what = kind === "view" ? "board" : "report";
  const names = seen.length > 0 ? `the ${what} ${seen.join(", ")}` : `a ${what} for another role`;
  const message =
    kind === "view" ? `is on ${names}: take it off first` : `is sent by ${names}: delete that, or have it send another`;
  throw apiError("failed_precondition", "VIEW_IN_USE", `${quote(item.name)} ${message}`);
}
