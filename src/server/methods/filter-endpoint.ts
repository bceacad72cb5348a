import { lacks } from "../access/role.ts";
import { sendJson } from "../http/call.ts";
import type { BodyReader } from "../http/request-body.ts";
import { decodeJson, plainJson } from "../json/decode-request.ts";
import { allowed, describe, jsonBody, jsonResponse, operation, refusals, type Endpoint } from "./endpoint.ts";
import { choice, described, flag, integer, list, looseObject, number, openObject, text, type Value } from "./shape.ts";

const path = "/api/v1/filter/completion";

const answer = openObject(
  {
    expects: choice(["field", "operator", "value", "joiner", "nothing"], "What may stand at the cursor."),
    from: integer("Where the text begins that an item replaces, in UTF-16 units."),
    to: integer("Where it ends."),
    items: list(
      looseObject(
        {
          insert: text("As it stands in a filter, in quotes where it needs them."),
          kind: choice(["field", "operator", "value", "word"]),
          detail: text("For people."),
          bytes: number("Of the last hour, where Explore is on."),
        },
        "detail",
        "bytes",
      ),
      "The best first; values by their traffic.",
    ),
    complete: flag("False: there may be more, or the metadata is still being read."),
    fault: described(
      openObject({
        line: integer("From 1."),
        column: integer("From 1."),
        fault: text("What is wrong."),
        message: text("The same with its place, the line and a caret below it."),
      }),
      "Of the whole filter; absent: it is one.",
    ),
  },
  "fault",
);

/** The possible continuations at a position of a filter. */
export type FilterCompletion = Value<typeof answer>;

/** The answers, from which the types of the pages are generated. */
export const filterAnswers = { filterCompletion: { call: `POST ${path}`, answer } } as const;

/**
 * Completes a filter, with words of the metadata if the caller may read it. `scopes` are those to which the caller is limited; undefined means
 * no limit.
 */
export type CompleteFilter = (
  body: unknown,
  mayReadMetadata: boolean,
  scopes: readonly string[] | undefined,
) => Promise<FilterCompletion>;

/** Returns the row of the completion of filters. */
export function filterEndpoint(complete: CompleteFilter, bodies: BodyReader): Endpoint {
  const question = {
    type: "object",
    additionalProperties: false,
    properties: {
      filter: text("As far as it is written.", "src.name = we").schema,
      of: choice(
        ["records", "metadata"],
        "What it filters: flow records, or entries of the metadata. Left out: records.",
      ).schema,
      cursor: integer("Where in it something is to be completed, in UTF-16 units; left out: its end.").schema,
    },
  };
  return operation(
    path,
    allowed("viewer", "flow", "own"),
    true,
    async (call) => {
      const body = plainJson(decodeJson(await bodies.readAll(call)));
      // A token for flows only gets completions from flows only.
      const { principal } = call;
      const mayRead = principal === undefined || lacks(principal, allowed("viewer", "metadata", "own")) === undefined;
      return sendJson(call, 200, await complete(body, mayRead, principal?.scopes), { "cache-control": "no-store" });
    },
    describe(
      "collector",
      "completeFilter",
      "What may stand at a place of a filter over records or metadata: fields, operators, your own values; and what is wrong with it",
      { "200": jsonResponse("The answer.", answer.schema), ...refusals },
      jsonBody(question),
    ),
  );
}
