import type { Area, Role } from "../access/role.ts";
import { quote } from "../../base/text/index.ts";
import { apiError } from "../error/api-error.ts";
import type { Call } from "../http/call.ts";
import type { BodyReader } from "../http/read-body.ts";
import { sendJson } from "../http/send.ts";

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
