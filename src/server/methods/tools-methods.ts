import { UdmToolsService as schema } from "../gen/udm/v1/tools_pb.ts";
import { bulk, serverStream, unary, type RpcService } from "../rpc/method.ts";
import { listChanges, undoChange } from "../tools/list-changes.ts";
import { batchDeleteUdms, batchUpsertUdms } from "../tools/bulk-udms.ts";
import { explainAddress } from "../tools/explain-address.ts";
import { exportUdms, importUdms } from "../tools/import-export.ts";
import { replaceUdms } from "../tools/replace-udms.ts";
import { searchUdms } from "../tools/search-udms.ts";
import { TagKeys } from "../tools/scan-entries.ts";
import type { ToolsContext } from "../tools/tools-context.ts";
import { type ChangeFeed, serveEvents, watchUdms } from "../tools/watch-udms.ts";
import { allowed, describe, failure, page, parameter, type Endpoint } from "./endpoint.ts";

/** udm.v1.UdmToolsService: one row for each method. */
export function toolsMethods(context: ToolsContext, feed: ChangeFeed): RpcService {
  const tagKeys = new TagKeys(() => context.store());
  const { method } = schema;
  return {
    schema,
    area: "metadata",
    reach: { scope: undefined },
    requireEnabled: () => void context.store(),
    methods: [
      unary(method.listChanges, "viewer", (request) => listChanges(context, request)),
      unary(method.undoChange, "editor", (request, call) => undoChange(context, request, call)),
      bulk(method.batchDeleteUdms, "editor", (request, call) => batchDeleteUdms(context, request, call)),
      bulk(method.batchUpsertUdms, "editor", (request, call) => batchUpsertUdms(context, request, call)),
      bulk(method.replaceUdms, "editor", (request, call) => replaceUdms(context, request, call)),
      unary(method.searchUdms, "viewer", (request, call) => searchUdms(context, tagKeys, request, call)),
      unary(method.explainAddress, "viewer", (request, call) => explainAddress(context, request, call.principal)),
      serverStream(method.watchUdms, "viewer", (request, { signal }) => watchUdms(feed, request, signal)),
      bulk(method.importUdms, "editor", (request, call) => importUdms(context, request, call)),
      unary(method.exportUdms, "viewer", (request, call) => exportUdms(context, request, call)),
    ],
  };
}

const changesPath = "/api/v1/enrich/ipaddr/changes";

/**
 * Returns the row of changes as server-sent events.
 *
 * @param feedOf gives the changes in a scope; undefined: of all other entries.
 */
export function changesEndpoint(feedOf: (scope: string | undefined) => ChangeFeed): Endpoint {
  const text = { type: "string" };
  const events = { description: "Events.", content: { "text/event-stream": { schema: text } } };
  const parameters = [
    parameter("after", "Changes with higher numbers come first; without it the stream begins now.", text),
    parameter("filter", "Only changes of entries that match this filter.", text),
    parameter("without_layers", "`true` leaves out what sources change.", text),
    parameter("Last-Event-ID", "As `after`, before it.", text, "header"),
  ];
  return page(
    changesPath,
    allowed("viewer", "metadata", { scope: undefined }),
    async (call, scope) => serveEvents(call, feedOf(scope)),
    describe(
      "collector",
      "watchUdms",
      "Changes of the metadata as server-sent events",
      { "200": events, default: failure },
      { parameters },
    ),
    "changes",
  );
}
