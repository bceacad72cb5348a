import { setImmediate } from "node:timers/promises";
import { udmJson, type UdmEntry } from "../../udm/index.ts";
import { envelopeSize, type Encodable, type Encoded } from "../rpc/encoded.ts";
import { portionBytes, type EntryList, type ListItems } from "./entry-list.ts";
import { listPieces, listSize, shortListBytes } from "./list-message.ts";
import { createUdmTranscoder, mostMessageBytes } from "./udm-transcoder.ts";

/** Making one takes longer than a short list. */
const transcoder = createUdmTranscoder();

/** The message udm.v1.Udm of an entry. */
export function entryAnswer(entry: UdmEntry): Encodable {
  return {
    encode(codec) {
      const text = udmJson(entry);
      if (codec === "json") return text;
      const json = Buffer.from(text);
      const bytes = Buffer.allocUnsafe(envelopeSize + mostMessageBytes(json.length));
      return bytes.subarray(0, transcoder.write(json, 0, bytes, envelopeSize));
    },
  };
}

/** A message with one repeated field, `udms` or `keys`, its number 1. */
export function listAnswer(list: EntryList, items: ListItems): Encodable {
  return { encode: (codec) => (codec === "json" ? jsonList(list, items) : protoList(list, items)) };
}

function protoList(list: EntryList, items: ListItems): Encoded {
  const message = { texts: list.texts(), items };
  return (
    shortListBytes(message, envelopeSize, transcoder) ?? {
      size: (isWanted) => listSize(message, isWanted),
      pieces: () => listPieces(message),
    }
  );
}

function jsonList(list: EntryList, items: ListItems): Encoded {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (const piece of list.rendered(items)) {
    pieces.push(piece);
    size += piece.length;
    if (size > portionBytes) return longJsonList(list, items);
  }
  // An empty list is a zero value and left out.
  if (size === 0) return "{}";
  const [first] = pieces;
  const text = pieces.length === 1 && Buffer.isBuffer(first) ? first : Buffer.concat(pieces);
  return `{"${items}":[${text.toString()}]}`;
}

function longJsonList(list: EntryList, items: ListItems): Encoded {
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
