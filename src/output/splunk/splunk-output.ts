import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { LineWalker } from "../../record/index.ts";
import { forEachLine, type Batch, type BatchId } from "../delivery/batch.ts";
import { BodyWriter } from "../delivery/line-fields.ts";
import type { NameOf } from "../delivery/line-fields.ts";
import { endOfValue, fieldKey, findValue, createTimeOf } from "../delivery/line-fields.ts";
import { DeliveryError, type Blame } from "../delivery/output-adapter.ts";
import { HttpClient, type HttpAnswer } from "../delivery/http-client.ts";
import { httpFailure, notAcknowledged } from "../delivery/http-client.ts";
import { allAccepted, type Outcome, type OutputAdapter } from "../delivery/output-adapter.ts";
import { PostOutput } from "../http/http-output.ts";
import { postConfig } from "../http/server-settings.ts";
import type { AdapterContext } from "../output-kind.ts";
import type { SplunkSettings } from "./settings.ts";

/** Metadata of every event; empty: the token's defaults. */
type EventSettings = Pick<SplunkSettings, "INDEX" | "SOURCE" | "SOURCETYPE">;

const hostFields = ["flow.export.ip.addr", "system.ip.addr"];

/** Fields of the data model Network Traffic (Common Information Model), with the record fields they come from. */
const cimFields = {
  src_ip: "flow.src.ip.addr",
  dest_ip: "flow.dst.ip.addr",
  src_port: "flow.src.l4.port.id",
  dest_port: "flow.dst.l4.port.id",
  src_mac: "flow.src.mac.addr",
  dest_mac: "flow.dst.mac.addr",
  transport: "l4.proto.name",
  app: "app.name",
  bytes: "flow.bytes",
  packets: "flow.packets",
  dvc: "flow.export.ip.addr",
  src_interface: "flow.in.netif.name",
  dest_interface: "flow.out.netif.name",
  vlan_id: "flow.src.vlan.tag.id",
};

/** Finds the fields in a line that Splunk needs. It caches names, so it is made only once. */
interface EventReader {
  readonly hosts: readonly Buffer[];
  /** The text before each field of the data model. */
  readonly starts: readonly string[];
  /** Calls back with the index of a field among these. */
  readonly cim: LineWalker<number>;
}

/** @param hasCimFields true if the fields of the data model are included. */
export function createEventReader(nameOf: NameOf, hasCimFields: boolean): EventReader {
  const fields = hasCimFields ? Object.entries(cimFields) : [];
  const uses = new Map(fields.map(([, field], use) => [nameOf(field), use]));
  return {
    hosts: hostFields.map((field) => fieldKey(nameOf(field))),
    starts: fields.map(([name]) => `"${name}":`),
    cim: new LineWalker((name) => uses.get(name)),
  };
}

function metadataOf({ INDEX, SOURCE, SOURCETYPE }: EventSettings): Record<string, string> {
  return { ...(INDEX && { index: INDEX }), ...(SOURCE && { source: SOURCE }), sourcetype: SOURCETYPE };
}

/** Encodes the records of a batch as events: metadata of Splunk around each line, which stays unchanged. */
export function encodeEvents(batch: Batch, settings: EventSettings, reader: EventReader): Uint8Array {
  const { hosts, starts, cim } = reader;
  const fixed = JSON.stringify(metadataOf(settings)).slice(0, -1);
  const timeOf = createTimeOf();
  const out = new BodyWriter(batch.byteLength + batch.count * (fixed.length + 96));
  let lines = Buffer.alloc(0);
  let isFirst = true;
  const writeField = (use: number, _name: number, value: number, end: number): void => {
    out.text(isFirst ? ',"fields":{' : ",");
    out.text(starts[use] as string);
    out.bytes(lines, value, end);
    isFirst = false;
  };
  forEachLine(batch, (chunk, from, to) => {
    lines = chunk as Buffer<ArrayBuffer>;
    isFirst = true;
    out.text(fixed);
    const time = timeOf(lines, from, to);
    if (time > 0) out.text(`,"time":${(time / 1000).toFixed(3)}`);
    for (const key of hosts) {
      const host = findValue(lines, from, to, key);
      if (host < 0) continue;
      out.text(',"host":');
      out.bytes(lines, host, endOfValue(lines, host, to));
      break;
    }
    if (starts.length > 0) cim.walk(lines, from, to, writeField);
    out.text(isFirst ? ',"event":' : '},"event":');
    out.bytes(lines, from, to);
    out.text("}\n");
  });
  return out.body();
}

/** The answer of Splunk's HTTP Event Collector; https://docs.splunk.com lists the codes. */
interface HecAnswer {
  readonly text?: string;
  readonly code?: number;
  readonly ackId?: number;
  readonly acks?: Readonly<Record<string, boolean>>;
  readonly "invalid-event-number"?: number;
}

