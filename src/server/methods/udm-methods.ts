import { setImmediate } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { type EntryTexts, type KeyForm, udmJson, type UdmEntry } from "../../metadata/index.ts";
import { type EntryList, type ListItems, portionBytes, listOfEntries, type UdmService } from "../udm/udm-service.ts";
import { UdmTranscoder, mostMessageBytes, varintSize, writeVarint } from "../udm/udm-transcoder.ts";
import { envelopeSize, type CodecName, type Encodable, type Encoded, type LongMessage } from "../rpc/protocol.ts";
import { NameService } from "../gen/names/v1/names_pb.ts";
import { CountUdmsResponseSchema, UdmService as AddressService } from "../gen/udm/v1/udm_pb.ts";
import { bulk, unary, type RpcService } from "../rpc/method.ts";

/** A message with one repeated field of number 1, such as ListUdmsResponse or ListUdmKeysResponse. */
interface ListMessage {
  readonly list: Pick<EntryList, "texts">;
  readonly items: ListItems;
}

const itemsTag = 0x0a;
/** The most bytes of JSON of a list that is encoded at once. */
const shortSize = 32_768;

/**
 * Returns the message of a short list after `reserved` bytes for its envelope; undefined for a list of more than 32 KiB of JSON.
 *
 * @param transcoder any transcoder. Creating one takes longer than encoding a short list.
 */
export function shortListBytes(
  { list, items }: ListMessage,
  reserved: number,
  transcoder: UdmTranscoder = new UdmTranscoder(),
): Buffer | undefined {
  let made: Buffer | undefined;
  let size = 0;
  for (const portion of list.texts()) {
    size += textBytes(portion);
    if (size > shortSize) return undefined;
    const bytes = writeItems(transcoder, portion, items, made === undefined ? reserved : 0);
    made = made === undefined ? bytes : Buffer.concat([made, bytes]);
  }
  return made ?? Buffer.allocUnsafe(reserved);
}

/** Counts the bytes of the message in several turns of the event loop; returns undefined where `isWanted` reports that nobody waits any more. */
export async function listSize({ list, items }: ListMessage, isWanted: () => boolean): Promise<number | undefined> {
  const sizeOf = itemSizes[items](new UdmTranscoder());
  let size = 0;
  for (const { bytes, starts, count } of list.texts()) {
    for (let i = 0; i < count; i++) {
      const length = sizeOf(bytes, starts[i] as number);
      size += 1 + varintSize(length) + length;
    }
    await setImmediate();
    if (!isWanted()) return undefined;
  }
  return size;
}

/** Yields the bytes of the message, which are made on demand. */
export function* listChunks({ list, items }: ListMessage): Generator<Buffer> {
  const transcoder = new UdmTranscoder();
  for (const portion of list.texts()) yield writeItems(transcoder, portion, items, 0);
}

const keyStart = '{"key":"'.length;
const quote = 0x22;

function keyEnd(bytes: Uint8Array, start: number): number {
  let end = start + keyStart;
  while (bytes[end] !== quote) end++;
  return end;
}

type SizeOf = (bytes: Uint8Array, start: number) => number;

const itemSizes: Readonly<Record<ListItems, (transcoder: UdmTranscoder) => SizeOf>> = {
  udms: (transcoder) => (bytes, start) => transcoder.size(bytes, start),
  keys: () => (bytes, start) => keyEnd(bytes, start) - start - keyStart,
};

function textBytes({ starts, ends, count }: EntryTexts): number {
  let size = 0;
  for (let i = 0; i < count; i++) size += (ends[i] as number) - (starts[i] as number);
  return size;
}

function keyBytes({ bytes, starts, count }: EntryTexts): number {
  let size = 0;
  for (let i = 0; i < count; i++) size += keyEnd(bytes, starts[i] as number) - (starts[i] as number) - keyStart;
  return size;
}

