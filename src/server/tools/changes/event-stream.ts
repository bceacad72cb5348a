import { ConnectError } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import { headerOf } from "../../http/http-message.ts";
import type { Call } from "../../http/call.ts";
import { writePieces } from "../../http/send.ts";
import { isLong } from "../../rpc/encoded.ts";
import { badRequest } from "../../udm/store-fault.ts";
import { readFilter } from "../search/search-udms.ts";
import type { ChangeFeed } from "./follow-changes.ts";
import { watchAnswer } from "./watch-udms.ts";

/** Where changes can be followed as server-sent events. */
export const eventsPath = "/api/v1/enrich/ipaddr/changes";

/** How often a line is sent while nothing changes, so that nothing on the way takes the connection for dead. Milliseconds. */
const keepAliveMs = 15_000;

/**
 * Answers a GET with changes as server-sent events: the data of each is what WatchUdms answers with, its id the number of the change, from
 * which a browser goes on by itself (`Last-Event-ID`). What ends it is an event `error`, when the client is still there.
 */
export async function serveEvents(call: Call, feed: ChangeFeed): Promise<void> {
  const filterText = call.query.get("filter") ?? "";
  const filter = readFilter(filterText);
  const from = positionOf(headerOf(call.headers, "last-event-id") ?? call.query.get("after") ?? undefined);
  const header = {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  call.isEndless = true;
  call.code = "ok";
  const withoutLayers = readFlag(call.query.get("without_layers"));
  const changes = feed.follow({ ...from, filter, filterText, withoutLayers, signal: call.signal });
  // What is refused at once is refused with its status.
  let next = await changes.next();
  call.begin(200, header, { hasTrailers: false });
  if (call.method === "HEAD") {
    await changes.return(undefined as never);
    return call.end();
  }
  let isWithinEvent = false;
  const keepAlive = (): void => void (isWithinEvent || call.isGone() || call.write(": nothing new\n\n"));
  const timer = setInterval(keepAlive, keepAliveMs);
  timer.unref();
  try {
    for (; ; next = await changes.next()) {
      const { change, last, epoch } = next.value;
      const head = `event: ${change === undefined ? "at" : "change"}\nid: ${epoch === "" ? "" : `${epoch}.`}${last}\ndata: `;
      const encoded = watchAnswer(next.value).encode("json");
      if (isLong(encoded)) {
        await encoded.size(() => true);
        isWithinEvent = true;
        call.write(head);
        await writePieces(call, encoded.pieces());
        call.write("\n\n");
        isWithinEvent = false;
      } else if (!call.write(`${head}${encoded.toString()}\n\n`)) await call.drained();
    }
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    call.code = codeToString(error.code);
    if (call.isGone()) return undefined;
    const body = JSON.stringify({ code: call.code, message: error.rawMessage });
    call.write(`event: error\ndata: ${body}\n\n`);
    call.end();
  } finally {
    clearInterval(timer);
    void changes.return(undefined as never).catch(() => {});
  }
  return undefined;
}

/** @throws ConnectError `invalid_argument` */
function readFlag(text: string | null): boolean {
  if (text === null || text === "false") return false;
  if (text === "true") return true;
  const description = `without_layers must be true or false, not ${JSON.stringify(text)}`;
  throw badRequest([{ field: "without_layers", description }]);
}

/** The id of an event, or the number of a change; none is from now on. @throws ConnectError `invalid_argument` */
function positionOf(text: string | undefined): { readonly after: number | undefined; readonly epoch?: string } {
  if (text === undefined || text === "") return { after: undefined };
  const [, epoch = "", number] = /^(?:([0-9a-z]{1,64})\.)?(\d{1,10})$/.exec(text) ?? [];
  if (number !== undefined) return { after: Number(number), epoch };
  throw badRequest([
    { field: "after", description: `after must be the number of a change, not ${JSON.stringify(text)}` },
  ]);
}
