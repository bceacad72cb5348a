import { nearName, quote } from "../../base/text/index.ts";
import { recordVocabulary } from "../../record/index.ts";
import { ExploreError, readQuery } from "../../explore/index.ts";
import {
  apiError,
  roles,
  chartShapes,
  savedKinds,
  type Board,
  type Mark,
  type Report,
  type Role,
  type SavedKind,
  type SavedView,
  type ViewChanges,
} from "../../server/index.ts";
import { periodWords, readPeriod, readSchedule, scheduleWords, ZoneClock } from "../reports/schedule.ts";
import { BrokenState, type StateForm } from "./kept-state.ts";

/** The item of each kind. */
export interface ItemOf {
  readonly view: SavedView;
  readonly board: Board;
  readonly report: Report;
  readonly mark: Mark;
}
export type Item = ItemOf[SavedKind];
export type Change = ViewChanges["changes"][number];
type Written<T> = Omit<T, "revision" | "changedAt" | "changedBy">;
/** An item as a user writes it, with defaults filled in. */
export type Draft = { [Kind in SavedKind]: Written<ItemOf[Kind]> }[SavedKind];

/** All saved items. */
export type SavedState = { readonly [Kind in SavedKind]: ReadonlyMap<string, ItemOf[Kind]> } & {
  /** The changes, the newest first. */
  readonly changes: readonly Change[];
};

/** The most items of each kind. */
export const mostOf: Readonly<Record<SavedKind, number>> = { view: 500, board: 500, report: 200, mark: 2000 };
const mostViews = 12;
const mostActions = 8;
const longest = { id: 64, name: 100, description: 1000, filter: 4096, time: 40, schedule: 200, zone: 64 } as const;
/** A time range for checking a question: any will do. */
const anyTime = 86_400_000;

type Fields = Readonly<Record<string, unknown>>;

const common = ["id", "name", "description", "role"];
/** The fields of each kind in addition to the common ones. */
const ownFields: Readonly<Record<SavedKind, readonly string[]>> = {
  view: [
    "from",
    "to",
    "filter",
    "dimensions",
    "measure",
    "when",
    "limit",
    "compare",
    "show",
    "shape",
    "bothWays",
    "peaks",
  ],
  board: ["from", "to", "filter", "views"],
  report: ["board", "schedule", "zone", "period", "actions", "paused"],
  mark: ["time", "until"],
};

/** The context in which an item is read. */
interface Beside {
  readonly state: SavedState;
  /** Reports whether the writer's role may use an item of this role: others do not exist for it. */
  readonly mayUse: (role: Role) => boolean;
  /** Names of actions that take reports. */
  readonly actions: readonly string[];
}

/** Reads an item as a user writes it. @param at its place in the body. @throws ConnectError */
export function readItem(kind: SavedKind, given: unknown, at: string, beside: Beside): Draft {
  // Accept fields that the collector sets itself, so an item that was read can be written again.
  const known = [...common, ...ownFields[kind], "revision", "changedAt", "changedBy"];
  const fields = fieldsOf(given, at, known);
  const textOf: TextOf = (name, otherwise, most) => readText(fields[name], `${at}.${name}`, otherwise, most);
  const name = textOf("name", "", longest.name).trim();
  if (name === "") throw wrong(`${at}.name`, `${kind}s need a name`);
  const id = textOf("id", freeId(name, beside.state[kind]), longest.id);
  if (!/^[a-z0-9][a-z0-9-]*$/.test(id)) throw wrong(`${at}.id`, "an id has small letters, digits and hyphens");
  const role = fields["role"] ?? "viewer";
  if (!roles.includes(role as Role)) throw wrong(`${at}.role`, `role must be one of ${roles.join(", ")}`);
  const base = { id, name, description: textOf("description", "", longest.description), role: role as Role };
  if (kind === "report") return { ...base, ...readSending(fields, textOf, at, beside) };
  if (kind === "mark") return { ...base, ...readMarked(textOf, at) };
  const range = {
    from: textOf("from", "-1h", longest.time),
    to: textOf("to", "now", longest.time),
    filter: textOf("filter", "", longest.filter),
  };
  return kind === "view"
    ? { ...base, ...range, ...readAsked(fields, range.filter, at), ...readLook(fields, at) }
    : { ...base, ...range, views: readViews(fields, at, beside.state) };
}

