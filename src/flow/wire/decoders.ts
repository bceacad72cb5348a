import type { Protocol } from "../datagram.ts";
import type { Decoder } from "./records/decoder.ts";
import type { FixedRecordParts } from "./fixed-record-decoder.ts";
import { createIpfixDecoder } from "./ipfix-decoder.ts";
import { createNetflow1Decoder } from "./fixed-record-decoder.ts";
import { createNetflow5Decoder } from "./fixed-record-decoder.ts";
import { createNetflow7Decoder } from "./fixed-record-decoder.ts";
import { createNetflow9Decoder } from "./netflow9-decoder.ts";
import { SflowDecoder, type SflowDecoderParts } from "./sflow/sflow-decoder.ts";
import type { TemplateDecoderParts } from "./records/decode-sets.ts";

/** The parts that the decoders are made of. */
export interface DecoderParts extends FixedRecordParts, TemplateDecoderParts, SflowDecoderParts {}

/** A decoder for each protocol that has one. They share working memory: one set of them serves one thread. */
export function createDecoders(parts: DecoderParts): Readonly<Partial<Record<Protocol, Decoder>>> {
  return {
    netflow1: createNetflow1Decoder(parts),
    netflow5: createNetflow5Decoder(parts),
    netflow7: createNetflow7Decoder(parts),
    netflow9: createNetflow9Decoder(parts),
    ipfix: createIpfixDecoder(parts),
    sflow: new SflowDecoder(parts),
  };
}
