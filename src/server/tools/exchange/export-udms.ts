import { setImmediate } from "node:timers/promises";
import {
  exchangeFormats,
  exportEntries,
  fromUdmEntry,
  type ExchangeEntry,
  type ExchangeFormat,
} from "../../../metadata/index.ts";
import type { Key } from "../../../base/ip/index.ts";
import type { UdmEntry, UdmIndex } from "../../../metadata/index.ts";
import { quote } from "../../../base/text/index.ts";
import type { ExportUdmsRequest } from "../../gen/udm/v1/tools_pb.ts";
import type { CodecName, Encodable, LongMessage } from "../../rpc/encoded.ts";
import { badRequest } from "../../udm/store-fault.ts";
import { varintSize, writeVarint } from "../../udm/varint.ts";
import type { ToolsCaller, ToolsContext } from "../common/tools-context.ts";
import { narrowFilter } from "../search/narrow-filter.ts";
import { findInJson } from "../search/find-bytes.ts";
import { scanEntries } from "../search/scan-entries.ts";
import { matcherOf, readFilter } from "../search/search-udms.ts";

export async function exportUdms(
  context: ToolsContext,
  { format: formatText, filter: expression, text }: ExportUdmsRequest,
  caller: ToolsCaller,
): Promise<Encodable> {
  const index = context.current();
  const format = readFormat(formatText);
  const filter = readFilter(expression);
  const keys: Key[] = [];
  if (filter !== undefined || text !== "") {
    const { anyOf, within, asksForContexts, asksForLayers } = narrowFilter(filter);
    if (asksForLayers) {
      const description = "filter asks for layers: an export has the entries that people write";
      throw badRequest([{ field: "filter", description }]);
    }
    const isMatch = matcherOf(filter, text);
    const find = text === "" ? undefined : findInJson(text);
    const needles = find === undefined ? anyOf : [[find], ...anyOf];
    await scanEntries(index, { within, anyOf: needles, check: () => caller.throwIfAborted() }, (entry) => {
      if (isMatch(asksForContexts ? (index.get(entry.key) as UdmEntry) : entry)) keys.push(entry.key);
      return true;
    });
    return exportAnswer(() => entriesOf(index, keys), format, keys.length);
  }
  return exportAnswer(() => allOf(index), format, index.size);
}

/** @throws ConnectError `invalid_argument` */
export function readFormat(text: string): ExchangeFormat {
  const format = exchangeFormats.find((one) => one === text);
  if (format !== undefined) return format;
  const description = `format ${quote(text)} is not known: expected ${exchangeFormats.join(", ")}`;
  throw badRequest([{ field: "format", description }]);
}

function* entriesOf(index: UdmIndex, keys: readonly Key[]): Iterable<ExchangeEntry> {
  for (const key of keys) yield fromUdmEntry(index.get(key) as UdmEntry);
}

function* allOf(index: UdmIndex): Iterable<ExchangeEntry> {
  for (const entry of index.entries()) yield fromUdmEntry(entry);
}

/** The message ExportUdmsResponse, made while it is sent: a plan may be longer than what can be held. */
function exportAnswer(entries: () => Iterable<ExchangeEntry>, format: ExchangeFormat, count: number): Encodable {
  return { encode: (codec: CodecName) => messages[codec](() => exportEntries(entries, format), count) };
}

const messages: Readonly<Record<CodecName, (texts: () => Iterable<string>, count: number) => LongMessage>> = {
  json(texts, count) {
    const pieces = function* (): Generator<Buffer> {
      yield Buffer.from('{"text":"');
      for (const text of texts()) yield Buffer.from(JSON.stringify(text).slice(1, -1));
      yield Buffer.from(count === 0 ? '"}' : `","entries":${count}}`);
    };
    return { size: (isWanted) => sizeOf(pieces(), isWanted), pieces };
  },
  proto(texts, count) {
    let length: number | undefined;
    const bytes = function* (): Generator<Buffer> {
      for (const text of texts()) yield Buffer.from(text);
    };
    const tail = count === 0 ? Buffer.alloc(0) : tagged(entriesTag, count);
    return {
      needsSize: true,
      async size(isWanted) {
        const size = await sizeOf(bytes(), isWanted);
        if (size === undefined) return undefined;
        length = size;
        return tagged(textTag, size).length + size + tail.length;
      },
      *pieces() {
        if (length === undefined) throw new Error("the length of the text is not known yet");
        yield tagged(textTag, length);
        yield* bytes();
        yield tail;
      },
    };
  },
};

// Of ExportUdmsResponse: number and wire type of its fields.
const textTag = 0x0a;
const entriesTag = 0x10;

function tagged(tag: number, value: number): Buffer {
  const bytes = Buffer.alloc(1 + varintSize(value));
  bytes[0] = tag;
  writeVarint(value, bytes, 1);
  return bytes;
}

async function sizeOf(pieces: Iterable<Uint8Array>, isWanted: () => boolean): Promise<number | undefined> {
  let size = 0;
  for (const piece of pieces) {
    size += piece.length;
    await setImmediate();
    if (!isWanted()) return undefined;
  }
  return size;
}
