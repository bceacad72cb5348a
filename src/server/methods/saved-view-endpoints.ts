import { roles, type Role } from "../access/role.ts";
import { sendJson, type Call } from "../http/call.ts";
import type { BodyReader } from "../http/request-body.ts";
import { decodeJson, plainJson } from "../json/decode-request.ts";
import { allowed, describe, jsonBody, jsonResponse, operation, page, refusals, type Endpoint } from "./endpoint.ts";
import { exploreMeasures } from "./explore-shapes.ts";
import { choice, flag, integer, list, object, text, time, type JsonSchema, type Value } from "./shape.ts";

const path = "/api/v1/views";

/** The kinds of saved objects: views, boards, reports of boards, marks on charts. */
export const savedKinds = ["view", "board", "report", "mark"] as const;
export type SavedKind = (typeof savedKinds)[number];

/** The shapes of charts of values over time. */
export const chartShapes = ["stacked", "lines", "share", "grid"] as const;

/** The fields that people set on every saved object. */
const common = {
  id: text("Stands in addresses. Left out: made of the name.", "who-fills-the-uplink"),
  name: text("For people.", "Who fills the uplink"),
  description: text(),
  role: choice(roles, "The least role that sees it; who changes it needs it, and editor."),
};
/** The fields that the collector sets. */
const kept = {
  revision: integer("Counts its changes, from 1."),
  changedAt: time(),
  changedBy: text("Empty where nobody has to prove who it is."),
};
const range = {
  from: text("RFC 3339, a time span before now, or a word of the pages.", "-1h", "yesterday"),
  to: text("The same, or now."),
  filter: text("An expression over the fields of records.", "dst.tag = pci"),
};
const asked = {
  ...range,
  dimensions: list(text(), "Fields by which flows are grouped, four at most."),
  measure: choice(exploreMeasures),
  when: choice(["flowed", "received"]),
  limit: integer("1 to 100."),
  compare: flag("Also the range before."),
  show: choice(["chart", "table", "both"], "What a board shows of it."),
  shape: choice(chartShapes, "How values over time are drawn."),
  bothWays: flag("Also the flows of the other way, below zero."),
  peaks: flag("Also the 95th percentile and the maximum."),
};
const shown = { ...range, views: list(text(), "Ids of views in their order, twelve at most.") };
const sent = {
  board: text("The id of the board that is sent."),
  schedule: text(
    "When it is sent, by the clock of `zone`.",
    "daily 07:00",
    "mon-fri 07:00,19:00",
    "monthly last 18:00",
  ),
  zone: text("A time zone.", "Europe/Berlin"),
  period: text("What it is about: the hour, day, week or month before, or a span up to when it is due.", "day", "24h"),
  actions: list(
    text(),
    "Who gets it: names of actions of the file of rules that are mail or a webhook, eight at most.",
  ),
  paused: flag("True: it is sent by hand alone."),
};
const marked = {
  time: time("When it was."),
  until: text("Where it went on: until when, RFC 3339; else empty.", "2026-11-27T18:00:00Z"),
};
const savedView = object({ ...common, ...asked, ...kept });
const board = object({ ...common, ...shown, ...kept });
const report = object({ ...common, ...sent, ...kept });
const mark = object({ ...common, ...marked, ...kept });

const views = object(
  {
    kept: flag("False: there is no state directory, and a restart forgets them."),
    problem: text("Why they may be those of before, and cannot be changed now; absent: nothing is wrong."),
    views: list(savedView, "By name."),
    boards: list(
      board,
      "By name. Time and filter of a board count for all of its views; its filter is added to theirs.",
    ),
    reports: list(report, "By name."),
  },
  "problem",
);
const changes = object({
  changes: list(
    object(
      {
        number: integer("From 1."),
        time: time(),
        user: text("Empty where nobody has to prove who it is."),
        kind: choice(savedKinds),
        id: text(),
        action: choice(["created", "changed", "deleted"]),
        before: text("As JSON; absent: it was not there."),
        after: text("As JSON; absent: it is not there any more."),
      },
      "before",
      "after",
    ),
    "The newest first; the last 300 are kept.",
  ),
});
const imported = object({
  created: list(text(), "Ids."),
  changed: list(text(), "Ids."),
  unchanged: list(text(), "Ids."),
  dryRun: flag("True: nothing was kept."),
});

export type SavedView = Value<typeof savedView>;
export type Board = Value<typeof board>;
export type Report = Value<typeof report>;
export type Mark = Value<typeof mark>;
export type SavedViewsAnswer = Value<typeof views>;
export type ViewChanges = Value<typeof changes>;
export type ViewsImported = Value<typeof imported>;

