import { UdmToolsService as schema } from "../gen/udm/v1/tools_pb.ts";
import { bulk, serverStream, unary, type RpcService } from "../rpc/method.ts";
import { listChanges, undoChange } from "../tools/list-changes.ts";
import { batchDeleteUdms, batchUpsertUdms } from "../tools/bulk-udms.ts";
import { explainAddress } from "../tools/explain-address.ts";
import { exportUdms, importUdms } from "../tools/import-export.ts";
import { replaceUdms } from "../tools/replace-udms.ts";
import { searchUdms } from "../tools/search-udms.ts";
import { createTagKeys } from "../tools/scan-entries.ts";
import { createToolsContext, type ToolsOptions } from "../tools/tools-context.ts";
import { type ChangeFeed, watchUdms } from "../tools/watch-udms.ts";

/** udm.v1.UdmToolsService: one row for each method. */
export function toolsMethods(options: ToolsOptions, feed: ChangeFeed): RpcService {
  const context = createToolsContext(options);
  const tagKeys = createTagKeys(() => context.store());
  const { method } = schema;
  return {
    schema,
    area: "metadata",
    requireEnabled: () => void context.store(),
    methods: [
      unary(method.listChanges, "viewer", (request) => listChanges(context, request)),
      unary(method.undoChange, "editor", (request, call) => undoChange(context, request, call)),
      bulk(method.batchDeleteUdms, "editor", (request, call) => batchDeleteUdms(context, request, call)),
      bulk(method.batchUpsertUdms, "editor", (request, call) => batchUpsertUdms(context, request, call)),
      bulk(method.replaceUdms, "editor", (request, call) => replaceUdms(context, request, call)),
      unary(method.searchUdms, "viewer", (request, call) => searchUdms(context, tagKeys, request, call)),
      unary(method.explainAddress, "viewer", (request) => explainAddress(context, request)),
      serverStream(method.watchUdms, "viewer", (request, { signal }) => watchUdms(feed, request, signal)),
      bulk(method.importUdms, "editor", (request, call) => importUdms(context, request, call)),
      unary(method.exportUdms, "viewer", (request, call) => exportUdms(context, request, call)),
    ],
  };
}
