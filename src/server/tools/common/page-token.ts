import { hashText } from "../../../base/text/index.ts";
import { badRequest } from "../../udm/store-fault.ts";

/**
 * A token for the next page: where it begins, and a digest of the question, so that a token of another question is refused.
 *
 * @param question the fields of the request that must not change.
 */
export function writePageToken(question: readonly unknown[], at: readonly string[]): string {
  return Buffer.from(JSON.stringify([digest(question), ...at])).toString("base64url");
}

/** @returns where the page begins; undefined for the first. @throws ConnectError `invalid_argument` for what is no token of this question. */
export function readPageToken(token: string, question: readonly unknown[]): readonly string[] | undefined {
  if (token === "") return undefined;
  const parts = parse(token);
  if (parts?.[0] === digest(question)) return parts.slice(1);
  const description =
    parts === undefined ? "page_token is none that was given out" : "page_token belongs to another question";
  throw badRequest([{ field: "page_token", description }]);
}

/** How long a page is. @throws ConnectError `invalid_argument` */
export function pageSize(given: number, most: number, byDefault: number): number {
  if (given > most) throw badRequest([{ field: "page_size", description: `page_size ${given} is more than ${most}` }]);
  return given === 0 ? byDefault : given;
}

function digest(question: readonly unknown[]): string {
  return hashText(JSON.stringify(question)).toString(36);
}

function parse(token: string): string[] | undefined {
  try {
    const value = JSON.parse(Buffer.from(token, "base64url").toString()) as unknown;
    const isGood = Array.isArray(value) && value.every((part) => typeof part === "string");
    return isGood ? value : undefined;
  } catch {
    return undefined;
  }
}
