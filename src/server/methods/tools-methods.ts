import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { KeyForm, Scopes } from "../../metadata/index.ts";
import { apiError } from "../api-error.ts";
import {
  type DeleteScopeRequest,
  DeleteScopeResponseSchema,
  ListScopesResponseSchema,
  type ScopeSchema,
  ScopeService,
  type SetScopeRequest,
  SetScopeResponseSchema,
  UdmToolsService,
} from "../gen/udm/v1/tools_pb.ts";
import { NameToolsService } from "../gen/names/v1/names_pb.ts";
import { bulk, serverStream, unary, type CallContext, type RpcService } from "../rpc/method.ts";
import { listChanges, scopeMessage, undoChange } from "../tools/list-changes.ts";
import { badRequest, originOf, toApiError } from "../udm/udm-service.ts";
import { batchDeleteUdms, batchUpsertUdms } from "../tools/bulk-udms.ts";
import { explainAddress } from "../tools/explain-address.ts";
import { exportUdms, importUdms } from "../tools/import-export.ts";
import { replaceUdms } from "../tools/replace-udms.ts";
import { searchUdms } from "../tools/search-udms.ts";
import { TagKeys } from "../tools/scan-entries.ts";
import type { ToolsContext } from "../tools/tools-context.ts";
import { type ChangeFeed, serveEvents, watchUdms } from "../tools/watch-udms.ts";
import { allowed, describe, failure, page, parameter, scopeParameter, type Endpoint } from "./endpoint.ts";

/** Returns udm.v1.UdmToolsService or names.v1.NameToolsService, with one row for each method. The latter does not explain addresses. */
export function toolsMethods(context: ToolsContext, feed: ChangeFeed, keys: KeyForm = "addresses"): RpcService {
  const tagKeys = new TagKeys(() => context.store());
  const schema = keys === "names" ? NameToolsService : UdmToolsService;
  const { method } = schema;
  const explain = UdmToolsService.method.explainAddress;
  return {
    schema,
    area: "metadata",
    ...(keys === "addresses" && { reach: { scope: undefined } }),
    requireEnabled: () => void context.store(),
    methods: [
      unary(method.listChanges, "viewer", (request) => listChanges(context, request)),
      unary(method.undoChange, "editor", (request, call) => undoChange(context, request, call)),
      bulk(method.batchDeleteUdms, "editor", (request, call) => batchDeleteUdms(context, request, call)),
      bulk(method.batchUpsertUdms, "editor", (request, call) => batchUpsertUdms(context, request, call)),
      bulk(method.replaceUdms, "editor", (request, call) => replaceUdms(context, request, call)),
      unary(method.searchUdms, "viewer", (request, call) => searchUdms(context, tagKeys, request, call)),
      ...(keys === "names"
        ? []
        : [unary(explain, "viewer", (request, call) => explainAddress(context, request, call.principal))]),
      serverStream(method.watchUdms, "viewer", (request, { signal }) => watchUdms(feed, request, keys, signal)),
      bulk(method.importUdms, "editor", (request, call) => importUdms(context, request, call)),
      unary(method.exportUdms, "viewer", (request, call) => exportUdms(context, request, call)),
    ],
  };
}

/** The definitions of scopes, or a sentence about the missing setting. */
export type ScopeDefinitions = Pick<Scopes, "list" | "set" | "remove" | "takeBack"> | { readonly disabled: string };

/** Returns udm.v1.ScopeService, with one row for each method. */
export function scopeMethods(definitions: ScopeDefinitions): RpcService {
  const scopes = (): Exclude<ScopeDefinitions, { readonly disabled: string }> => {
    if ("disabled" in definitions) throw apiError("unimplemented", "SCOPES_DISABLED", definitions.disabled);
    return definitions;
  };
  const { method } = ScopeService;
  const list = ({ principal }: CallContext) => {
    const own = principal?.scopes;
    return create(ListScopesResponseSchema, {
      scopes: scopes()
        .list()
        .filter(({ name }) => own?.includes(name) ?? true)
        .map(scopeMessage),
    });
  };
  const shown = (name: string): MessageInitShape<typeof ScopeSchema> | undefined => {
    const found = scopes()
      .list()
      .find((scope) => scope.name === name);
    return found && scopeMessage(found);
  };
  const set = async ({ scope, before }: SetScopeRequest, call: CallContext) => {
    if (scope === undefined) throw badRequest([{ field: "scope", description: "scope is missing" }]);
    const { name, match, isolated } = scope;
    if (name === "") throw badRequest([{ field: "scope.name", description: "name is missing" }]);
    const rows = match.map(({ vrf, exporter, interface: netif, vlan }) => ({ vrf, exporter, interface: netif, vlan }));
    const change = await written(
      scopes().set({ name, match: rows, inherit: !isolated }, before, originOf("SetScope", call)),
    );
    const now = shown(name);
    return create(SetScopeResponseSchema, { ...(now !== undefined && { scope: now }), change });
  };
  const remove = async ({ name }: DeleteScopeRequest, call: CallContext) => {
    if (name === "") throw badRequest([{ field: "name", description: "name is missing" }]);
    const was = shown(name);
    const change = await written(scopes().remove(name, originOf("DeleteScope", call)));
    return create(DeleteScopeResponseSchema, { ...(was !== undefined && { scope: was }), change });
  };
  return {
    schema: ScopeService,
    area: "metadata",
    requireEnabled: () => void scopes(),
    methods: [
      { ...unary(method.listScopes, "viewer", (_, call) => list(call)), reach: "own" },
      unary(method.setScope, "editor", set),
      unary(method.deleteScope, "editor", remove),
    ],
  };
}

/** Waits for a change. @returns its number; 0 where it is not kept or nothing has changed. @throws ConnectError */
async function written(work: Promise<number | undefined>): Promise<number> {
  try {
    return (await work) ?? 0;
  } catch (error) {
    throw toApiError(error, () => "");
  }
}

const changesPath = "/api/v1/enrich/ipaddr/changes";

/**
 * Returns the row of changes as server-sent events.
 *
 * @param feedOf returns the changes in a scope, or of global entries for undefined.
 */
export function changesEndpoint(feedOf: (scope: string | undefined) => ChangeFeed): Endpoint {
  const text = { type: "string" };
  const events = { description: "Events.", content: { "text/event-stream": { schema: text } } };
  const parameters = [
    parameter("after", "Changes with higher numbers come first; without it the stream begins now.", text),
    parameter("filter", "Only changes of entries that match this filter.", text),
    parameter("without_layers", "`true` leaves out what sources change.", text),
    parameter("Last-Event-ID", "As `after`, before it.", text, "header"),
    scopeParameter,
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
