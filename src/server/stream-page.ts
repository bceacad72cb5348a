import type { Call } from "./http/call.ts";
import { headerOf } from "./http/http-message.ts";
import { writeBytes } from "./http/send.ts";
import type { StreamDescription } from "./openapi/page-paths.ts";

/** A GET whose answer goes on until the client has enough: lines, or server-sent events for who asks for them. */
export interface StreamPage extends StreamDescription {
  /** Of an answer that has an end and is no JSON; else it is lines of JSON, or events. */
  readonly contentType?: string;
  /**
   * @param signal is aborted when the client has gone, or the server stops.
   * @returns whole lines; the next are asked for when the client has taken those before.
   * @throws ConnectError to refuse.
   */
  open(query: URLSearchParams, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

const types = { lines: "application/x-ndjson", events: "text/event-stream" } as const;

/** Answers with a stream. */
export async function serveStream(call: Call, page: StreamPage): Promise<void> {
  const isEvents = headerOf(call.headers, "accept")?.includes(types.events) === true && page.contentType === undefined;
  const header = {
    "content-type": page.contentType ?? (isEvents ? types.events : types.lines),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  if (call.method === "HEAD") {
    call.answer(200, header, "");
    return;
  }
  const lines = page.open(call.query, call.signal);
  call.isEndless = page.contentType === undefined;
  call.begin(200, header, { hasTrailers: false });
  for await (const piece of lines) {
    if (call.isGone()) return;
    await writeBytes(call, isEvents ? toEvents(piece) : piece);
  }
  call.end();
}

/** An event for each line, a comment for an empty one. */
function toEvents(lines: Uint8Array): Uint8Array {
  const text = Buffer.from(lines).toString("utf8").replace(/\n$/, "");
  const events = text.split("\n").map((line) => (line === "" ? ":\n\n" : `data: ${line}\n\n`));
  return Buffer.from(events.join(""));
}
