import { fromBinary, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { udmJson, type UdmEntry } from "../../udm/index.ts";
import * as schema from "../gen/udm/v1/udm_pb.ts";
import type { Waiting } from "../rpc/timeouts.ts";
import type { UdmService } from "../rpc/udm-service.ts";
import { listPortion, shortListBytes, textsOf, type ListMessage } from "./list-message.ts";
import { readBatchInTurns } from "./read-batch.ts";
import { readKeyRequest } from "./read-key-request.ts";
import { createUdmTranscoder, mostMessageBytes } from "./udm-transcoder.ts";
import { writeVarint } from "./varint.ts";

/** How many bytes of a {@link ProtoAnswer} are left free for the envelope of gRPC. */
export const envelopeSize = 5;

/** A message behind {@link envelopeSize} bytes, or one to be made piece by piece. */
export type ProtoAnswer = Buffer | ListMessage;

/**
 * Takes the bytes of a request message, gives those of the answer.
 *
 * @returns undefined when the bytes are not such a message.
 * @throws what {@link UdmService} throws.
 */
export type ProtoMethod = (
  bytes: Uint8Array,
  waiting: Waiting,
) => ProtoAnswer | Promise<ProtoAnswer | undefined> | undefined;

/** The methods on protobuf bytes, by their names in the schema. */
export function createProtoMethods(service: UdmService): ReadonlyMap<string, ProtoMethod> {
  const transcoder = createUdmTranscoder();
  const listAnswer = (list: ListMessage): ProtoAnswer => shortListBytes(list, envelopeSize, transcoder) ?? list;
  const methods: Readonly<Record<string, ProtoMethod>> = {
    CountUdms(bytes) {
      if (bytes.length > 0 && read(EmptySchema, bytes) === undefined) return undefined;
      return countBytes(service.countUdms());
    },
    ListUdms(bytes) {
      const request = readKeyRequest(bytes) ?? read(schema.ListUdmsRequestSchema, bytes);
      return request && listAnswer({ texts: service.udmTexts(request, listPortion), items: "udms" });
    },
    ListUdmKeys(bytes) {
      const request = readKeyRequest(bytes) ?? read(schema.ListUdmKeysRequestSchema, bytes);
      return request && listAnswer({ texts: service.udmTexts(request, listPortion), items: "keys" });
    },
    async CreateUdm(bytes, waiting) {
      const request = read(schema.CreateUdmRequestSchema, bytes);
      return request && udmBytes(await service.createUdm(request, waiting));
    },
    async BatchCreateUdms(bytes, waiting) {
      const request = await readBatch(schema.BatchCreateUdmsRequestSchema, schema.CreateUdmRequestSchema, bytes);
      return request && listAnswer({ texts: textsOf(await service.batchCreateUdms(request, waiting)), items: "udms" });
    },
    async UpdateUdm(bytes, waiting) {
      const request = read(schema.UpdateUdmRequestSchema, bytes);
      return request && udmBytes(await service.updateUdm(request, waiting));
    },
    async BatchUpdateUdms(bytes, waiting) {
      const request = await readBatch(schema.BatchUpdateUdmsRequestSchema, schema.UpdateUdmRequestSchema, bytes);
      return request && listAnswer({ texts: textsOf(await service.batchUpdateUdms(request, waiting)), items: "udms" });
    },
    async DeleteUdm(bytes, waiting) {
      const request = read(schema.DeleteUdmRequestSchema, bytes);
      if (request === undefined) return undefined;
      await service.deleteUdm(request, waiting);
      return Buffer.alloc(envelopeSize);
    },
  };
  return new Map(Object.entries(methods));
}

function read<Desc extends DescMessage>(desc: Desc, bytes: Uint8Array): MessageShape<Desc> | undefined {
  try {
    return fromBinary(desc, bytes);
  } catch {
    return undefined;
  }
}

/** From how many bytes on a batch is read in turns. */
export const longBatch = 65_536;

async function readBatch<Batch extends DescMessage>(
  batch: Batch,
  element: DescMessage,
  bytes: Uint8Array,
): Promise<MessageShape<Batch> | undefined> {
  if (bytes.length < longBatch) return read(batch, bytes);
  try {
    const { elements, rest } = await readBatchInTurns(batch, element, bytes);
    return Object.assign(rest, { requests: elements });
  } catch {
    return undefined;
  }
}

function udmBytes(entry: UdmEntry): Buffer {
  const json = Buffer.from(udmJson(entry));
  const bytes = Buffer.allocUnsafe(envelopeSize + mostMessageBytes(json.length));
  return bytes.subarray(0, createUdmTranscoder().write(json, 0, bytes, envelopeSize));
}

/** A CountUdmsResponse: field 1 is an int32, left out when zero. */
function countBytes(count: number): Buffer {
  const bytes = Buffer.alloc(envelopeSize + 6);
  if (count === 0) return bytes.subarray(0, envelopeSize);
  bytes[envelopeSize] = 0x08;
  return bytes.subarray(0, writeVarint(count, bytes, envelopeSize + 1));
}
