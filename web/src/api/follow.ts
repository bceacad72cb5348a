import { createLineSplitter } from "../format/lines.ts";
import { request, type ApiCall } from "./call.ts";

/** Calls `take` with each line of an answer until the stream ends, which is an error. */
export async function follow(call: ApiCall, take: (line: string) => void, signal: AbortSignal): Promise<never> {
  const response = await request(call, { signal });
  const split = createLineSplitter();
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  for (;;) {
    const piece = await reader?.read();
    if (piece === undefined || piece.done) throw new Error("the stream ended");
    for (const line of split(decoder.decode(piece.value, { stream: true }))) take(line);
  }
}
