import { setImmediate } from "node:timers/promises";
import { toBinary, toJsonString, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { encode, type CodecName, type Encodable, type Encoded, type LongMessage } from "../../rpc/encoded.ts";
import { varintSize, writeVarint } from "../../udm/varint.ts";

/** How many elements are made at once. */
const elementsAtOnce = 100;

/** A message with a list that may be long. */
export interface ListedMessage<D extends DescMessage, E extends DescMessage> {
  readonly desc: D;
  /** The message, its list empty. */
  readonly rest: MessageShape<D>;
  /** The list: a field of messages, whose number is below 16. */
  readonly field: keyof MessageShape<D> & string;
  readonly element: E;
  readonly count: number;
  /** Made when it is needed. */
  readonly at: (i: number) => MessageShape<E>;
  /** The same as JSON, where it is known without the message. */
  readonly jsonAt?: ((i: number) => string) | undefined;
}

/** The answer of a message with a list: at once when that is short, else piece by piece. */
export function listedAnswer<D extends DescMessage, E extends DescMessage>(message: ListedMessage<D, E>): Encodable {
  return { encode: (codec) => encodeListed(codec, message) };
}

function encodeListed<D extends DescMessage, E extends DescMessage>(
  codec: CodecName,
  message: ListedMessage<D, E>,
): Encoded {
  const { desc, rest, field, count, at, jsonAt } = message;
  if (count <= elementsAtOnce) {
    if (codec === "json" && jsonAt !== undefined && count > 0) {
      return Buffer.concat([...jsonPieces(message)()]).toString();
    }
    return encode(codec, desc, { ...rest, [field]: Array.from({ length: count }, (_, i) => at(i)) });
  }
  return longMessage(codec === "json" ? jsonPieces(message) : protoPieces(message));
}

/**
 * A message that is made piece by piece, in turns.
 *
 * @param pieces may be empty, where something was made that only comes with a later one.
 * @param isShared whether several clients get it: it is made once for all of them then, whoever has gone.
 */
export function longMessage(pieces: () => Iterable<Buffer>, isShared = false): LongMessage {
  let made: Buffer[] | undefined;
  let making: Promise<number | undefined> | undefined;
  const make = async (isWanted: () => boolean): Promise<number | undefined> => {
    const parts: Buffer[] = [];
    let size = 0;
    for (const piece of pieces()) {
      if (piece.length > 0) parts.push(piece);
      size += piece.length;
      await setImmediate();
      if (!isWanted()) return undefined;
    }
    made = parts;
    return size;
  };
  return {
    size: (isWanted) => (isShared ? (making ??= make(() => true)) : make(isWanted)),
    pieces: () => made ?? pieces(),
  };
}

/** The tag and the length of a field of bytes, whose number is below 16. */
export function fieldHead(number: number, length: number): Buffer {
  const head = Buffer.alloc(1 + varintSize(length));
  head[0] = (number << 3) | 2;
  writeVarint(length, head, 1);
  return head;
}

function jsonPieces<D extends DescMessage, E extends DescMessage>(
  message: ListedMessage<D, E>,
): () => Iterable<Buffer> {
  const { desc, rest, field, element, count, at, jsonAt = (i) => toJsonString(element, at(i)) } = message;
  return function* () {
    const name = desc.field[field]?.jsonName ?? field;
    for (let i = 0; i < count; i += elementsAtOnce) {
      let text = i === 0 ? `{"${name}":[` : ",";
      const end = Math.min(count, i + elementsAtOnce);
      for (let n = i; n < end; n++) text += `${n === i ? "" : ","}${jsonAt(n)}`;
      yield Buffer.from(text);
    }
    const others = toJsonString(desc, rest).slice(1);
    yield Buffer.from(others === "}" ? "]}" : `],${others}`);
  };
}

function protoPieces<D extends DescMessage, E extends DescMessage>(
  message: ListedMessage<D, E>,
): () => Iterable<Buffer> {
  const { desc, rest, field, element, count, at } = message;
  return function* () {
    const number = desc.field[field]?.number ?? 0;
    for (let i = 0; i < count; i += elementsAtOnce) {
      const parts: Uint8Array[] = [];
      for (let n = i; n < Math.min(count, i + elementsAtOnce); n++) {
        const bytes = toBinary(element, at(n));
        parts.push(fieldHead(number, bytes.length), bytes);
      }
      yield Buffer.concat(parts);
    }
    yield Buffer.from(toBinary(desc, rest));
  };
}