const hec = "Splunk's HTTP Event Collector";
const noData = 5;
const success = 0;
/** Who is at fault by the collector's code, whatever the status, and what to do; others: by the status. */
const blames: Readonly<Record<number, readonly [Blame, advice: string]>> = {
  1: ["operator", "turn the token on"],
  2: ["operator", "set the token"],
  3: ["operator", "look at the token"],
  4: ["operator", "look at the token"],
  6: ["record", ""],
  7: ["operator", "may the token write to this index?"],
  8: ["unclear", ""],
  9: ["store", ""],
  10: ["operator", "look at the settings of the token"],
  11: ["operator", "look at the settings of the token"],
  12: ["record", ""],
  13: ["record", ""],
  14: ["operator", "turn indexer acknowledgement of the token on or off"],
  15: ["record", ""],
};
/** The interval between requests whether a batch is indexed, milliseconds. */
const ackPollMs = 250;

/**
 * Posts events. If the token has indexer acknowledgement, a batch is delivered when Splunk reports it as indexed, else when it is
 * received. Splunk does not recognise a batch that is sent again: at least once.
 */
export function createSplunkOutput(settings: SplunkSettings, { clock, nameOf }: AdapterContext): OutputAdapter {
  const { FORMAT: format, TOKEN: token } = settings;
  const server = postConfig(settings, token === "" ? {} : { authorization: `Splunk ${token}` });
  const { headers, tls } = server;
  const reader = createEventReader(nameOf, settings.CIM_ENABLE);
  const path = `/services/collector/${format}`;
  const parameters = new URLSearchParams(metadataOf(settings)).toString();
  // Only the server that took a batch knows its acknowledgement.
  const ackClients = new Map<string, HttpClient>();

  const awaitAck = async (url: string, channel: string, id: number, signal: AbortSignal): Promise<void> => {
    let client = ackClients.get(url);
    if (client === undefined) {
      client = new HttpClient({ urls: [url], headers, tls, maxConnections: 1 }, clock);
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
        const { blame, code, message, retryAfterMs } = httpFailure(answer, clock);
        throw new DeliveryError(
          blame === "operator" ? blame : "store",
          code,
          `whether a batch is indexed cannot be asked: ${message}`,
          {
            retryAfterMs,
          },
        );
      }
      if (parse(answer).acks?.[String(id)] === true) return;
      await sleep(ackPollMs, undefined, { signal });
    }
  };

  return new PostOutput(
    server,
    {
      name: hec,
      contentType: format === "event" ? "application/json" : "text/plain",
      path: format === "event" ? path : `${path}?${parameters}`,
      encode: (batch) => (format === "event" ? [encodeEvents(batch, settings, reader)] : batch.chunks),
      headersOf: ({ id }) => ({ "x-splunk-request-channel": channelOf(id) }),
      async open(client, signal) {
        // Send no event: this checks the token, and indexes nothing.
        const answer = await client.request({
          method: "POST",
          path,
          headers: { "x-splunk-request-channel": channelOf({ instance: "first contact", number: 0 }) },
          signal,
        });
        if (answer.status === 400 || answer.status < 300) {
          const { code, text = "" } = parse(answer);
          if (code === undefined)
            throw answer.status === 400 ? httpFailure(answer, clock) : notAcknowledged(answer, hec);
          return code === noData || code === success
            ? []
            : [`the server answers ${code} (${text}) to a request without events`];
        }
        throw httpFailure(answer, clock);
      },
      async accepted(answer, { id }, signal) {
        const { ackId, code = ackId === undefined ? -1 : success } = parse(answer);
        if (code !== success) throw notAcknowledged(answer, hec);
        if (ackId !== undefined) await awaitAck(answer.url, channelOf(id), ackId, signal);
        return allAccepted;
      },
      refused: refusedOutcome,
      close() {
        for (const client of ackClients.values()) client.close();
      },
    },
    clock,
  );
}

/**
 * Returns the outcome for the code of an answer. The answer gives the number of an event that cannot be read: the others are sent again.
 *
 * @returns undefined without a code: the status counts.
 * @throws DeliveryError
 */
function refusedOutcome(answer: HttpAnswer, batch: Batch): Outcome | undefined {
  const { code = -1, text = "", "invalid-event-number": bad = -1 } = parse(answer);
  const [blame, advice] = blames[code] ?? [];
  // The status says the same, and when to try again.
  if (blame === undefined || blame === "store") return undefined;
  if (blame !== "record" || bad < 0 || bad >= batch.count) {
    const hint = advice === "" ? "" : `: ${advice}`;
    throw new DeliveryError(blame, `hec_${code}`, `${new URL(answer.url).host} answers ${code} (${text})${hint}`);
  }
  const retry = Array.from({ length: batch.count }, (_, index) => index).filter((index) => index !== bad);
  return { refused: [{ index: bad, reason: text }], retry };
}

/** Returns the channel, a UUID, in which Splunk counts acknowledgements; each run of the collector has its own. */
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
