import { apiError } from "../error/api-error.ts";
import type { Call } from "../http/call.ts";
import type { BodyReader } from "../http/read-body.ts";
import { sendJson } from "../http/send.ts";
import { decodeJson } from "../json/decode-request.ts";
import { quote } from "../../base/text/index.ts";

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
