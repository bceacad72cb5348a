import { ecsName } from "../../record/index.ts";
import { fieldKey, findIn, isFieldAt, endOfValue, findValue } from "./line-fields.ts";
import type { RecordType } from "./settings.ts";
import type { Batch } from "./batch.ts";

/** The errno name of an error of the operating system, else its class. */
export function errorCode(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return error instanceof Error ? error.name : "unknown";
}

/** Why a call failed, in one line. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Who is at fault when a store does not take records. Every adapter says it in these words, and the core alone decides what
 * follows ({@link judge}):
 *
 * - `record`: the content. Of a batch it is found by halves, and a record that is refused alone becomes a dead letter.
 * - `operator`: settings, permissions, limits, a closed index. All is held until somebody mends it.
 * - `store`: the store or the way to it. All is held, and tried again.
 * - `unclear`: the store has a fault that one of the records may bring about. As `store`, and as `record` once the store
 *   has taken others between several tries.
 */
export type Blame = "record" | "operator" | "store" | "unclear";

/** A batch that was not delivered, or a server that cannot be used. The message is a sentence for the operator. */
export class DeliveryError extends Error {
  override readonly name = "DeliveryError";
  readonly blame: Blame;
  /** A word for metrics: `unreachable`, `timeout`, `http_503`. */
  readonly code: string;
  /** How long the server asked to be left alone. */
  readonly retryAfterMs: number | undefined;
  /**
   * Whether the batch is to be sent as it is for ever, though its records are suspected: the store may have it under its
   * identity, which halves would not have. Then the adapter itself puts an end to it.
   */
  readonly isWhole: boolean;

