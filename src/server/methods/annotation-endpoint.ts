import { lacks, type Area } from "../access/role.ts";
import { sendJson } from "../http/call.ts";
import { allowed, describe, jsonResponse, page, parameter, refusals, type Endpoint } from "./endpoint.ts";
import { whoOf, type ViewUser } from "./saved-view-endpoints.ts";
import { choice, integer, list, object, text, time, type Value } from "./shape.ts";

const path = "/api/v1/annotations";

/** The kinds of annotations: changes of metadata, starts of the collector, alerts, and marks that people set. */
export const annotationKinds = ["metadata", "restart", "alert", "mark"] as const;

const annotation = object(
  {
    kind: choice(annotationKinds),
    time: time("When it was, or began."),
    until: time("When it ended; absent: it has no length, or goes on."),
    text: text("For people."),
    count: integer("How many it stands for: changes of metadata that are near each other are one."),
    id: text("Of an alert or a mark."),
    user: text("Who did it."),
  },
  "until",
  "id",
  "user",
);

const answer = object({
  from: time(),
  to: time(),
  annotations: list(annotation, "By time."),
  left: integer("How many of the oldest were left out, because there are more than `limit`."),
  lacking: list(choice(annotationKinds), "What could not be asked at present."),
});

export type Annotation = Value<typeof annotation>;
export type AnnotationsAnswer = Value<typeof answer>;

/** The answers, from which the types of the pages are generated. */
export const annotationAnswers = { annotations: { call: `GET ${path}`, answer } } as const;

/** Finds the annotations of a period. @param mayRead reports what the caller may see. @throws ConnectError */
export type FindAnnotations = (
  question: Readonly<Record<string, string>>,
  who: ViewUser,
  mayRead: (area: Area) => boolean,
) => Promise<AnnotationsAnswer>;

/** Returns the row of annotations on charts. */
export function annotationEndpoint(find: FindAnnotations): Endpoint {
  return page(
    path,
    allowed("viewer", "flow"),
    async (call) => {
      const { principal } = call;
      const mayRead = (area: Area): boolean =>
        principal === undefined || lacks(principal, allowed("viewer", area)) === undefined;
      const found = await find(Object.fromEntries(call.query), whoOf(call), mayRead);
      return sendJson(call, 200, found, { "cache-control": "no-store" });
    },
    describe(
      "collector",
      "listAnnotations",
      "What happened in a time: changes of metadata, starts of the collector, alerts, marks of people",
      { "200": jsonResponse("The answer.", answer.schema), ...refusals },
      {
        parameters: [
          parameter("from", "RFC 3339, or a time span before now; 400 days before `to` at most.", {
            type: "string",
            default: "-1h",
          }),
          parameter("to", "The same, or now.", { type: "string", default: "now" }),
          parameter("kinds", `Those that are wanted, with commas between: ${annotationKinds.join(", ")}.`, {
            type: "string",
          }),
          parameter("limit", "How many at most.", { type: "integer", minimum: 1, maximum: 1000, default: 200 }),
        ],
      },
    ),
  );
}
