import { type SearchSettings, searchTls } from "./settings.ts";
import {
  createIndexOf,
  indexTemplate,
  lifecyclePolicy,
  templateDescription,
  templateName,
  templateVersion,
  type IndexOf,
  type SearchServer,
  type SearchTarget,
} from "./index-template.ts";
import { copyLines } from "../../record/index.ts";
import type { Clock } from "../../base/report/index.ts";
import {
  DeliveryError,
  type Blame,
  allAccepted,
  type Outcome,
  type Refusal,
  type OutputAdapter,
} from "../delivery/output-adapter.ts";
import { type HttpAnswer, HttpClient, httpFailure, blameOfStatus } from "../delivery/http-client.ts";
import { batchKey, forEachLine, positionOf, type Batch } from "../delivery/batch.ts";
import { compressor } from "../http/server-settings.ts";
import type { AdapterContext } from "../output-kind.ts";

const json = { "content-type": "application/json" };
const isOk = ({ status }: HttpAnswer): boolean => status >= 200 && status < 300;

/**
 * Checks the server, and creates the lifecycle policy and the index template. A user who may only write gets
 * a warning for each one that it may not create, because somebody else may have created it.
 */
class SearchSetup {
  readonly #client: HttpClient;
  readonly #target: SearchTarget;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #warnings: string[] = [];

  constructor(client: HttpClient, target: SearchTarget, clock: Clock, signal: AbortSignal) {
    this.#client = client;
    this.#target = target;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** Prepares the server. @returns warnings. @throws DeliveryError when the server cannot be used. */
  async prepare(): Promise<readonly string[]> {
    await this.#judgeServer();
    if (this.#target.settings.INDEX_TEMPLATE_ENABLE) await this.#makeTemplate();
    return this.#warnings;
  }

  #get(path: string): Promise<HttpAnswer> {
    return this.#client.request({ method: "GET", path, signal: this.#signal });
  }

  #put(path: string, body: object): Promise<HttpAnswer> {
    const bytes = [Buffer.from(JSON.stringify(body))];
    return this.#client.request({ method: "PUT", path, headers: json, body: bytes, signal: this.#signal });
  }

