import type { Clock } from "../../base/report/index.ts";
import { forEachLine, type Batch } from "../delivery/batch.ts";
import { createBodyWriter } from "../delivery/body-writer.ts";
import { httpFailure } from "../delivery/http-failure.ts";
import type { OutputAdapter } from "../delivery/output-adapter.ts";
import { recordTypeOf } from "../delivery/record-type.ts";
import { createPostOutput, type PostConfig } from "../http/post-output.ts";

/** What the settings say of an output to VictoriaLogs; plain data. */
export interface VictoriaLogsOutputConfig extends PostConfig {
  readonly kind: "victoria_logs";
  /** Fields that define the streams; of few values. */
  readonly streamFields: readonly string[];
}

/** Posts lines, each with its record type as the message, which VictoriaLogs demands. At least once. */
export function createVictoriaLogsOutput(config: VictoriaLogsOutputConfig, clock: Clock): OutputAdapter {
  const parameters = new URLSearchParams({
    _time_field: "@timestamp",
    _msg_field: "_msg",
    _stream_fields: config.streamFields.join(","),
  });
  return createPostOutput(
    config,
    {
      name: "VictoriaLogs",
      contentType: "application/stream+json",
      path: `/insert/jsonline?${parameters.toString()}`,
      encode: (batch) => [withMessages(batch)],
      async open(client, signal) {
        const answer = await client.request({ method: "GET", path: "/health", signal });
        if (answer.status === 401 || answer.status === 403) throw httpFailure(answer, clock);
        return [];
      },
    },
    clock,
  );
}

function withMessages(batch: Batch): Uint8Array {
  const out = createBodyWriter(batch.byteLength + 32 * batch.count);
  forEachLine(batch, (lines, from, to) => {
    out.text(`{"_msg":"${recordTypeOf(lines, from, to)}",`);
    out.bytes(lines, from + 1, to);
    out.text("\n");
  });
  return out.body();
}
