import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { CountUdmsResponseSchema, UdmService as schema } from "../gen/udm/v1/udm_pb.ts";
import { unary, type RpcService } from "../rpc/method.ts";
import { listOfEntries } from "./entry-list.ts";
import { entryAnswer, listAnswer } from "./udm-answers.ts";
import type { UdmService } from "./udm-service.ts";

/** udm.v1.UdmService: one row for each method. */
export function udmMethods(service: UdmService): RpcService {
  const { method } = schema;
  return {
    schema,
    requireEnabled: () => service.requireEnabled(),
    methods: [
      unary(method.countUdms, () => create(CountUdmsResponseSchema, { count: service.countUdms() })),
      unary(method.listUdms, (request) => listAnswer(service.listUdms(request), "udms")),
      unary(method.listUdmKeys, (request) => listAnswer(service.listUdms(request), "keys")),
      unary(method.createUdm, async (request, call) => entryAnswer(await service.createUdm(request, call))),
      unary(method.batchCreateUdms, async (request, call) =>
        listAnswer(listOfEntries(await service.batchCreateUdms(request, call)), "udms"),
      ),
      unary(method.updateUdm, async (request, call) => entryAnswer(await service.updateUdm(request, call))),
      unary(method.batchUpdateUdms, async (request, call) =>
        listAnswer(listOfEntries(await service.batchUpdateUdms(request, call)), "udms"),
      ),
      unary(method.deleteUdm, async (request, call) => {
        await service.deleteUdm(request, call);
        return create(EmptySchema);
      }),
    ],
  };
}