/** The answers, from which the types of the pages are generated. */
export const savedViewAnswers = {
  savedViews: { call: `GET ${path}`, answer: views },
  viewChanges: { call: `GET ${path}/changes`, answer: changes },
} as const;

/** The caller. */
export interface ViewUser {
  /** The name; empty where no authentication is needed. */
  readonly name: string;
  readonly role: Role;
}

/** The operations on saved objects. Errors are ConnectErrors with the name of the faulty field. */
export interface SavedViewOperations {
  list(who: ViewUser): SavedViewsAnswer;
  changes(who: ViewUser): ViewChanges;
  save(body: unknown, who: ViewUser): Promise<SavedView | Board | Report | Mark>;
  remove(body: unknown, who: ViewUser): Promise<{ readonly deleted: string }>;
  import(body: unknown, who: ViewUser): Promise<ViewsImported>;
}

const given = (
  properties: Readonly<Record<string, { readonly schema: JsonSchema }>>,
  ...needed: readonly string[]
): JsonSchema => ({
  type: "object",
  additionalProperties: false,
  required: ["name", ...needed],
  properties: Object.fromEntries(Object.entries(properties).map(([name, { schema }]) => [name, schema])),
});
const revision: JsonSchema = {
  type: "integer",
  description:
    "The revision that was seen; another one now is refused. 0: it must be new. Left out: whatever is there.",
};
const one = {
  view: given({ ...common, ...asked }),
  board: given({ ...common, ...shown }),
  report: given({ ...common, ...sent }, "board", "schedule", "actions"),
  mark: given({ ...common, ...marked }, "time"),
};
const bodies = {
  save: { type: "object", additionalProperties: false, properties: { ...one, revision } },
  delete: {
    type: "object",
    additionalProperties: false,
    required: ["kind", "id"],
    properties: { kind: { enum: savedKinds }, id: { type: "string" }, revision },
  },
  import: {
    type: "object",
    additionalProperties: false,
    properties: {
      views: { type: "array", items: one.view },
      boards: { type: "array", items: one.board },
      reports: { type: "array", items: one.report },
      dryRun: { type: "boolean", default: false },
    },
  },
} as const;

/** Returns the rows of saved objects. */
export function savedViewEndpoints(work: SavedViewOperations, reader: BodyReader): readonly Endpoint[] {
  const tag = "collector";
  const get = (
    at: string,
    id: string,
    summary: string,
    schema: JsonSchema,
    answer: (who: ViewUser) => unknown,
  ): Endpoint =>
    page(
      at,
      allowed("viewer", "flow"),
      (call) => sendJson(call, 200, answer(whoOf(call)), { "cache-control": "no-store" }),
      describe(tag, id, summary, { "200": jsonResponse("The answer.", schema), ...refusals }),
    );
  const post = (
    verb: keyof typeof bodies,
    id: string,
    summary: string,
    schema: JsonSchema,
    run: (body: unknown, who: ViewUser) => Promise<unknown>,
  ): Endpoint =>
    operation(
      `${path}/${verb}`,
      allowed("editor", "flow"),
      true,
      async (call) => {
        const answer = await run(plainJson(decodeJson(await reader.readAll(call))), whoOf(call));
        return sendJson(call, 200, answer, { "cache-control": "no-store" });
      },
      describe(tag, id, summary, { "200": jsonResponse("It is kept.", schema), ...refusals }, jsonBody(bodies[verb])),
    );
  const deleted = object({ deleted: text("Its id.") });
  return [
    get(path, "listViews", "Views, boards and reports that people share", views.schema, (who) => work.list(who)),
    get(`${path}/changes`, "listViewChanges", "Who changed which view, board, report or mark", changes.schema, (who) =>
      work.changes(who),
    ),
    post(
      "save",
      "saveView",
      "Creates or changes a view, a board, a report or a mark",
      { oneOf: [savedView.schema, board.schema, report.schema, mark.schema] },
      (body, who) => work.save(body, who),
    ),
    post("delete", "deleteView", "Deletes a view, a board, a report or a mark", deleted.schema, (body, who) =>
      work.remove(body, who),
    ),
    post("import", "importViews", "Creates or changes several at once, all or none", imported.schema, (body, who) =>
      work.import(body, who),
    ),
  ];
}

export const whoOf = ({ principal }: Call): ViewUser => ({
  name: principal?.name ?? "",
  role: principal?.role ?? "admin",
});
