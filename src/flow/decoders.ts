import type { Decoder } from "./decoder.ts";
import { createIpfixDecoder } from "./ipfix/ipfix-decoder.ts";
import { createTimeFormat } from "./mapping/time-format.ts";
import { createNetflow1Decoder } from "./netflow1/netflow1-decoder.ts";
import { createNetflow5Decoder } from "./netflow5/netflow5-decoder.ts";
import { createNetflow7Decoder } from "./netflow7/netflow7-decoder.ts";
import { createNetflow9Decoder } from "./netflow9/netflow9-decoder.ts";
import type { Protocol } from "./protocol.ts";
import { createSflowDecoder } from "./sflow/sflow-decoder.ts";
import type { TemplateSettings } from "./template/decode-sets.ts";
import { createRecordReader } from "./template/record-reader.ts";

/** A decoder for each protocol that has one. They share working memory: one set of them serves one thread. */
export function createDecoders(settings: TemplateSettings): Readonly<Partial<Record<Protocol, Decoder>>> {
  const times = createTimeFormat();
  const reader = createRecordReader(times, settings.planTemplate);
  return {
    netflow1: createNetflow1Decoder(reader, times),
    netflow5: createNetflow5Decoder(reader, times),
    netflow7: createNetflow7Decoder(reader, times),
    netflow9: createNetflow9Decoder(reader, times, settings),
    ipfix: createIpfixDecoder(reader, times, settings),
    sflow: createSflowDecoder(times),
  };
}