/** Returns the items of a portion after some reserved bytes. */
function writeItems(transcoder: UdmTranscoder, texts: EntryTexts, items: ListItems, reserved: number): Buffer {
  const { bytes, starts, ends, count } = texts;
  const most = items === "udms" ? mostMessageBytes(textBytes(texts)) : keyBytes(texts);
  const out = Buffer.allocUnsafe(reserved + most + maxHead * count);
  let to = reserved;
  /** The bytes of the previous item's length field. Most items need the same. */
  let head = 1;
  for (let i = 0; i < count; i++) {
    const start = starts[i] as number;
    out[to] = itemsTag;
    const first = to + 1 + head;
    const end = items === "udms" ? transcoder.write(bytes, start, out, first) : writeKey(bytes, start, out, first);
    const length = end - first;
    const needed = varintSize(length);
    if (needed !== head) out.copyWithin(first + needed - head, first, end);
    writeVarint(length, out, to + 1);
    to = end + needed - head;
    head = needed;
  }
  if (to > out.length) throw new Error(`${ends[count - 1]} bytes of JSON became too many`);
  return out.subarray(0, to);
}

const maxHead = 6;

function writeKey(bytes: Uint8Array, start: number, out: Uint8Array, first: number): number {
  let to = first;
  for (let at = start + keyStart; bytes[at] !== quote; at++) out[to++] = bytes[at] as number;
  return to;
}

/** The shared transcoder. Creating one takes longer than encoding a short list. */
const transcoder = new UdmTranscoder();

/** Returns the message udm.v1.Udm of an entry. */
function entryAnswer(entry: UdmEntry): Encodable {
  return new EntryAnswer(entry);
}

/** Returns a message with one repeated field of number 1, `udms` or `keys`. */
export function listAnswer(list: EntryList, items: ListItems): Encodable {
  return new ListAnswer(list, items);
}

/** The answer of an entry. It is a class, because new closures would cost too much for each call. */
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
  return { size: (isWanted) => listSize(message, isWanted), chunks: () => listChunks(message) };
}

function jsonList(list: EntryList, items: ListItems): Encoded {
  let bytes: Uint8Array | undefined;
  for (const chunk of list.rendered(items)) {
    bytes = bytes === undefined ? chunk : Buffer.concat([bytes, chunk]);
    if (bytes.length > portionBytes) return longJsonList(list, items);
  }
  // An empty list is a zero value, which is left out.
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
      for (const chunk of list.rendered(items)) {
        size += chunk.length;
        await setImmediate();
        if (!isWanted()) return undefined;
      }
      return size;
    },
    *chunks() {
      yield start;
      yield* list.rendered(items);
      yield end;
    },
  };
}

/** Returns udm.v1.UdmService or names.v1.NameService, which have the same methods, with one row for each. */
export function udmMethods(service: UdmService, keys: KeyForm = "addresses"): RpcService {
  const schema = keys === "names" ? NameService : AddressService;
  const { method } = schema;
  return {
    schema,
    area: "metadata",
    // Names belong to no scope.
    ...(keys === "addresses" && { reach: { scope: undefined } }),
    requireEnabled: () => service.requireEnabled(),
    methods: [
      unary(method.countUdms, "viewer", () => create(CountUdmsResponseSchema, { count: service.countUdms() })),
      unary(method.listUdms, "viewer", (request) => listAnswer(service.listUdms(request), "udms")),
      unary(method.listUdmKeys, "viewer", (request) => listAnswer(service.listUdms(request), "keys")),
      unary(method.createUdm, "editor", async (request, call) => entryAnswer(await service.createUdm(request, call))),
      bulk(method.batchCreateUdms, "editor", async (request, call) =>
        listAnswer(listOfEntries(await service.batchCreateUdms(request, call)), "udms"),
      ),
      unary(method.updateUdm, "editor", async (request, call) => entryAnswer(await service.updateUdm(request, call))),
      bulk(method.batchUpdateUdms, "editor", async (request, call) =>
        listAnswer(listOfEntries(await service.batchUpdateUdms(request, call)), "udms"),
      ),
      unary(method.deleteUdm, "editor", async (request, call) => {
        await service.deleteUdm(request, call);
        return create(EmptySchema);
      }),
    ],
  };
}
