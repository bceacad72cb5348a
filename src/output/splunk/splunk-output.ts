import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../report/index.ts";
import type { Batch, BatchId } from "../delivery/batch.ts";
import { DeliveryError } from "../delivery/delivery-error.ts";
import { createHttpClient, type HttpAnswer, type HttpClient } from "../delivery/http-client.ts";
import type { NameOf } from "../delivery/field-names.ts";
import { httpFailure } from "../delivery/http-failure.ts";
import { allAccepted, type Outcome, type OutputAdapter } from "../delivery/output-adapter.ts";
import { createPostOutput, type PostConfig } from "../http/post-output.ts";
import { createEventReader, encodeEvents, type EventOptions } from "./events.ts";

/** What the settings say of an output to Splunk's HTTP Event Collector; plain data. */
export interface SplunkOutputConfig extends PostConfig, EventOptions {
  /** Whether events have the fields of Splunk's Common Information Model (Network Traffic), too. */
  readonly hasCimFields: boolean;
  readonly kind: "splunk";
  /** `event`: each record is an event with its time and host. `raw`: lines, which Splunk takes apart by the source type. */
  readonly format: "event" | "raw";
}

/** What the collector says; https://docs.splunk.com names the codes. */
interface HecAnswer {
  readonly text?: string;
  readonly code?: number;
  readonly ackId?: number;
  readonly acks?: Readonly<Record<string, boolean>>;
  readonly "invalid-event-number"?: number;
}

const noData = 5;
const incorrectIndex = 7;
/** Invalid data format, event missing, event blank, error in indexed fields. */
const ofContent: ReadonlySet<number> = new Set([6, 12, 13, 15]);
/** How often is asked whether a batch is indexed. */
const ackPollMs = 250;

/**
 * Posts events. Where the token has indexer acknowledgement, a batch is delivered when Splunk says that it is indexed, else when it is
 * received. A batch that is sent again is not recognised: at least once.
 */
export function createSplunkOutput(config: SplunkOutputConfig, clock: Clock, nameOf: NameOf): OutputAdapter {
  const { format, index, source, sourcetype, headers, tls } = config;
  const reader = createEventReader(nameOf, config.hasCimFields);
  const path = `/services/collector/${format}`;
  const parameters = new URLSearchParams({ ...(index && { index }), ...(source && { source }), sourcetype }).toString();
  // Only the server that took a batch knows its acknowledgement.
  const ackClients = new Map<string, HttpClient>();

  const awaitAck = async (url: string, channel: string, id: number, signal: AbortSignal): Promise<void> => {
    let client = ackClients.get(url);
    if (client === undefined) {
      client = createHttpClient({ urls: [url], headers, tls, maxConnections: 1, clock });
      ackClients.set(url, client);
    }
    for (;;) {
      const answer = await client.request({
        method: "POST",
        path: "/services/collector/ack",
        headers: { "content-type": "application/json", "x-splunk-request-channel": channel },
        body: [Buffer.from(JSON.stringify({ acks: [id] }))],
        signal,
      });
      if (answer.status !== 200) {
        const { code, message, retryAfterMs } = httpFailure(answer, clock);
        throw new DeliveryError("retry", code, `whether a batch is indexed cannot be asked: ${message}`, {
          retryAfterMs,
        });
      }
      if (parse(answer).acks?.[String(id)] === true) return;
      await sleep(ackPollMs, undefined, { signal });
    }
  };

  return createPostOutput(
    config,
    {
      contentType: format === "event" ? "application/json" : "text/plain",
      path: format === "event" ? path : `${path}?${parameters}`,
      encode: (batch) => (format === "event" ? [encodeEvents(batch, config, reader)] : batch.chunks),
      headersOf: ({ id }) => ({ "x-splunk-request-channel": channelOf(id) }),
      async open(client, signal) {
        // Without an event: the token is judged, and nothing is indexed.
        const answer = await client.request({
          method: "POST",
          path,
          headers: { "x-splunk-request-channel": channelOf({ instance: "first contact", number: 0 }) },
          signal,
        });
        if (answer.status === 400 || answer.status < 300) {
          const { code = noData, text = "" } = parse(answer);
          return code === noData || code === 0
            ? []
            : [`the server answers ${code} (${text}) to a request without events`];
        }
        throw httpFailure(answer, clock);
      },
      async accepted(answer, { id }, signal) {
        const { ackId } = parse(answer);
        if (ackId !== undefined) await awaitAck(answer.url, channelOf(id), ackId, signal);
        return allAccepted;
      },
      refused: (answer, batch) => (answer.status === 400 ? refusedOutcome(answer, batch) : undefined),
      close() {
        for (const client of ackClients.values()) client.close();
      },
    },
    clock,
  );
}

/**
 * What status 400 says of the records. The number of an event that cannot be read is known: the others are sent again.
 *
 * @throws DeliveryError
 */
function refusedOutcome(answer: HttpAnswer, batch: Batch): Outcome {
  const { code = 0, text = "", "invalid-event-number": bad = -1 } = parse(answer);
  const place = new URL(answer.url).host;
  if (!ofContent.has(code)) {
    const hint = code === incorrectIndex ? ": may the token write to this index?" : "";
    throw new DeliveryError("retry", `hec_${code}`, `${place} answers ${code} (${text})${hint}`);
  }
  if (bad < 0 || bad >= batch.count || batch.count === 1) {
    throw new DeliveryError("split", `hec_${code}`, `${place} refuses the content: ${text}`);
  }
  const retry = Array.from({ length: batch.count }, (_, index) => index).filter((index) => index !== bad);
  return { refused: [{ index: bad, reason: text }], retry };
}

/** Splunk counts acknowledgements by channels, which are UUIDs; each run of the collector has its own. */
function channelOf({ instance }: BatchId): string {
  const hex = createHash("sha256").update(instance).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function parse({ body }: HttpAnswer): HecAnswer {
  try {
    return JSON.parse(body.toString()) as HecAnswer;
  } catch {
    return {};
  }
}
