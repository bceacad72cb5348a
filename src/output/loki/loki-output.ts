import { forEachLine, positionOf, type Batch } from "../delivery/batch.ts";
import { BodyWriter } from "../delivery/line-fields.ts";
import { httpFailure } from "../delivery/http-client.ts";
import { createLabelsOf } from "../delivery/line-fields.ts";
import type { OutputAdapter } from "../delivery/output-adapter.ts";
import { createTimeOf } from "../delivery/line-fields.ts";
import { PostOutput } from "../http/http-output.ts";
import { logPostConfig } from "../http/server-settings.ts";
import type { AdapterContext } from "../output-kind.ts";
import type { LokiSettings } from "./settings.ts";

const nanosecondsPerMillisecond = 1_000_000;

/**
 * Pushes lines to streams, by the values of the fields that are labels.
 *
 * Loki keeps an entry of the same stream, time and line once. The position of a record in its batch is added to its time as
 * nanoseconds. So equal records are different entries, and a record that is sent again is the same entry. When Loki refuses a request
 * with 400, it keeps the other entries; halving finds the one at fault.
 */
export function createLokiOutput(settings: LokiSettings, { clock, nameOf }: AdapterContext): OutputAdapter {
  const labelFields = settings.LABEL_FIELDS.map(nameOf);
  const server = logPostConfig(settings);
  const headers = { ...server.headers, ...(settings.TENANT !== "" && { "x-scope-orgid": settings.TENANT }) };
  return new PostOutput(
    { ...server, headers },
    {
      name: "Loki",
      contentType: "application/json",
      path: "/loki/api/v1/push",
      encode: (batch) => [encodeStreams(batch, labelFields)],
      async open(client, signal) {
        const answer = await client.request({ method: "GET", path: "/loki/api/v1/labels", signal });
        if (answer.status === 401 || answer.status === 403 || answer.status === 404) throw httpFailure(answer, clock);
        return [];
      },
    },
    clock,
  );
}

/** Encodes the records of a batch as streams of Loki. */
export function encodeStreams(batch: Batch, labelFields: readonly string[]): Uint8Array {
  const labelsOf = createLabelsOf(labelFields);
  const timeOf = createTimeOf();
  interface Entry {
    readonly lines: Buffer;
    readonly from: number;
    readonly to: number;
    readonly position: number;
  }
  const streams = new Map<string, Entry[]>();
  forEachLine(batch, (lines, from, to, index) => {
    const labels = labelsOf(lines, from, to);
    const entry = { lines, from, to, position: positionOf(batch, index) };
    const entries = streams.get(labels);
    if (entries === undefined) streams.set(labels, [entry]);
    else entries.push(entry);
  });
  const out = new BodyWriter(batch.byteLength + (batch.byteLength >> 2) + 64);
  let streamSeparator = '{"streams":[';
  for (const [labels, entries] of streams) {
    out.text(`${streamSeparator}{"stream":${labels},"values":`);
    streamSeparator = ",";
    let separator = "[";
    for (const { lines, from, to, position } of entries) {
      const nanoseconds = String(position % nanosecondsPerMillisecond).padStart(6, "0");
      out.text(`${separator}["${timeOf(lines, from, to)}${nanoseconds}",`);
      separator = ",";
      out.quoted(lines, from, to);
      out.text("]");
    }
    out.text("]}");
  }
  out.text("]}");
  return out.body();
}
