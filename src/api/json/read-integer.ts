import { quote } from "../../text/index.ts";
import { JsonNumber, type JsonNode } from "./json-node.ts";
import { fieldError } from "./json-field-error.ts";

const decimal = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * Reads an integer from a number literal or a string of one, exactly. As proto3 JSON has it, `1e3` and `7.0` are
 * integers.
 *
 * @throws JsonFieldError
 */
export function readInteger(
  node: JsonNode,
  field: string,
  { min, max }: { readonly min: bigint; readonly max: bigint },
): bigint {
  if (!(node instanceof JsonNumber) && typeof node !== "string") {
    throw fieldError(field, "must be a number or a string of digits");
  }
  const text = typeof node === "string" ? node : node.text;
  const shown = typeof node === "string" ? quote(text) : quote(text).slice(1, -1);
  const value = exactInteger(text);
  if (value === undefined) throw fieldError(field, `${shown} is not an integer`);
  if (value === "large" || value < min || value > max) {
    throw fieldError(field, `${shown} is not within ${min} to ${max}`);
  }
  return value;
}

/** @returns undefined when the text is not an integer, `large` for more than 20 digits. */
function exactInteger(text: string): bigint | "large" | undefined {
  const match = decimal.exec(text);
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponentText = "0"] = match;
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  if (digits === "") return 0n;
  const significant = digits.replace(/(?<!0)0+$/, "");
  // The value is `significant` times ten to the power of `scale`.
  const scale = Number(exponentText) - fraction.length + (digits.length - significant.length);
  if (scale < 0) return undefined;
  if (significant.length + scale > 20) return "large";
  const value = BigInt(significant) * 10n ** BigInt(scale);
  return sign === "-" ? -value : value;
}
