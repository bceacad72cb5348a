import { create, type DescFile } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { ServerReflection as V1, ServerReflectionResponseSchema } from "../gen/grpc/reflection/v1/reflection_pb.ts";
import {
  ServerReflection as V1Alpha,
  ServerReflectionResponseSchema as AlphaResponseSchema,
} from "../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { bidiStream, type RpcService } from "../rpc/method.ts";
import type { SchemaFiles } from "./schema-files.ts";
import { quote } from "../../base/text/index.ts";

/** A question, as both versions of the protocol have it. */
export interface ReflectionQuestion {
  readonly host: string;
  readonly messageRequest:
    | { case: "fileByFilename" | "fileContainingSymbol" | "allExtensionNumbersOfType" | "listServices"; value: string }
    | { case: "fileContainingExtension"; value: { readonly containingType: string; readonly extensionNumber: number } }
    | { case: undefined; value?: undefined };
}

type Answer =
  | { case: "fileDescriptorResponse"; value: { fileDescriptorProto: Uint8Array[] } }
  | { case: "allExtensionNumbersResponse"; value: { baseTypeName: string; extensionNumber: number[] } }
  | { case: "listServicesResponse"; value: { service: { name: string }[] } }
  | { case: "errorResponse"; value: { errorCode: number; errorMessage: string } };

/** Names of the services of {@link reflectionMethods}. */
export const reflectionVersions = [V1.typeName, V1Alpha.typeName] as const;

/** grpc.reflection in both versions: answers the questions of a stream in order. The schema has no extensions. */
export function reflectionMethods(files: () => SchemaFiles, services: readonly string[]): readonly RpcService[] {
  const answer = createAnswerer(files, services);
  return [
    {
      schema: V1,
      area: undefined,
      methods: [
        bidiStream(V1.method.serverReflectionInfo, "viewer", async function* answers(questions) {
          for await (const question of questions) yield create(ServerReflectionResponseSchema, answer(question));
        }),
      ],
    },
    {
      schema: V1Alpha,
      area: undefined,
      methods: [
        bidiStream(V1Alpha.method.serverReflectionInfo, "viewer", async function* answers(questions) {
          for await (const question of questions) yield create(AlphaResponseSchema, answer(question) as never);
        }),
      ],
    },
  ];
}

function createAnswerer(files: () => SchemaFiles, services: readonly string[]) {
  const file = (found: DescFile | undefined, what: string): Answer => {
    if (found === undefined) return refuse(Code.NotFound, `there is no ${what}`);
    return { case: "fileDescriptorResponse", value: { fileDescriptorProto: files().withImports(found) } };
  };

  const answer = ({ messageRequest: question }: ReflectionQuestion): Answer => {
    switch (question.case) {
      case "fileByFilename":
        return file(files().byName(question.value), `file ${quote(question.value)}`);
      case "fileContainingSymbol":
        return file(files().bySymbol(question.value), `symbol ${quote(question.value)}`);
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = question.value;
        return refuse(Code.NotFound, `there is no extension ${extensionNumber} of ${quote(containingType)}`);
      }
      case "allExtensionNumbersOfType":
        if (files().registry.getMessage(question.value) === undefined) {
          return refuse(Code.NotFound, `there is no message ${quote(question.value)}`);
        }
        return {
          case: "allExtensionNumbersResponse",
          value: { baseTypeName: question.value, extensionNumber: [] },
        };
      case "listServices":
        return { case: "listServicesResponse", value: { service: services.map((name) => ({ name })) } };
      case undefined:
      default:
        return refuse(Code.InvalidArgument, "the request asks nothing");
    }
  };

  return (question: ReflectionQuestion) => ({
    validHost: question.host,
    originalRequest: question as never,
    messageResponse: answer(question),
  });
}

function refuse(code: Code, message: string): Answer {
  return { case: "errorResponse", value: { errorCode: code, errorMessage: message } };
}