type TextOf = (name: string, otherwise: string, most: number) => string;

function readSending(
  fields: Fields,
  textOf: TextOf,
  at: string,
  { state, mayUse, actions: known }: Beside,
): Pick<Report, "board" | "schedule" | "zone" | "period" | "actions" | "paused"> {
  const board = textOf("board", "", longest.id);
  const found = state.board.get(board);
  if (found === undefined || !mayUse(found.role)) throw wrong(`${at}.board`, `there is no board ${quote(board)}`);
  const schedule = textOf("schedule", "", longest.schedule);
  if (readSchedule(schedule) === undefined) throw wrong(`${at}.schedule`, scheduleWords);
  const period = textOf("period", "day", longest.time);
  if (readPeriod(period) === undefined) throw wrong(`${at}.period`, periodWords);
  const zone = textOf("zone", "UTC", longest.zone);
  try {
    ZoneClock.of(zone);
  } catch {
    throw wrong(`${at}.zone`, "expected the name of a time zone such as Europe/Berlin");
  }
  const { actions = [], paused = false } = fields;
  const isList = Array.isArray(actions) && actions.every((one) => typeof one === "string");
  if (!isList || actions.length === 0 || actions.length > mostActions)
    throw wrong(`${at}.actions`, `actions must be a list of one to ${mostActions} names`);
  const unknown = actions.find((one) => !known.includes(one));
  const near = unknown === undefined ? undefined : nearName(unknown, known);
  if (unknown !== undefined)
    throw wrong(
      `${at}.actions`,
      `no action ${quote(unknown)} of the file of rules (SVC_WATCH_RULES_PATH) is mail or a webhook${near === undefined ? "" : `; did you mean ${quote(near)}?`}`,
    );
  if (typeof paused !== "boolean") throw wrong(`${at}.paused`, "paused must be true or false");
  return { board, schedule, zone, period, actions: [...new Set<string>(actions)], paused };
}

function readMarked(textOf: TextOf, at: string): Pick<Mark, "time" | "until"> {
  const instantOf = (name: string): string => {
    const text = textOf(name, "", longest.time);
    if (text === "") return "";
    const parsed = instantForm.test(text) ? Date.parse(text) : Number.NaN;
    if (!(parsed >= 0 && parsed < latest)) throw wrong(`${at}.${name}`, `${name} must be RFC 3339, from 1970 to 2200`);
    return new Date(parsed).toISOString();
  };
  const [time, until] = [instantOf("time"), instantOf("until")];
  if (time === "") throw wrong(`${at}.time`, "marks need a time");
  if (until !== "" && until < time) throw wrong(`${at}.until`, "until must not be before time");
  return { time, until };
}

const latest = Date.UTC(2200, 0, 1);
/** Matches a time with an offset; without one it would depend on the collector's time zone. */
const instantForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/i;

const isField = (name: unknown): boolean =>
  typeof name === "string" && recordVocabulary.find(name)?.fields.includes(name) === true;

type AskedPart = Pick<SavedView, "dimensions" | "measure" | "when" | "limit" | "compare" | "show">;

