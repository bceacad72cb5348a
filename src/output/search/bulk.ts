import { copyLines } from "../../record/index.ts";
import { batchKey, forEachLine, positionOf, type Batch } from "../delivery/batch.ts";
import { DeliveryError, type Blame } from "../delivery/delivery-error.ts";
import type { HttpAnswer } from "../delivery/http-client.ts";
import { blameOfStatus } from "../delivery/http-failure.ts";
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
  readonly items?: readonly Readonly<
    Record<string, { readonly status?: number; readonly error?: { readonly type?: string; readonly reason?: string } }>
  >[];
}

/** What an operator mends, by what the server says of a record, and how: no status tells it from a fault of the record. */
const mendable: readonly (readonly [type: RegExp, reason: RegExp, advice: string])[] = [
  [/validation_exception/, /maximum .*shards open/, "raise cluster.max_shards_per_node or remove indices"],
  [/index_closed_exception/, /./, "open the index"],
  [/cluster_block_exception/, /flood-stage|disk usage/, "the server's disk is full: free some of it"],
  [/cluster_block_exception/, /./, "remove the block of the index"],
  [
    /./,
    /Limit of (total fields|mapping depth|nested fields)/i,
    "raise index.mapping.total_fields.limit, or leave fields out",
  ],
  [/./, /pipeline with id .* does not exist/, "make the ingest pipeline, or change the index template"],
  [
    /illegal_argument_exception/,
    /no write index|not.* allowed in data streams|only write ops/,
    "look at the index or its alias",
  ],
  [/security_exception|authorization/, /./, "give the user permission to write"],
  [
    /index_not_found_exception|invalid_index_name_exception|invalid_alias_name/,
    /./,
    "make the index, or allow it to be made",
  ],
];

/** What the server says of a record while it, or the shard of the record, is away. Other faults of its own may come with the record, whatever their status. */
const ofServer =
  /unavailable_shards|no_shard_available|node_(closed|disconnected|not_connected)|rejected_execution|circuit_break|master_not_discovered|not_master|not_cluster_manager|cluster_event_timeout|receive_timeout|connect_transport|cluster_block/;

function blameOfRecord(status: number, type: string): Blame {
  const blame = blameOfStatus(status);
  return blame === "store" && status >= 500 && !ofServer.test(type) ? "unclear" : blame;
}

/**
 * The result of each record.
 *
 * @param answer with status 200.
 * @throws DeliveryError when it does not say what happened to each record.
 */
export function bulkOutcome({ body, url }: HttpAnswer, batch: Batch): Outcome {
  // The answer to most batches needs no parsing.
  if (saysAllCreated(body, batch.count)) return allAccepted;
  const { items = [] } = parseAnswer(body, url);
  const place = new URL(url).host;
  const results = items.map((item) => Object.values(item)[0]);
  if (results.length !== batch.count || results.some((result) => typeof result?.status !== "number")) {
    throw new DeliveryError("store", "protocol", `${place} answers for ${results.length} of ${batch.count} records`);
  }
  const refused: Refusal[] = [];
  const unclear: Refusal[] = [];
  const retry: number[] = [];
  let fault: DeliveryError | undefined;
  for (const [index, { status = 0, error } = {}] of results.entries()) {
    if ((status >= 200 && status < 300) || status === 409) continue;
    const { type = String(status), reason: said = "no reason given" } = error ?? {};
    const reason = `${type}: ${said}`;
    const advice = mendable.find(([ofType, ofReason]) => ofType.test(type) && ofReason.test(said))?.[2];
    const blame = advice === undefined ? blameOfRecord(status, type) : "operator";
    if (blame === "record") {
      refused.push({ index, reason });
      continue;
    }
    retry.push(index);
    if (blame === "unclear") unclear.push({ index, reason });
    else if (fault?.blame !== "operator") {
      const text = `${place} does not take records: ${reason}${advice === undefined ? "" : `: ${advice}`}`;
      fault = new DeliveryError(blame, `record_${status}`, text);
    }
  }
  if (refused.length + retry.length === 0) return allAccepted;
  return { refused, retry, unclear, ...(fault && { fault }) };
}

const statusName = Buffer.from('"status":');

/** Whether there is a status for each of so many records, and each is of success. */
function saysAllCreated(body: Buffer, count: number): boolean {
  let found = 0;
  for (let at = body.indexOf(statusName); at >= 0; at = body.indexOf(statusName, at + statusName.length)) {
    // 2xx, and nothing but digits.
    if (body[at + statusName.length] !== 0x32) return false;
    found++;
  }
  return found === count && body.subarray(0, 64).includes('"errors":false');
}

function parseAnswer(body: Buffer, url: string): BulkAnswer {
  try {
    return JSON.parse(body.toString()) as BulkAnswer;
  } catch (error) {
    throw new DeliveryError("store", "protocol", `the answer of ${new URL(url).host} is no JSON`, { cause: error });
  }
}
