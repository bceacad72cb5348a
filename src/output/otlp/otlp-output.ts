import { forEachLine, type Batch } from "../delivery/batch.ts";
import { BodyWriter } from "../delivery/line-fields.ts";
import type { HttpAnswer } from "../delivery/http-client.ts";
import { httpFailure, notAcknowledged } from "../delivery/http-client.ts";
import { endOfValue, fieldKey, findValue, createTimeOf } from "../delivery/line-fields.ts";
import { allAccepted, type OutputAdapter } from "../delivery/output-adapter.ts";
import { recordTypeOf } from "../delivery/line-fields.ts";
import { PostOutput } from "../http/http-output.ts";
import { logPostConfig } from "../http/server-settings.ts";
import type { AdapterContext } from "../output-kind.ts";
import type { OtlpSettings } from "./settings.ts";

const prefix = Buffer.from(
  '{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"netgloss"}}]},' +
    '"scopeLogs":[{"scope":{"name":"netgloss"},"logRecords":[',
);

/** Posts log records as JSON (OTLP 1, logs), each with the line as the body. At least once. */
export function createOtlpOutput(settings: OtlpSettings, { clock, nameOf }: AdapterContext): OutputAdapter {
  const attributeFields = settings.ATTRIBUTE_FIELDS.map(nameOf);
  return new PostOutput(
    logPostConfig(settings, "/v1/logs"),
    {
      name: "OTLP",
      contentType: "application/json",
      path: "",
      encode: (batch) => [encodeLogs(batch, attributeFields)],
      async open(client, signal) {
        // A request without records is valid.
        const answer = await client.request({
          method: "POST",
          path: "",
          headers: { "content-type": "application/json" },
          body: [Buffer.from('{"resourceLogs":[]}')],
          signal,
        });
        if (answer.status >= 200 && answer.status < 300) return [];
        throw httpFailure(answer, clock);
      },
      accepted(answer, { count }) {
        const { rejected, message } = partialSuccess(answer);
        if (rejected === 0) return allAccepted;
        // The server does not say which, and must not get them again (OTLP, "partial success"): keep all as dead letters.
        const reason = `the server rejected ${rejected} of ${count} records of this batch and does not say which: ${message}`;
        const refused = Array.from({ length: count }, (_, index) => ({ index, reason }));
        return { refused, retry: [], ...(rejected < count && { tookOthers: true }) };
      },
    },
    clock,
  );
}

/** Encodes the records of a batch as a request of OTLP. */
export function encodeLogs(batch: Batch, fields: readonly string[]): Uint8Array {
  const attributes = fields.map((field) => ({
    start: `{"key":${JSON.stringify(field)},"value":`,
    key: fieldKey(field),
  }));
  const timeOf = createTimeOf();
  const out = new BodyWriter(prefix.length + 2 * batch.byteLength);
  out.bytes(prefix, 0, prefix.length);
  forEachLine(batch, (lines, from, to, index) => {
    const time = timeOf(lines, from, to);
    out.text(index === 0 ? "{" : ",{");
    if (time > 0) out.text(`"timeUnixNano":"${time}000000","observedTimeUnixNano":"${time}000000",`);
    out.text('"severityNumber":9,"body":{"stringValue":');
    out.quoted(lines, from, to);
    out.text(`},"attributes":[{"key":"record.type","value":{"stringValue":"${recordTypeOf(lines, from, to)}"}}`);
    for (const { start, key } of attributes) {
      const value = findValue(lines, from, to, key);
      if (value < 0) continue;
      out.text(`,${start}{"stringValue":`);
      const end = endOfValue(lines, value, to);
      if (lines[value] === 0x22) out.bytes(lines, value, end);
      else out.quoted(lines, value, end);
      out.text("}}");
    }
    out.text("]}");
  });
  out.text("]}]}]}");
  return out.body();
}

/** Reads a partial success. @throws DeliveryError when it is not an answer of OTLP. */
function partialSuccess(answer: HttpAnswer): { readonly rejected: number; readonly message: string } {
  // Some servers answer without a body, which is a message of defaults.
  if (answer.body.length === 0) return { rejected: 0, message: "" };
  try {
    const { partialSuccess: said } = JSON.parse(answer.body.toString()) as {
      partialSuccess?: { rejectedLogRecords?: string | number; errorMessage?: string };
    };
    return { rejected: Number(said?.rejectedLogRecords ?? 0), message: said?.errorMessage ?? "" };
  } catch {
    throw notAcknowledged(answer, "OTLP");
  }
}
