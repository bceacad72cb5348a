import { setImmediate } from "node:timers/promises";
import { udmJson, type UdmEntry } from "../../udm/index.ts";
import { envelopeSize, type CodecName, type Encodable, type Encoded, type LongMessage } from "../rpc/encoded.ts";
import { portionBytes, type EntryList, type ListItems } from "./entry-list.ts";
import { listPieces, listSize, shortListBytes, type ListMessage } from "./list-message.ts";
import { createUdmTranscoder, mostMessageBytes } from "./udm-transcoder.ts";

/** Making one takes longer than a short list. */
const transcoder = createUdmTranscoder();

/** The message udm.v1.Udm of an entry. */
export function entryAnswer(entry: UdmEntry): Encodable {
  return new EntryAnswer(entry);
}

/** A message with one repeated field, `udms` or `keys`, its number 1. */
export function listAnswer(list: EntryList, items: ListItems): Encodable {
  return new ListAnswer(list, items);
}

/** Classes, because closures of their own cost too much for each call. */
class EntryAnswer implements Encodable {
  readonly #entry: UdmEntry;

  constructor(entry: UdmEntry) {
    this.#entry = entry;
  }

  encode(codec: CodecName): Encoded {
    const text = udmJson(this.#entry);
    if (codec === "json") return text;
    const json = Buffer.from(text);
    const bytes = Buffer.allocUnsafe(envelopeSize + mostMessageBytes(json.length));
    return bytes.subarray(0, transcoder.write(json, 0, bytes, envelopeSize));
  }
}

class ListAnswer implements Encodable, ListMessage {
  readonly list: EntryList;
  readonly items: ListItems;

  constructor(list: EntryList, items: ListItems) {
    this.list = list;
    this.items = items;
  }

  encode(codec: CodecName): Encoded {
    if (codec === "json") return jsonList(this.list, this.items);
    return shortListBytes(this, envelopeSize, transcoder) ?? longProtoList(this);
  }
}

function longProtoList(message: ListMessage): LongMessage {
  return { size: (isWanted) => listSize(message, isWanted), pieces: () => listPieces(message) };
}

function jsonList(list: EntryList, items: ListItems): Encoded {
  let bytes: Uint8Array | undefined;
  for (const piece of list.rendered(items)) {
    bytes = bytes === undefined ? piece : Buffer.concat([bytes, piece]);
    if (bytes.length > portionBytes) return longJsonList(list, items);
  }
  // An empty list is a zero value and left out.
  if (bytes === undefined) return "{}";
  const text = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return `{"${items}":[${text.toString()}]}`;
}

function longJsonList(list: EntryList, items: ListItems): LongMessage {
  const start = Buffer.from(`{"${items}":[`);
  const end = Buffer.from("]}");
  return {
    async size(isWanted) {
      let size = start.length + end.length;
      for (const piece of list.rendered(items)) {
        size += piece.length;
        await setImmediate();
        if (!isWanted()) return undefined;
      }
      return size;
    },
    *pieces() {
      yield start;
      yield* list.rendered(items);
      yield end;
    },
  };
}
