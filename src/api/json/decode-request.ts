import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { JsonFieldError } from "./json-field-error.ts";
import { JsonSyntaxError, parseJson, type JsonNode } from "./parse-json.ts";
import { readMessage, type UnknownFields } from "./read-message.ts";
import { apiError } from "../rpc/api-error.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads a request message from the bytes of a JSON text.
 *
 * @throws ConnectError `invalid_argument`, naming the line and column or the field.
 */
export function decodeRequest<Desc extends DescMessage>(
  desc: Desc,
  bytes: Uint8Array,
  unknownFields: UnknownFields,
): MessageShape<Desc> {
  const node = decodeJson(bytes);
  try {
    return readMessage(desc, node, unknownFields);
  } catch (error) {
    if (!(error instanceof JsonFieldError)) throw error;
    throw apiError("invalid_argument", "MALFORMED_JSON", error.message, {
      violations: [{ field: error.field, description: error.description }],
    });
  }
}

/**
 * Reads any JSON text.
 *
 * @throws ConnectError `invalid_argument`
 */
export function decodeJson(bytes: Uint8Array): JsonNode {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw apiError("invalid_argument", "MALFORMED_JSON", "the body is not valid UTF-8");
  }
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw apiError("invalid_argument", "MALFORMED_JSON", error.message);
  }
}