  constructor(
    blame: Blame,
    code: string,
    message: string,
    options: {
      readonly retryAfterMs?: number | undefined;
      readonly isWhole?: boolean;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.isWhole = options.isWhole ?? false;
    this.blame = blame;
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
  }
}

const untrusted: ReadonlySet<string> = new Set([
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "CERT_UNTRUSTED",
]);

/** What somebody must mend; all else may pass by itself. */
const ofOperator: ReadonlySet<string> = new Set(["certificate", "tls"]);

/** Sentences for what the system and TLS say; `%s` is the place. */
const sentences: Readonly<Record<string, readonly [code: string, text: string]>> = {
  ECONNREFUSED: ["refused", "%s refuses connections: nothing listens there"],
  ENOTFOUND: ["name_not_found", "the host name of %s is not known"],
  EAI_AGAIN: ["name_not_found", "the host name of %s cannot be looked up now"],
  ETIMEDOUT: ["timeout", "%s does not answer"],
  EHOSTUNREACH: ["unreachable", "there is no route to %s"],
  ENETUNREACH: ["unreachable", "there is no route to %s"],
  ECONNRESET: [
    "connection_lost",
    "%s closed the connection before it answered: if it always does, is TLS on or off at both ends?",
  ],
  EPIPE: ["connection_lost", "%s closed the connection before it had the batch"],
  CERT_HAS_EXPIRED: ["certificate", "the certificate of %s has expired"],
  ERR_TLS_CERT_ALTNAME_INVALID: ["certificate", "the certificate of %s is for another host name"],
  EPROTO: ["tls", "%s does not speak TLS as expected: is TLS on at both ends?"],
  ERR_SSL_WRONG_VERSION_NUMBER: ["tls", "%s does not speak TLS: is TLS on at both ends?"],
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: ["certificate", "%s demands a client certificate"],
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: ["certificate", "%s refuses the client certificate"],
};

/**
 * Says in a sentence why a server could not be used; the failure may pass.
 *
 * @param place host and port, or a URL without credentials.
 */
export function connectionFailure(error: unknown, place: string): DeliveryError {
  if (error instanceof DeliveryError) return error;
  const code = errorCode(error);
  if (untrusted.has(code)) {
    return new DeliveryError(
      "operator",
      "certificate",
      `the certificate of ${place} is not trusted (${reasonOf(error)}): name its CA`,
      {
        cause: error,
      },
    );
  }
  const [word, text] = sentences[code] ?? ["unreachable", `%s cannot be reached: ${reasonOf(error)}`];
  return new DeliveryError(ofOperator.has(word) ? "operator" : "store", word, text.replace("%s", place), {
    cause: error,
  });
}

/** An error, and all within it: libraries wrap what the system says. */
export function* causesOf(error: unknown): Generator<Error> {
  if (!(error instanceof Error)) return;
  yield error;
  if (error instanceof AggregateError) for (const one of error.errors) yield* causesOf(one);
  yield* causesOf(error.cause);
}

const exporterTypeKey = fieldKey(ecsName("flow.export.type"));
const typeKey = fieldKey("flow.record.type");
const exporterKey = fieldKey("flow.export.ip.addr");
const typesByLetter: ReadonlyMap<number, RecordType> = new Map([
  [0x6f, "flow_option"],
  [0x63, "telemetry"],
  [0x73, "telemetry"],
]);
const rollupLetter = 0x72;
/** Fields of the head stand within this many bytes. */
const headBytes = 512;

/** Where the exporter stands in most lines: behind `{"@timestamp":"2026-01-01T00:00:00.000Z",`. */
const exporterAt = 42;

/**
 * The type of a record by its head: `telemetry` for counters and SNMP, `flow_option` for what exporters report about
 * themselves, else `flow`.
 */
export function recordTypeOf(line: Buffer, from: number, to: number): RecordType {
  const head = line.subarray(from, Math.min(to, from + headBytes));
  // With the names of ECS the exporter is a host, as a device is; only exporters have a type.
  const at = findIn(head, typeKey);
  // A rollup is of any exporters.
  if (head[at + 1] === rollupLetter && at >= 0) return "flow";
  const isOfExporter =
    isFieldAt(head, 0, exporterAt, head.length, exporterKey) ||
    findIn(head, exporterKey) >= 0 ||
    findIn(head, exporterTypeKey) >= 0;
  if (!isOfExporter) return "telemetry";
  if (at < 0) return "flow";
  // Behind a quote: options, counters, discard (a packet, as of a flow), sample (of a format that is not known).
  return typesByLetter.get(head[at + 1] ?? 0) ?? "flow";
}

/**
 * Makes the labels of a line as a JSON object of texts: `{"service_name":"netgloss","record_type":"flow",…}`, and each chosen
 * field that the line has, with underscores in its name.
 */
export function createLabelsOf(fields: readonly string[]): (line: Buffer, from: number, to: number) => string {
  const chosen = fields.map((field) => ({ name: labelName(field), key: fieldKey(field) }));
  return (line, from, to) => {
    let labels = `{"service_name":"netgloss","record_type":"${recordTypeOf(line, from, to)}"`;
    for (const { name, key } of chosen) {
      const value = findValue(line, from, to, key);
      if (value < 0) continue;
      const text = line.toString("utf8", value, endOfValue(line, value, to));
      labels += `,"${name}":${text.startsWith('"') ? text : JSON.stringify(text)}`;
    }
    return `${labels}}`;
  };
}

/** Labels have letters, digits and underscores. */
function labelName(field: string): string {
  return field.replaceAll(/[^a-zA-Z0-9_]/g, "_").replace(/^(?=[0-9])/, "_");
}

/** The name under which a field of records is in the lines of an output. */
export type NameOf = (field: string) => string;

/** @param isEcs whether the lines have the names of the Elastic Common Schema. */
export function fieldNames(isEcs: boolean): NameOf {
  return isEcs ? ecsName : (field) => field;
}

/** A record that the server finds fault with. */
export interface Refusal {
  /** Its index in the batch that was sent. */
  readonly index: number;
  /** What the server says of it, one line. */
  readonly reason: string;
}

/** The result of a batch of which the server says what happened to each record; those that are in neither list are with it. */
export interface Outcome {
  /** Those that the server calls the record's own fault. */
  readonly refused: readonly Refusal[];
  /** Indexes in the batch that was sent, ascending: those that are to be tried again. */
  readonly retry: readonly number[];
  /** Of `retry`: those for which the server has a fault that the record may bring about. */
  readonly unclear?: readonly Refusal[];
  /** Why the others of `retry` were not taken; absent: the server is busy. */
  readonly fault?: DeliveryError | undefined;
  /** The server has taken some of `refused`, and does not say which. */
  readonly tookOthers?: true;
  readonly retryAfterMs?: number | undefined;
  /** Where a part of the store lacks the records that it took, a sentence. */
  readonly lack?: DeliveryError | undefined;
}

/** All records of a batch are with the server. */
export const allAccepted: Outcome = { refused: [], retry: [] };

/**
 * One kind of store: what an output adds to the delivery core. Its calls run in the output's own thread.
 *
 * It needs no retries, no queue, no metrics and no log of its own.
 */
export interface OutputAdapter {
  /** The store knows a batch again as a whole alone: halves of one that it may have would be there twice. */
  readonly isKnownWhole?: true;
  /**
   * First contact: judges that the server can be used and prepares what sending needs. Called until it works, and before
   * any batch is sent.
   *
   * @returns what an operator should know though sending may begin, each a sentence.
   * @throws DeliveryError whose message says what is wrong.
   */
  open(signal: AbortSignal): Promise<readonly string[]>;
  /**
   * Sends a batch, once. Resolves when the server has said of each record whether it keeps it; an answer that does not say so
   * acknowledges nothing. Several calls may be under way.
   *
   * @param signal is aborted when the time for the request is over, or the output stops.
   * @throws DeliveryError that says who is at fault; any other error is the store's.
   */
  send(batch: Batch, signal: AbortSignal): Promise<Outcome>;
  /** As `send`, for a try by hand that is to leave nothing behind; absent: `send` is used. */
  rehearse?(batch: Batch, signal: AbortSignal): Promise<Outcome>;
  close(): Promise<void>;
}
