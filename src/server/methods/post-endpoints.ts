import type { Area, Role } from "../access/role.ts";
import { quote } from "../../base/text/index.ts";
import { apiError } from "../api-error.ts";
import { type Call, sendJson } from "../http/call.ts";
import type { BodyReader } from "../http/request-body.ts";
import { decodeJson, plainJson } from "../json/decode-request.ts";
import {
  allowed,
  anyObject,
  describe,
  failure,
  hasId,
  idIn,
  idParameter,
  jsonBody,
  jsonResponse,
  operation,
  pageId,
  refusals,
  type Endpoint,
} from "./endpoint.ts";
import type { JsonSchema } from "./shape.ts";

/** An operation by POST. Its path may have `{id}`, as that of a view. */
export interface Operation {
  readonly summary: string;
  readonly role: Role;
  readonly area: Area;
  /** The JSON Schema of the answer. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The JSON Schema of the body, for the documentation. If left out, there is no body. */
  readonly body?: JsonSchema;
  /**
   * Runs the operation.
   *
   * @param user the caller; empty where no authentication is needed.
   * @param body plain JSON of any shape.
   * @param isToken true where the caller used a token, so is not a person.
   * @returns the answer as JSON; undefined for an unknown id.
   */
  run(id: string, user: string, body: unknown, isToken: boolean): Promise<unknown>;
}

/** Returns the rows of operations by path. */
export function operationEndpoints(
  operations: ReadonlyMap<string, Operation>,
  bodies: BodyReader,
): readonly Endpoint[] {
  return Array.from(operations, ([path, row]) => {
    const { role, area, summary, schema } = row;
    const responses = {
      "200": jsonResponse("The outcome.", schema),
      ...(hasId(path) && { "404": failure }),
      ...refusals,
    };
    const parts = { ...(hasId(path) && { parameters: [idParameter] }), ...(row.body && jsonBody(row.body)) };
    const described = describe(area, pageId("run", path), summary, responses, parts);
    const serve = async (call: Call): Promise<void> => {
      if (row.body === undefined) await refuseBody(call, bodies);
      const body = row.body && plainJson(decodeJson(await bodies.readAll(call)));
      const id = idIn(path, call.path);
      const { name = "", by } = call.principal ?? {};
      const answer = id === undefined ? undefined : await row.run(id, name, body, by === "token");
      if (answer === undefined) {
        throw apiError("not_found", "UNKNOWN_ID", `there is nothing at ${quote(call.path.slice(0, 256))}`);
      }
      call.code = "ok";
      return sendJson(call, 200, answer);
    };
    return operation(path, { role, area }, row.body !== undefined, serve, described);
  });
}

/**
 * Refuses a body with content, which would otherwise be ignored silently. Clients send an empty object where an operation has no parameters.
 *
 * @param hint a further explanation of the body.
 */
export async function refuseBody(
  call: Call,
  bodies: BodyReader,
  hint: (text: string) => readonly [field: string, hint: string] = () => ["", ""],
): Promise<void> {
  const text = Buffer.from(await bodies.readAll(call))
    .toString("latin1")
    .trim();
  if (text === "" || text === "{}") return;
  const [field, more] = hint(text);
  throw badField(field, `the request has no body${more}`);
}

export function badField(field: string, description: string): Error {
  return apiError("invalid_argument", "INVALID_FIELD", description, { violations: [{ field, description }] });
}

/** The operations on sources of metadata, except for views, with their summaries. */
const sourceOperations = {
  run: "Reads a source of metadata now",
  diff: "Says what a source of metadata would change now",
  accept: "Takes what is held of a source of metadata",
} as const;
export type SourceOperation = keyof typeof sourceOperations;

/**
 * Runs an operation on the named source. Rejects with a {@link SourceRefusal} where that is not possible.
 *
 * @returns the answer as JSON; undefined for an unknown source.
 */
export type SourceOperations = (operation: SourceOperation, name: string) => Promise<unknown> | undefined;

/** The error of an operation on a source that is not possible. */
export class SourceRefusal extends Error {
  /** The code. `not_found`: nothing is held. `unavailable`: the source cannot be read. */
  readonly code: "not_found" | "unavailable";

  constructor(code: SourceRefusal["code"], message: string) {
    super(message);
    this.name = "SourceRefusal";
    this.code = code;
  }
}

const named: JsonSchema = {
  type: "object",
  required: ["name"],
  properties: { name: { type: "string", examples: ["netbox"] } },
  additionalProperties: false,
};

/** Returns the rows of the operations on sources, whose body is `{"name": …}`. A collector without sources answers 501 (`unimplemented`). */
export function sourceEndpoints(sources: SourceOperations | undefined, bodies: BodyReader): readonly Endpoint[] {
  return Object.entries(sourceOperations).map(([name, summary]) => {
    const responses = {
      "200": jsonResponse("The source, or what would change.", anyObject),
      "404": failure,
      "503": failure,
      ...refusals,
    };
    const described = describe("metadata", `${name}Source`, summary, responses, jsonBody(named));
    const serve = (call: Call): Promise<void> => serveSource(call, name as SourceOperation, sources, bodies);
    const path = `/api/v1/enrich/sources/${name}`;
    return operation(path, allowed("editor", "metadata"), true, serve, described, `sources/${name}`);
  });
}

async function serveSource(
  call: Call,
  name: SourceOperation,
  sources: SourceOperations | undefined,
  bodies: BodyReader,
): Promise<void> {
  if (sources === undefined) {
    throw apiError("unimplemented", "SOURCES_DISABLED", "no sources of metadata are set up in this collector");
  }
  const body = decodeJson(await bodies.readAll(call));
  const source = body instanceof Map ? body.get("name") : undefined;
  if (!(body instanceof Map) || body.size !== 1 || typeof source !== "string") {
    throw badField("name", 'the body must be an object with the name of a source: {"name": "netbox"}');
  }
  let answer: unknown;
  try {
    answer = await sources(name, source);
  } catch (error) {
    if (error instanceof SourceRefusal) throw apiError(error.code, "SOURCE_REFUSED", error.message);
    throw error;
  }
  if (answer === undefined) throw apiError("not_found", "UNKNOWN_SOURCE", `there is no source ${quote(source)}`);
  call.code = "ok";
  return sendJson(call, 200, answer);
}
