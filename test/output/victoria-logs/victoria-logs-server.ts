import type { TestContext } from "node:test";
import { startHttpServer } from "../http/http-fixture.ts";

export interface VictoriaLogsServer {
  readonly port: number;
  /** The status of answers to lines, which are kept all the same. */
  status: number;
  /** Every line that is held. */
  readonly lines: readonly string[];
}

/**
 * Stands in for VictoriaLogs with the interface that it documents: `/insert/jsonline`, `/health`, and of LogsQL the filters of a
 * word, of a whole value, and of the time behind now. Lines need a message, a time and fields of their stream.
 *
 * @param keep what is held of a line. Default: all of it.
 */
export async function startVictoriaLogsServer(
  t: TestContext,
  keep = (line: string): string => line,
): Promise<VictoriaLogsServer> {
  const http = await startHttpServer(t);
  const lines: string[] = [];
  http.answer = ({ path, body }, response) => {
    // What was sent is held once, not twice.
    http.calls.length = 0;
    const { pathname, searchParams } = new URL(path, "http://victorialogs");
    if (pathname === "/insert/jsonline") {
      const needed = ["_time_field", "_msg_field", "_stream_fields"].filter((name) => !searchParams.has(name));
      if (needed.length > 0) response.writeHead(400).end(`missing ${needed.join()}\n`);
      else {
        for (const line of body.split("\n")) if (line !== "") lines.push(keep(line));
        response.writeHead(server.status).end();
      }
    } else if (pathname === "/select/logsql/query") {
      const form = new URLSearchParams(body);
      const found = select(lines, form.get("query") ?? "").slice(0, Number(form.get("limit") ?? Infinity));
      response.end(found.map((line) => `${line}\n`).join(""));
    } else if (pathname === "/health") response.end("OK");
    else response.writeHead(404).end();
  };
  const server: VictoriaLogsServer = { port: http.port, status: 200, lines };
  return server;
}

function select(lines: readonly string[], query: string): readonly string[] {
  const filters = Array.from(query.matchAll(/"?([\w.]+)"?:(=?)"?([^\s"]+)"?/g));
  return lines.filter((line) => {
    const fields = JSON.parse(line) as Record<string, unknown>;
    return filters.every(([, name = "", exactly, value = ""]) => {
      if (name === "_time") return Date.now() - Date.parse(String(fields["@timestamp"])) < hoursOf(value) * 3_600_000;
      const text = String(fields[name]);
      return exactly === "=" ? text === value : text.split(/\W+/).includes(value);
    });
  });
}

function hoursOf(text: string): number {
  const [, hours] = /^(\d+)h$/.exec(text) ?? [];
  if (hours === undefined) throw new Error(`this time is not understood: ${text}`);
  return Number(hours);
}
