import type { Decoder } from "./decoder.ts";
import { createIpfixDecoder } from "./ipfix/ipfix-decoder.ts";
import type { FlowReader } from "./compiled/flow-reader.ts";
import type { TimeFormat } from "./mapping/time-format.ts";
import { createNetflow1Decoder } from "./netflow1/netflow1-decoder.ts";
import { createNetflow5Decoder } from "./netflow5/netflow5-decoder.ts";
import { createNetflow7Decoder } from "./netflow7/netflow7-decoder.ts";
import { createNetflow9Decoder } from "./netflow9/netflow9-decoder.ts";
import type { Protocol } from "./protocol.ts";
import { createSflowDecoder } from "./sflow/sflow-decoder.ts";
import type { SampleLines } from "./steps/sample-lines.ts";
import type { TemplateSettings } from "./template/decode-sets.ts";
import type { RecordReader } from "./template/record-reader.ts";

export interface DecoderParts {
  readonly times: TimeFormat;
  /** Reads records of options data. */
  readonly reader: RecordReader;
  /** Reads flow records. */
  readonly flows: FlowReader;
  /** Passes flow samples on. */
  readonly samples: SampleLines;
  readonly settings: TemplateSettings;
}

/** A decoder for each protocol that has one. They share working memory: one set of them serves one thread. */
export function createDecoders(parts: DecoderParts): Readonly<Partial<Record<Protocol, Decoder>>> {
  return {
    netflow1: createNetflow1Decoder(parts),
    netflow5: createNetflow5Decoder(parts),
    netflow7: createNetflow7Decoder(parts),
    netflow9: createNetflow9Decoder(parts),
    ipfix: createIpfixDecoder(parts),
    sflow: createSflowDecoder(parts),
  };
}
