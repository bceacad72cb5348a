import { lacks, type Role } from "../access/role.ts";
import { sendJson, type Call } from "../http/call.ts";
import type { BodyReader } from "../http/request-body.ts";
import { decodeJson, plainJson } from "../json/decode-request.ts";
import { allowed, describe, jsonBody, jsonResponse, operation, page, refusals, type Endpoint } from "./endpoint.ts";
import { whoOf, type ViewUser } from "./saved-view-endpoints.ts";
import { choice, flag, list, object, text, time, type JsonSchema, type Value } from "./shape.ts";

const path = "/api/v1/reports";

const run = object(
  {
    id: text("The same when it is sent again: of the mail, and of the request to a webhook."),
    due: time("When it was due."),
    from: time("Of the data."),
    to: time("Of the data."),
    by: text("Who had it sent; empty: its schedule."),
    state: choice(["waiting", "sent", "failed"]),
    deliveries: list(
      object(
        {
          action: text(),
          sentAt: time("When the action took it."),
          fault: text("Why it did not, the last time."),
        },
        "sentAt",
        "fault",
      ),
      "One for each action.",
    ),
    fault: text("Why it cannot be made."),
  },
  "fault",
);

const reports = object({
  actions: list(text(), "Names of the actions that take reports."),
  reports: list(
    object(
      {
        id: text(),
        name: text(),
        board: text("The id of the board that is sent."),
        schedule: text(),
        zone: text(),
        paused: flag(),
        next: time("When it is due next; absent: it is paused, or never due."),
        fault: text("Why it is never due; absent: it is."),
        runs: list(run, "The newest first; the last 20 are kept."),
      },
      "next",
      "fault",
    ),
    "By name.",
  ),
});

const preview = object({
  subject: text(),
  text: text("For who reads no HTML."),
  html: text("A document without scripts and styles."),
  files: list(object({ name: text(), type: text("A media type."), content: text() }), "What is attached."),
});

export type ReportRun = Value<typeof run>;
export type ReportsAnswer = Value<typeof reports>;
export type ReportPreview = Value<typeof preview>;

/** The answers, from which the types of the pages are generated. */
export const reportAnswers = {
  reports: { call: `GET ${path}`, answer: reports },
  reportPreview: { call: `POST ${path}/preview`, answer: preview },
} as const;

/** The operations on reports, except for their definitions. Errors are ConnectErrors. */
export interface ReportOperations {
  status(who: ViewUser): Promise<ReportsAnswer>;
  /** Sends a report now. @returns the run. */
  send(body: unknown, who: ViewUser): Promise<ReportRun>;
  /** Makes a report as it would be sent now, but does not send it. @param hasNames true where addresses have the names of the metadata. */
  preview(body: unknown, who: ViewUser, hasNames: boolean, signal: AbortSignal): Promise<ReportPreview>;
}

const named: JsonSchema = {
  type: "object",
  additionalProperties: false,
  required: ["id"],
  properties: { id: { type: "string", description: "Of the report." } },
};

/** Returns the rows of reports. */
export function reportEndpoints(work: ReportOperations, reader: BodyReader): readonly Endpoint[] {
  const post = (
    verb: string,
    role: Role,
    summary: string,
    schema: JsonSchema,
    answer: (body: unknown, call: Call) => Promise<unknown>,
  ): Endpoint =>
    operation(
      `${path}/${verb}`,
      allowed(role, "flow"),
      true,
      async (call) => {
        const body = plainJson(decodeJson(await reader.readAll(call)));
        return sendJson(call, 200, await answer(body, call), { "cache-control": "no-store" });
      },
      describe(
        "collector",
        `${verb}Report`,
        summary,
        { "200": jsonResponse("It is done.", schema), ...refusals },
        jsonBody(named),
      ),
    );
  return [
    page(
      path,
      allowed("viewer", "flow"),
      async (call) => sendJson(call, 200, await work.status(whoOf(call)), { "cache-control": "no-store" }),
      describe("collector", "listReports", "When reports are due, and what became of the last ones", {
        "200": jsonResponse("The answer.", reports.schema),
        ...refusals,
      }),
    ),
    post("send", "editor", "Sends a report now", run.schema, (body, call) => work.send(body, whoOf(call))),
    post("preview", "viewer", "Makes a report as it would be now, and sends nothing", preview.schema, (body, call) => {
      // A token for flows only gets no names of the metadata.
      const { principal } = call;
      const hasNames = principal === undefined || lacks(principal, allowed("viewer", "metadata")) === undefined;
      return work.preview(body, whoOf(call), hasNames, call.signal);
    }),
  ];
}
