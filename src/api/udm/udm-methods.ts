import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { CountUdmsResponseSchema, UdmService as schema } from "../gen/udm/v1/udm_pb.ts";
import { bulk, unary, type RpcService } from "../rpc/method.ts";
import { listOfEntries } from "./entry-list.ts";
import { entryAnswer, listAnswer } from "./udm-answers.ts";
import type { UdmService } from "./udm-service.ts";

/** udm.v1.UdmService: one row for each method. */
export function udmMethods(service: UdmService): RpcService {
  const { method } = schema;
  return {
    schema,
    area: "metadata",
    requireEnabled: () => service.requireEnabled(),
    methods: [
      unary(method.countUdms, "viewer", () => create(CountUdmsResponseSchema, { count: service.countUdms() })),
      unary(method.listUdms, "viewer", (request) => listAnswer(service.listUdms(request), "udms")),
      unary(method.listUdmKeys, "viewer", (request) => listAnswer(service.listUdms(request), "keys")),
      unary(method.createUdm, "editor", async (request, call) => entryAnswer(await service.createUdm(request, call))),
      bulk(method.batchCreateUdms, "editor", async (request, call) =>
        listAnswer(listOfEntries(await service.batchCreateUdms(request, call)), "udms"),
      ),
      unary(method.updateUdm, "editor", async (request, call) => entryAnswer(await service.updateUdm(request, call))),
      bulk(method.batchUpdateUdms, "editor", async (request, call) =>
        listAnswer(listOfEntries(await service.batchUpdateUdms(request, call)), "udms"),
      ),
      unary(method.deleteUdm, "editor", async (request, call) => {
        await service.deleteUdm(request, call);
        return create(EmptySchema);
      }),
    ],
  };
}
