import type { JsonValue } from "@bufbuild/protobuf";
import type { ApiServerOptions } from "../../src/server/index.ts";
import { UdmToolsService } from "../../src/server/gen/udm/v1/tools_pb.ts";
import type { CollectorUdmStore } from "../../src/metadata/index.ts";
import { cleanUp, type Owner } from "../support/clean-up.ts";
import { memoryFileIo, type MemoryFileIo } from "../support/memory-file-io.ts";
import { memoryPath, storeOn } from "../support/udm-store-fixture.ts";
import { startApi, type ApiFixture } from "./api-fixture.ts";
import { createUdmClient, type ClientKind, type Outcome, type ToolsMethod } from "./udm-clients.ts";

export interface ToolsFixture {
  readonly api: ApiFixture;
  readonly store: CollectorUdmStore;
  readonly io: MemoryFileIo;
  readonly call: (method: ToolsMethod, request: JsonValue) => Promise<Outcome>;
  /** The answer of a call that goes well. */
  readonly ask: (method: ToolsMethod, request: JsonValue) => Promise<Record<string, JsonValue>>;
}

/** A server over a store of its own, with a history, and a client. @param file what its metadata file holds. */
export async function startTools(
  t: Owner,
  file: string,
  options: Partial<ApiServerOptions> & { readonly kind?: ClientKind; readonly historyBytes?: number } = {},
): Promise<ToolsFixture> {
  const { kind = "REST HTTP/1.1", historyBytes, ...rest } = options;
  const io = memoryFileIo();
  if (file !== "") io.put(memoryPath, file);
  const { store } = storeOn(io, { stateDirectory: io.folder, ...(historyBytes !== undefined && { historyBytes }) });
  await store.start();
  cleanUp(t, () => store.stop());
  const api = await startApi(t, { udm: store, tools: store, ...rest });
  const client = createUdmClient<ToolsMethod>(kind, {
    port: api.port,
    ca: undefined,
    prefix: kind === "gRPC by grpc-js" ? "" : "/api/v1/enrich/ipaddr",
    service: UdmToolsService,
  });
  cleanUp(t, () => client.close());
  return {
    api,
    store,
    io,
    call: (method, request) => client.call(method, request),
    async ask(method, request) {
      const outcome = await client.call(method, request);
      if (outcome.code !== "ok" || !("answer" in outcome)) throw new Error(`${method}: ${JSON.stringify(outcome)}`);
      return outcome.answer as Record<string, JsonValue>;
    },
  };
}
