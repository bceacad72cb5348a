import { copyLines } from "../../record/index.ts";
import type { Clock } from "../../base/report/index.ts";
import type { Batch } from "../delivery/batch.ts";
import type { OutputAdapter } from "../delivery/output-adapter.ts";
import type { AdapterContext } from "../output-kind.ts";
import { createPostOutput, type PostConfig } from "./post-output.ts";
import { logPostConfig } from "./server-settings.ts";
import type { HttpSettings } from "./settings.ts";

/** Posts lines to a server of the operator's own. */
export function createHttpOutput(settings: HttpSettings, { clock }: AdapterContext): OutputAdapter {
  return createPostedLines(logPostConfig(settings), settings.FORMAT, clock);
}

/**
 * Posts each batch as one request; any status from 200 to 299 acknowledges it. The server cannot know a batch again, so an
 * acknowledgement that was lost has records arrive twice: at least once.
 */
export function createPostedLines(config: PostConfig, format: HttpSettings["FORMAT"], clock: Clock): OutputAdapter {
  const isLines = format === "ndjson";
  return createPostOutput(
    config,
    {
      name: "a receiver of records",
      contentType: isLines ? "application/x-ndjson" : "application/json",
      path: "",
      encode: (batch) => (isLines ? batch.chunks : asArray(batch)),
      async open(client, signal) {
        // Any answer will do: what a webhook says to a request without records means nothing.
        const { status } = await client.request({ method: "OPTIONS", path: "", signal });
        return status === 401 || status === 403
          ? [`the server answers ${status} to a first request without records`]
          : [];
      },
    },
    clock,
  );
}

const lineFeed = 0x0a;
const comma = 0x2c;

/** The lines as a JSON array: each line feed becomes a comma, the last one the end. */
function asArray(batch: Batch): readonly Uint8Array[] {
  const text = Buffer.allocUnsafeSlow(batch.byteLength + 1);
  text[0] = 0x5b;
  let at = 1;
  for (const chunk of batch.chunks) {
    const chunkEnd = copyLines(chunk, 0, chunk.length, text, at);
    for (let end = text.indexOf(lineFeed, at); end >= 0 && end < chunkEnd; end = text.indexOf(lineFeed, end)) {
      text[end] = comma;
    }
    at = chunkEnd;
  }
  text[at - 1] = 0x5d;
  return [text];
}