/** Reads the question of a view; it refuses what Explore would refuse. */
function readAsked(fields: Fields, filter: string, at: string): AskedPart {
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

type Look = Pick<SavedView, "shape" | "bothWays" | "peaks">;

/** The default look of a view, as all had before they could choose it. */
const usualLook: Look = { shape: "stacked", bothWays: false, peaks: false };

function readLook(fields: Fields, at: string): Look {
  const { shape, bothWays, peaks } = { ...usualLook, ...fields };
  if (!chartShapes.includes(shape)) throw wrong(`${at}.shape`, `shape must be one of ${chartShapes.join(", ")}`);
  for (const [name, flag] of Object.entries({ bothWays, peaks }))
    if (typeof flag !== "boolean") throw wrong(`${at}.${name}`, `${name} must be true or false`);
  return { shape, bothWays, peaks };
}

function readViews(fields: Fields, at: string, state: SavedState): readonly string[] {
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

export function fieldsOf(given: unknown, at: string, known: readonly string[]): Fields {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw wrong(at, `${at === "" ? "the body" : at} must be a JSON object`);
  const other = Object.keys(given).find((name) => !known.includes(name));
  if (other !== undefined)
    throw wrong(at === "" ? other : `${at}.${other}`, `there is no field ${quote(other)}: ${known.join(", ")}`);
  return given as Fields;
}

export function wrong(field: string, description: string): Error {
  return apiError("invalid_argument", "INVALID_FIELD", description, { violations: [{ field, description }] });
}

/** Returns an unused id made from a name: `who-fills-it`, `who-fills-it-2`. */
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

const version = 1;

/** The name of each kind's list, in bodies and in the file. */
export const listOf = { view: "views", board: "boards", report: "reports", mark: "marks" } as const;

const emptyState: SavedState = {
  view: new Map(),
  board: new Map(),
  report: new Map(),
  mark: new Map(),
  changes: [],
};

/** The text form of all saved items. */
export const savedForm: StateForm<SavedState> = {
  empty: emptyState,
  format({ changes, ...items }) {
    const lists = savedKinds.map((kind) => [listOf[kind], [...items[kind].values()]]);
    return `${JSON.stringify({ version, ...Object.fromEntries(lists), changes }, undefined, 1)}\n`;
  },
  parse(text) {
    let given: { readonly version?: number; readonly changes?: unknown } & Fields;
    try {
      given = (JSON.parse(text) ?? {}) as typeof given;
    } catch (error) {
      throw new BrokenState((error as Error).message);
    }
    if (given.version !== version) throw new BrokenState(`it is no file of saved views of version ${version}`);
    const { changes } = given;
    const lists = savedKinds.map((kind) => {
      // Older files have no reports and marks.
      const items = given[listOf[kind]] ?? (kind === "report" || kind === "mark" ? [] : undefined);
      if (!Array.isArray(items) || !items.every((item) => isItem(item, kind)))
        throw new BrokenState(`it lacks ${listOf[kind]}, or one of them its id, name, role or number`);
      return [kind, new Map((items as Item[]).map((item) => [item.id, wholeItem(kind, item)]))] as const;
    });
    if (!Array.isArray(changes) || !changes.every(isChange)) throw new BrokenState("it lacks changes");
    return { ...emptyState, ...Object.fromEntries(lists), changes };
  },
};

const wholeItem = (kind: SavedKind, item: Item): Item => (kind === "view" ? { ...usualLook, ...item } : item);

/** The fields of each kind that must be lists of texts here. */
const workedWith: Readonly<Record<SavedKind, readonly string[]>> = {
  view: ["dimensions"],
  board: ["views"],
  report: ["board", "schedule", "zone", "period", "actions"],
  mark: ["time", "until"],
};

/** Reports whether a value is an item, as far as this code uses it. An unknown role would admit everybody. */
function isItem(given: unknown, kind: SavedKind): boolean {
  const fields = (given ?? {}) as Fields;
  const isWhole = (name: string): boolean => {
    const value = fields[name];
    const isList = name === "dimensions" || name === "views" || name === "actions";
    return isList ? Array.isArray(value) && value.every((one) => typeof one === "string") : typeof value === "string";
  };
  const { role, revision } = fields;
  return (
    ["id", "name", ...workedWith[kind]].every(isWhole) && roles.includes(role as Role) && Number.isInteger(revision)
  );
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
