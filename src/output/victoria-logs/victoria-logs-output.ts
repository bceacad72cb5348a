import { forEachLine, type Batch } from "../delivery/batch.ts";
import { BodyWriter } from "../delivery/line-fields.ts";
import { httpFailure } from "../delivery/http-client.ts";
import type { OutputAdapter } from "../delivery/output-adapter.ts";
import { recordTypeOf } from "../delivery/line-fields.ts";
import { PostOutput } from "../http/http-output.ts";
import { logPostConfig } from "../http/server-settings.ts";
import type { AdapterContext } from "../output-kind.ts";
import type { VictoriaLogsSettings } from "./settings.ts";

/** Posts lines, each with its record type as the message, which VictoriaLogs requires. At least once. */
export function createVictoriaLogsOutput(
  settings: VictoriaLogsSettings,
  { clock, nameOf }: AdapterContext,
): OutputAdapter {
  const parameters = new URLSearchParams({
    _time_field: "@timestamp",
    _msg_field: "_msg",
    _stream_fields: settings.STREAM_FIELDS.map(nameOf).join(","),
  });
  return new PostOutput(
    logPostConfig(settings),
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
  const out = new BodyWriter(batch.byteLength + 32 * batch.count);
  forEachLine(batch, (lines, from, to) => {
    out.text(`{"_msg":"${recordTypeOf(lines, from, to)}",`);
    out.bytes(lines, from + 1, to);
    out.text("\n");
  });
  return out.body();
}
