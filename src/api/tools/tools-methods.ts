import { UdmToolsService as schema } from "../gen/udm/v1/tools_pb.ts";
import { unary, type RpcService } from "../rpc/method.ts";
import { listChanges, undoChange } from "./changes.ts";
import { batchDeleteUdms } from "./delete-udms.ts";
import { replaceUdms } from "./replace-udms.ts";
import { searchUdms } from "./search/search-udms.ts";
import { createTagKeys } from "./search/tag-keys.ts";
import { createToolsContext, type ToolsOptions } from "./common/tools-context.ts";
import { batchUpsertUdms } from "./upsert-udms.ts";

/** udm.v1.UdmToolsService: one row for each method. */
export function toolsMethods(options: ToolsOptions): RpcService {
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
      unary(method.batchDeleteUdms, "editor", (request, call) => batchDeleteUdms(context, request, call)),
      unary(method.batchUpsertUdms, "editor", (request, call) => batchUpsertUdms(context, request, call)),
      unary(method.replaceUdms, "editor", (request, call) => replaceUdms(context, request, call)),
      unary(method.searchUdms, "viewer", (request, call) => searchUdms(context, tagKeys, request, call)),
    ],
  };
}
