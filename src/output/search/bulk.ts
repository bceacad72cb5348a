import { copyLines } from "../../record/index.ts";
import { batchKey, forEachLine, positionOf, type Batch } from "../delivery/batch.ts";
import { DeliveryError } from "../delivery/delivery-error.ts";
import type { HttpAnswer } from "../delivery/http-client.ts";
import { allAccepted, type Outcome, type Refusal } from "../delivery/output-adapter.ts";
import type { IndexOf } from "./index-names.ts";

/** More than the digits of a position and the end of an action take. */
const slack = 16;
const actionEnd = Buffer.from('"}}\n');

/**
 * The body of a `_bulk` request: each line behind an action that creates it under the identity of its record. A record
 * that is there already is refused by the server with 409, which is success.
 */
export function bulkBody(batch: Batch, indexOf: IndexOf): Uint8Array {
  const key = batchKey(batch.id);
  let name = "";
  let action = Buffer.alloc(0);
  let body = Buffer.allocUnsafeSlow(batch.byteLength + batch.count * (actionBytes + key.length));
  let at = 0;
  forEachLine(batch, (lines, from, to, index) => {
    const own = indexOf(lines, from, to);
    if (own !== name || action.length === 0) {
      name = own;
      action = Buffer.from(`{"create":{"_index":"${name}","_id":"${key}-`, "latin1");
    }
    const room = action.length + slack + (to - from);
    if (at + room > body.length) body = Buffer.concat([body, Buffer.alloc(room + batch.byteLength)]);
    at = copyFew(action, body, at);
    at = writeDigits(positionOf(batch, index), body, at);
    at = copyFew(actionEnd, body, at);
    at = copyLines(lines, from, to, body, at);
    body[at++] = lineFeed;
  });
  return body.subarray(0, at);
}

/** About what an action takes besides the key of the batch. */
const actionBytes = 96;
const lineFeed = 0x0a;
const base = 36;

/** So few bytes that a loop is quicker than a call of the engine. */
function copyFew(bytes: Buffer, to: Buffer, at: number): number {
  for (let i = 0; i < bytes.length; i++) to[at + i] = bytes[i] as number;
  return at + bytes.length;
}

/** Writes a number as `toString(36)` has it. @returns where it ends. */
function writeDigits(number: number, to: Buffer, at: number): number {
  let end = at + 1;
  for (let rest = Math.trunc(number / base); rest > 0; rest = Math.trunc(rest / base)) end++;
  let rest = number;
  for (let place = end - 1; place >= at; place--) {
    const digit = rest % base;
    to[place] = digit < 10 ? 0x30 + digit : 0x57 + digit;
    rest = Math.trunc(rest / base);
  }
  return end;
}

/** Leaves out of the answer what is not looked at. */
export const bulkPath = "/_bulk?filter_path=errors,items.*.status,items.*.error.type,items.*.error.reason";

interface BulkAnswer {
  readonly errors?: boolean;
  readonly items?: readonly Readonly<
    Record<string, { readonly status?: number; readonly error?: { readonly type?: string; readonly reason?: string } }>
  >[];
}

/** Statuses of a record after which it may be taken later. */
const busy: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);
/** Statuses of a record that an operator fixes: no permission, an index that must not be made. */
const mendable: ReadonlySet<number> = new Set([401, 403, 404]);

/**
 * The result of each record.
 *
 * @param answer with status 200.
 * @throws DeliveryError when it is no answer of a `_bulk`, or says of a record what an operator must fix.
 */
export function bulkOutcome({ body, url }: HttpAnswer, batch: Batch): Outcome {
  // The answer to most batches needs no parsing.
  if (body.subarray(0, 64).includes('"errors":false')) return allAccepted;
  const { errors, items = [] } = parseAnswer(body, url);
  if (errors === false) return allAccepted;
  if (errors !== true || items.length !== batch.count) {
    throw new DeliveryError(
      "retry",
      "protocol",
      `${new URL(url).host} answers for ${items.length} of ${batch.count} records`,
    );
  }
  const refused: Refusal[] = [];
  const retry: number[] = [];
  for (const [index, item] of items.entries()) {
    const { status = 0, error } = Object.values(item)[0] ?? {};
    if ((status >= 200 && status < 300) || status === 409) continue;
    const reason = `${error?.type ?? String(status)}: ${error?.reason ?? "no reason given"}`;
    if (mendable.has(status)) {
      throw new DeliveryError("retry", `record_${status}`, `${new URL(url).host} does not take records: ${reason}`);
    }
    if (busy.has(status)) retry.push(index);
    else refused.push({ index, reason });
  }
  return { refused, retry };
}

function parseAnswer(body: Buffer, url: string): BulkAnswer {
  try {
    return JSON.parse(body.toString()) as BulkAnswer;
  } catch (error) {
    throw new DeliveryError("retry", "protocol", `the answer of ${new URL(url).host} is no JSON`, { cause: error });
  }
}
