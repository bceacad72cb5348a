import type { ApiClient } from "../client/api-call.ts";
import type { Terminal } from "../terminal.ts";
import type { TailOptions } from "./flows-command.ts";
import { readTail } from "./read-tail.ts";

/** Writes flows while they go by, until there were `limit` or nobody reads them any more. What was left out is said on the standard error. */
export async function tailFlows(
  client: ApiClient,
  { filter = "", rate, limit = Infinity, output }: TailOptions,
  terminal: Terminal,
): Promise<void> {
  let left = limit;
  for await (const { lines, counts } of readTail(client, { filter, rate: String(rate) })) {
    const shown = lines.slice(0, left);
    left -= shown.length;
    if (shown.length > 0) terminal.out(shown.map((line) => `${output === "json" ? line : textOf(line)}\n`).join(""));
    if (!(await terminal.drained()) || left === 0) return;
    if (counts === undefined || !terminal.isWatched) continue;
    const { seen, examined, matched, passed } = counts;
    if (seen > examined) terminal.err(`# ${seen - examined} of ${seen} records went by too fast to be looked at\n`);
    if (matched > passed) terminal.err(`# ${matched - passed} of ${matched} flows are not shown: see --rate\n`);
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** `12:00:01.250 10.0.0.1:443 (web) > 192.0.2.1:50000 tcp 1500 B 3 packets from 198.51.100.1`. */
function textOf(line: string): string {
  const fields = JSON.parse(line) as Fields;
  const time = new Date(String(fields["@timestamp"]));
  const shownTime = Number.isNaN(time.getTime()) ? "" : time.toISOString().slice(11, 23);
  const protocol = fields["l4.proto.name"] ?? fields["l4.proto.id"] ?? "";
  const amount = `${text(fields["flow.bytes"])} B ${text(fields["flow.packets"])} packets`;
  const parts = [shownTime, end(fields, "src"), ">", end(fields, "dst"), text(protocol), amount];
  return `${parts.join(" ")} from ${text(fields["flow.export.ip.addr"])}`.replace(/\p{Cc}/gu, "?");
}

function end(fields: Fields, which: "src" | "dst"): string {
  const address = text(fields[`flow.${which}.ip.addr`]);
  const port = fields[`flow.${which}.l4.port.id`];
  const name = fields[`flow.${which}.ip.subnet.name`];
  const shownPort = port === undefined ? "" : `${address.includes(":") ? "." : ":"}${text(port)}`;
  return `${address}${shownPort}${name === undefined ? "" : ` (${text(name)})`}`;
}

function text(value: unknown): string {
  return value === undefined ? "?" : JSON.stringify(value).replace(/^"(.*)"$/s, "$1");
}