  async #judgeServer(): Promise<void> {
    const answer = await this.#get("/");
    if (answer.status === 401 || answer.status >= 500 || answer.status === 429) throw httpFailure(answer, this.#clock);
    // A user who may only write gets 403, and some servers do not identify themselves.
    if (!isOk(answer)) return;
    const { version } = parse(answer) as { version?: { number?: string; distribution?: string } };
    const product = version?.distribution === "opensearch" ? "opensearch" : "elasticsearch";
    const number = version?.number ?? "";
    if (product !== this.#target.server.product)
      this.#warnings.push(`the server is ${product} ${number}, not ${this.#target.server.product}`);
    const [major = 0, minor = 0] = number.split(".").map(Number);
    const isOld = product === "opensearch" ? major < 2 : major < 7 || (major === 7 && minor < 17);
    if (number !== "" && isOld)
      this.#warnings.push(`${product} ${number} is older than the versions that are supported`);
  }

  /** Creates the policy. @returns its name when there is one. */
  async #makePolicy(): Promise<string | undefined> {
    const { policy } = this.#target.server;
    if (policy === "" || this.#target.settings.INDEX_PERIOD !== "rollover") return undefined;
    const folder = this.#target.server.product === "elasticsearch" ? "/_ilm/policy" : "/_plugins/_ism/policies";
    const path = `${folder}/${encodeURIComponent(policy)}`;
    if (isOk(await this.#get(path))) return policy;
    const made = await this.#put(path, lifecyclePolicy(this.#target));
    if (isOk(made)) return policy;
    this.#warnings.push(`the lifecycle policy ${policy} could not be made: ${httpFailure(made, this.#clock).message}`);
    return undefined;
  }

  async #makeTemplate(): Promise<void> {
    const name = templateName(this.#target.settings);
    const path = `/_index_template/${encodeURIComponent(name)}`;
    const there = await this.#get(path);
    if (isOk(there)) {
      const found = parse(there) as { index_templates?: { index_template?: FoundTemplate }[] };
      const { version = 0, _meta } = found.index_templates?.[0]?.index_template ?? {};
      if (!this.#target.settings.INDEX_TEMPLATE_OVERWRITE || version > templateVersion) return;
      if (_meta?.description !== templateDescription) {
        this.#warnings.push(`the index template ${name} is not one of netgloss: it stays as it is`);
        return;
      }
    }
    const policy = await this.#makePolicy();
    let made = await this.#put(path, indexTemplate(this.#target, policy, true));
    if (made.status === 400 && made.body.includes("unsigned_long")) {
      this.#warnings.push(
        "the server has no type unsigned_long: counters are long, those of 2^63 or more are not indexed",
      );
      made = await this.#put(path, indexTemplate(this.#target, policy, false));
    }
    if (isOk(made)) return;
    const failure = httpFailure({ ...made, body: Buffer.from(deepestReason(parse(made))) }, this.#clock);
    if (made.status === 401 || made.status === 429 || made.status >= 500) throw failure;
    if (isOk(there)) this.#warnings.push(`the index template ${name} could not be replaced: ${failure.message}`);
    else if (made.status === 403) {
      this.#warnings.push(
        `the index template ${name} could not be made, types of fields will be guessed: ${failure.message}`,
      );
    } else {
      throw new DeliveryError("operator", failure.code, `the index template ${name} is refused: ${failure.message}`);
    }
  }
}

interface FoundTemplate {
  readonly version?: number;
  readonly _meta?: { readonly description?: string };
}

/** Returns the innermost reason: servers wrap the reason of an error into others. */
function deepestReason(answer: unknown): string {
  let error = (answer as { error?: ServerError }).error;
  while (error?.caused_by !== undefined) error = error.caused_by;
  return error?.reason ?? "";
}

interface ServerError {
  readonly reason?: string;
  readonly caused_by?: ServerError;
}

function parse({ body }: HttpAnswer): unknown {
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    return {};
  }
}

/** Spare bytes: more than the digits of a position and the end of an action take. */
const slack = 16;
const actionEnd = Buffer.from('"}}\n');

/**
 * Returns the body of a `_bulk` request: each line follows an action that creates it under the identity of its record. The server
 * refuses a record that it has with 409, which is success.
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

/** The approximate bytes of an action, besides the key of the batch. */
const actionBytes = 96;
const lineFeed = 0x0a;
const base = 36;

/** Copies a few bytes, where a loop is quicker than a call of the engine. */
function copyFew(bytes: Buffer, to: Buffer, at: number): number {
  for (let i = 0; i < bytes.length; i++) to[at + i] = bytes[i] as number;
  return at + bytes.length;
}

/** Writes a number like `toString(36)`. @returns its end. */
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

/** The path; the filter leaves unused parts out of the answer. */
const bulkPath = "/_bulk?filter_path=errors,items.*.status,items.*.error.type,items.*.error.reason";

interface BulkAnswer {
  readonly items?: readonly Readonly<
    Record<string, { readonly status?: number; readonly error?: { readonly type?: string; readonly reason?: string } }>
  >[];
}

/** Faults that an operator can mend, by the server's words for a record, with advice. No status distinguishes them from a record's own fault. */
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

/**
 * Matches the server's words for a record while the server, or the record's shard, is away. A record may cause its other faults, whatever
 * their status.
 */
const ofServer =
  /unavailable_shards|no_shard_available|node_(closed|disconnected|not_connected)|rejected_execution|circuit_break|master_not_discovered|not_master|not_cluster_manager|cluster_event_timeout|receive_timeout|connect_transport|cluster_block/;

function blameOfRecord(status: number, type: string): Blame {
  const blame = blameOfStatus(status);
  return blame === "store" && status >= 500 && !ofServer.test(type) ? "unclear" : blame;
}

/**
 * Returns the result of each record.
 *
 * @param answer with status 200.
 * @throws DeliveryError when it does not report on each record.
 */
function bulkOutcome({ body, url }: HttpAnswer, batch: Batch): Outcome {
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

/** Reports whether an answer has a status for each of `count` records, and all are successes. */
function saysAllCreated(body: Buffer, count: number): boolean {
  let found = 0;
  for (let at = body.indexOf(statusName); at >= 0; at = body.indexOf(statusName, at + statusName.length)) {
    // The status is 2xx, and only digits.
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

/**
 * Sends records to Elasticsearch or OpenSearch by `_bulk`. Each has an identity of its own, so a batch that is sent again is
 * kept once, as long as its index is the same. A data stream that was rolled over between two tries may keep it twice.
 */
export class SearchOutput implements OutputAdapter {
  readonly #target: SearchTarget;
  readonly #clock: Clock;
  readonly #indexOf: IndexOf;
  readonly #compress: ReturnType<typeof compressor>;
  #client: HttpClient | undefined;

  constructor(settings: SearchSettings, server: SearchServer, { clock, nameOf }: AdapterContext) {
    this.#target = { settings, server, nameOf };
    this.#clock = clock;
    this.#indexOf = createIndexOf(settings);
    this.#compress = compressor(settings.COMPRESSION);
  }

  async open(signal: AbortSignal): Promise<readonly string[]> {
    const { settings, server } = this.#target;
    const { urls, headers } = server;
    const store = { urls, headers, tls: searchTls(settings), maxConnections: settings.REQUESTS_IN_FLIGHT };
    this.#client ??= new HttpClient(store, this.#clock);
    return new SearchSetup(this.#client, this.#target, this.#clock, signal).prepare();
  }

  async send(batch: Batch, signal: AbortSignal): Promise<Outcome> {
    if (this.#client === undefined) throw new Error("not open");
    const plain = bulkBody(batch, this.#indexOf);
    const body = [this.#compress === undefined ? plain : await this.#compress(plain)];
    const headers = {
      "content-type": "application/x-ndjson",
      ...(this.#compress !== undefined && { "content-encoding": "gzip" }),
    };
    const answer = await this.#client.request({ method: "POST", path: bulkPath, headers, body, signal });
    if (answer.status !== 200) throw httpFailure(answer, this.#clock);
    return bulkOutcome(answer, batch);
  }

  async close(): Promise<void> {
    this.#client?.close();
  }
}
