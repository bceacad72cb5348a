import { batchKey, forEachLine, positionOf, type Batch } from "../delivery/batch.ts";
import { DeliveryError, type Blame } from "../delivery/delivery-error.ts";
import { createKeyFinder, endOfKey } from "../delivery/line-fields.ts";
import { allAccepted, type OutputAdapter, type Refusal } from "../delivery/output-adapter.ts";
import { recordTypeOf } from "../delivery/record-type.ts";
import type { AdapterContext } from "../output-kind.ts";
import { serversOf, type NatsSettings } from "./settings.ts";
import { connectNats, natsFailure, type NatsPublisher, type StreamMessage } from "./nats-connection.ts";
import { prepareStream } from "./nats-stream.ts";

/** Error codes of JetStream by who is at fault; others: the server. A message may be longer than the stream allows. */
const blames: ReadonlyMap<number, Blame> = new Map([
  [10_054, "record"],
  // No stream takes the subject, or JetStream is off for the account.
  [503, "operator"],
  [10_039, "operator"],
  [10_076, "operator"],
  // The stream is full and discards what is new, is sealed, or the account's storage is used up.
  [10_077, "operator"],
  [10_109, "operator"],
  [10_002, "operator"],
  [10_028, "operator"],
  [10_047, "operator"],
]);
/** The header with the identity of a message has fewer bytes. */
const headerBytes = 128;

/**
 * Publishes each record as a message of its own to a stream of JetStream. Its identity is the message's `Nats-Msg-Id`, so
 * the stream keeps a record once that is sent again within its duplicate window.
 */
export function createNatsOutput(settings: NatsSettings, { nameOf }: AdapterContext): OutputAdapter {
  const subjectOf = createSubjectOf(settings, nameOf);
  let publisher: NatsPublisher | undefined;
  let connecting: Promise<NatsPublisher> | undefined;

  const connected = async (): Promise<NatsPublisher> => {
    if (publisher !== undefined && !publisher.isClosed) return publisher;
    connecting ??= connectNats(settings).finally(() => (connecting = undefined));
    publisher = await connecting;
    return publisher;
  };

  return {
    async open() {
      const open = await connected();
      return prepareStream(open, settings).catch((error: unknown) => {
        throw natsFailure(error, serversOf(settings).join(", "));
      });
    },
    async send(batch, signal) {
      const open = await connected();
      const refused: Refusal[] = [];
      const retry: number[] = [];
      const { messages, indexes } = messagesOf(batch, subjectOf, open.maxPayload - headerBytes, refused);
      let fault: DeliveryError | undefined;
      await open.publish(
        messages,
        (at, answer) => {
          if (answer.isStored) return;
          const index = indexes[at] ?? 0;
          const blame = blames.get(answer.code) ?? "store";
          if (blame === "record") {
            refused.push({ index, reason: answer.text });
            return;
          }
          retry.push(index);
          fault ??= new DeliveryError(blame, `nats_${answer.code}`, `${settings.SUBJECT}: ${answer.text}`);
        },
        signal,
      );
      if (fault !== undefined && retry.length === batch.count) throw fault;
      if (refused.length + retry.length === 0) return allAccepted;
      return { refused, retry: retry.toSorted((a, b) => a - b), ...(fault && { fault }) };
    },
    async close() {
      publisher?.close();
    },
  };
}

function messagesOf(
  batch: Batch,
  subjectOf: (line: Buffer) => string,
  maxBytes: number,
  refused: Refusal[],
): { readonly messages: readonly StreamMessage[]; readonly indexes: readonly number[] } {
  const key = batchKey(batch.id);
  const messages: StreamMessage[] = [];
  const indexes: number[] = [];
  forEachLine(batch, (lines, from, to, index) => {
    if (to - from > maxBytes) {
      refused.push({ index, reason: `the record is longer than the server's max_payload` });
      return;
    }
    const payload = lines.subarray(from, to);
    messages.push({ subject: subjectOf(payload), id: `${key}-${positionOf(batch, index).toString(36)}`, payload });
    indexes.push(index);
  });
  return { messages, indexes };
}

/** `<subject>.<type>.<key>`; what cannot be part of a subject is an underscore, so the key is one token. */
function createSubjectOf(settings: NatsSettings, nameOf: AdapterContext["nameOf"]): (line: Buffer) => string {
  const { SUBJECT: subject } = settings;
  const findKey = createKeyFinder(settings.SUBJECT_KEY.map(nameOf));
  return (line) => {
    const type = `${subject}.${recordTypeOf(line, 0, line.length)}`;
    const at = findKey(line, 0, line.length);
    const key = at < 0 ? "" : line.toString("utf8", at, endOfKey(line, at, line.length));
    return key === "" ? type : `${type}.${key.replaceAll(/[.*>\s\p{Cc}]/gu, "_")}`;
  };
}
