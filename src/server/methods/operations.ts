import type { Area, Role } from "../access/role.ts";
import { quote } from "../../base/text/index.ts";
import { apiError } from "../api-error.ts";
import { type Call, sendJson } from "../http/call.ts";
import type { BodyReader } from "../http/request-body.ts";
import { decodeJson } from "../json/decode-request.ts";

/** A POST without a body that does one thing. Its path may have `{id}` as a view's. */
export interface Operation {
  readonly summary: string;
  readonly role: Role;
  readonly area: Area;
  /** JSON Schema of the answer. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** @returns what is answered as JSON; undefined when the id stands for nothing. */
  run(id: string): Promise<unknown>;
}

/** The handler of an operation. A body that says something is refused: it would have no effect, without a word. */
export function createOperationEndpoint(
  operation: Operation,
  bodies: BodyReader,
  idOf: (path: string) => string | undefined,
): (call: Call) => Promise<void> {
  return async (call) => {
    const body = Buffer.from(await bodies.readAll(call))
      .toString("latin1")
      .trim();
    if (body !== "" && body !== "{}") {
      const description = "the request has no body";
      throw apiError("invalid_argument", "INVALID_FIELD", description, { violations: [{ field: "", description }] });
    }
    const id = idOf(call.path);
    const answer = id === undefined ? undefined : await operation.run(id);
    if (answer === undefined) {
      throw apiError("not_found", "UNKNOWN_ID", `there is nothing at ${quote(call.path.slice(0, 256))}`);
    }
    call.code = "ok";
    return sendJson(call, 200, answer);
  };
}

/** What can be done with sources of metadata, besides looking at them. */
export const sourceOperations = ["run", "diff", "accept"] as const;
export type SourceOperation = (typeof sourceOperations)[number];

/**
 * Does something with the source of a name. Rejects with a {@link SourceRefusal} where that cannot be.
 *
 * @returns what is answered as JSON; undefined for an unknown source.
 */
export type SourceOperations = (operation: SourceOperation, name: string) => Promise<unknown> | undefined;

/** Why an operation on a source cannot be done. */
export class SourceRefusal extends Error {
  /** `not_found`: nothing is held. `unavailable`: the source cannot be read. */
  readonly code: "not_found" | "unavailable";

  constructor(code: SourceRefusal["code"], message: string) {
    super(message);
    this.name = "SourceRefusal";
    this.code = code;
  }
}

export const sourcePath = (operation: SourceOperation): string => `/api/v1/enrich/sources/${operation}`;

/** The handler of an operation: its body is `{"name": …}`. A collector without sources answers 501 (`unimplemented`). */
export function createSourceEndpoint(
  operation: SourceOperation,
  sources: SourceOperations | undefined,
  bodies: BodyReader,
): (call: Call) => Promise<void> {
  return async (call) => {
    if (sources === undefined) {
      throw apiError("unimplemented", "SOURCES_DISABLED", "no sources of metadata are set up in this collector");
    }
    const body = decodeJson(await bodies.readAll(call));
    const name = body instanceof Map ? body.get("name") : undefined;
    if (!(body instanceof Map) || body.size !== 1 || typeof name !== "string") {
      const description = 'the body must be an object with the name of a source: {"name": "netbox"}';
      throw apiError("invalid_argument", "INVALID_FIELD", description, {
        violations: [{ field: "name", description }],
      });
    }
    let answer: unknown;
    try {
      answer = await sources(operation, name);
    } catch (error) {
      if (error instanceof SourceRefusal) throw apiError(error.code, "SOURCE_REFUSED", error.message);
      throw error;
    }
    if (answer === undefined) throw apiError("not_found", "UNKNOWN_SOURCE", `there is no source ${quote(name)}`);
    call.code = "ok";
    return sendJson(call, 200, answer);
  };
}
