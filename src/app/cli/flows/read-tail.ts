import type { ApiClient } from "../client/api-call.ts";

/** What went by in some time, of which the lines are a part. */
export interface TailCounts {
  readonly seen: number;
  readonly examined: number;
  readonly matched: number;
  readonly passed: number;
}

/** The lines of flows that went by, some at a time; counts come about once a second. */
export async function* readTail(
  client: ApiClient,
  query: Readonly<Record<string, string>>,
): AsyncGenerator<{ readonly lines: readonly string[]; readonly counts?: TailCounts }> {
  const path = `/api/v1/flow/tail?${new URLSearchParams({ ...query, notes: "true" }).toString()}`;
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of await client.read("GET", path, { isEndless: true })) {
    const all = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = all.pop() ?? "";
    let lines: string[] = [];
    for (const line of all) {
      if (!line.startsWith('{"tail":')) {
        if (line !== "") lines.push(line);
        continue;
      }
      yield { lines, counts: (JSON.parse(line) as { tail: TailCounts }).tail };
      lines = [];
    }
    if (lines.length > 0) yield { lines };
  }
}
