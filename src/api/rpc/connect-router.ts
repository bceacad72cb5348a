import { create, toJsonString, type DescMethod } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  Code,
  ConnectError,
  createConnectRouter,
  type ConnectRouterOptions,
  type HandlerContext,
  type ServiceImpl,
} from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { compressionGzip } from "@connectrpc/connect-node";
import { Health } from "../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { CountUdmsResponseSchema, UdmService } from "../gen/udm/v1/udm_pb.ts";
import { decodeRequest } from "../json/decode-request.ts";
import type { UnknownFields } from "../json/read-message.ts";
import { listPortion, shortListBytes, textsOf, type ListMessage } from "../proto/list-message.ts";
import { fitTrailers } from "./api-error.ts";
import { createHealthService, type HealthServiceOptions } from "./health-service.ts";
import { longListKey } from "./long-list.ts";
import { createReflection } from "./reflection-service.ts";
import type { SchemaFiles } from "./schema-files.ts";
import { toUdmMessage } from "./udm-messages.ts";
import type { UdmService as Service } from "./udm-service.ts";

export interface ConnectRouterParts {
  readonly service: Service;
  readonly files: SchemaFiles;
  readonly health: Omit<HealthServiceOptions, "services">;
  readonly maxBodyBytes: number;
  readonly unknownFields: UnknownFields;
  /** Called with what is not a refusal but a fault of ours. */
  readonly onFailure: (error: unknown) => void;
}

/** Every method of every service over Connect, gRPC-Web and gRPC. */
export function createRouter(parts: ConnectRouterParts): readonly UniversalHandler[] {
  const services = [UdmService, Health, ServerReflection, ServerReflectionAlpha].map(({ typeName }) => typeName);
  const options: ConnectRouterOptions = {
    acceptCompression: [compressionGzip],
    // Without it connect-es reads messages of 4 GiB.
    readMaxBytes: parts.maxBodyBytes,
    interceptors: [
      (next) => async (request) => {
        try {
          return await next(request);
        } catch (error) {
          if (!(error instanceof ConnectError)) {
            parts.onFailure(error);
            throw error;
          }
          const isGrpc = request.header.get("content-type")?.startsWith("application/grpc") === true;
          throw isGrpc ? fitTrailers(error) : error;
        }
      },
    ],
  };
  const router = createConnectRouter(options);
  const udm = udmImplementation(parts.service);
  for (const method of UdmService.methods) {
    router.rpc(method, udm[method.localName as keyof typeof udm] as never, {
      ...options,
      jsonOptions: exactJson(method, parts.unknownFields),
    });
  }
  router.service(Health, createHealthService({ ...parts.health, services: new Set(services) }));
  const reflection = createReflection(parts.files, services) as never;
  router.service(ServerReflection, { serverReflectionInfo: reflection });
  router.service(ServerReflectionAlpha, { serverReflectionInfo: reflection });
  return router.handlers;
}

/** The service with the signatures of connect-es. */
function udmImplementation(service: Service): ServiceImpl<typeof UdmService> {
  return {
    countUdms: () => create(CountUdmsResponseSchema, { count: service.countUdms() }),
    listUdms(request, context) {
      if (leaveLong(context, { texts: service.udmTexts(request, listPortion), items: "udms" })) return {};
      return { udms: Array.from(service.listUdms(request), toUdmMessage) };
    },
    listUdmKeys(request, context) {
      if (leaveLong(context, { texts: service.udmTexts(request, listPortion), items: "keys" })) return {};
      return { keys: Array.from(service.listUdms(request), ({ key }) => key.text) };
    },
    createUdm: async (request, context) => toUdmMessage(await service.createUdm(request, waiting(context))),
    async batchCreateUdms(request, context) {
      const entries = await service.batchCreateUdms(request, waiting(context));
      return leaveLong(context, { texts: textsOf(entries), items: "udms" }) ? {} : { udms: entries.map(toUdmMessage) };
    },
    updateUdm: async (request, context) => toUdmMessage(await service.updateUdm(request, waiting(context))),
    async batchUpdateUdms(request, context) {
      const entries = await service.batchUpdateUdms(request, waiting(context));
      return leaveLong(context, { texts: textsOf(entries), items: "udms" }) ? {} : { udms: entries.map(toUdmMessage) };
    },
    deleteUdm: async (request, context) => {
      await service.deleteUdm(request, waiting(context));
      return create(EmptySchema);
    },
  };
}

/**
 * Leaves a long list to whoever writes the answer, piece by piece: connect-es would make all of it at once. What is returned
 * then counts for nothing.
 *
 * @returns false for a list that is short.
 */
function leaveLong({ values }: HandlerContext, list: ListMessage): boolean {
  const longList = values.get(longListKey);
  if (longList === undefined || shortListBytes(list, 0) !== undefined) return false;
  longList.list = list;
  return true;
}

function waiting(context: HandlerContext): AbortSignal {
  // A client that sends an absurdly short deadline has its answer before anything is written.
  if (context.timeoutMs() !== undefined && (context.timeoutMs() as number) <= 0) {
    throw new ConnectError("the deadline of the request has passed", Code.DeadlineExceeded);
  }
  return context.signal;
}

/**
 * JSON inside gRPC, gRPC-Web and Connect envelopes, read as strictly and exactly as REST-style JSON: connect-es passes
 * the text through a decoder of ours, which gives back canonical JSON (long numbers as strings, the mask as a string).
 */
function exactJson(method: DescMethod, unknownFields: UnknownFields): NonNullable<ConnectRouterOptions["jsonOptions"]> {
  const textDecoder = {
    decode: (bytes: Uint8Array): string =>
      toJsonString(method.input, decodeRequest(method.input, bytes, unknownFields)),
  };
  return { ignoreUnknownFields: false, textDecoder } as NonNullable<ConnectRouterOptions["jsonOptions"]>;
}
