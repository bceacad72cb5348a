import type { DescFile } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { SchemaFiles } from "./schema-files.ts";
import { quote } from "../../text/index.ts";

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

/** Answers the questions of one stream, in order. The schema has no extensions. */
export function createReflection(files: SchemaFiles, services: readonly string[]) {
  const file = (found: DescFile | undefined, what: string): Answer => {
    if (found === undefined) return refuse(Code.NotFound, `there is no ${what}`);
    return { case: "fileDescriptorResponse", value: { fileDescriptorProto: files.withImports(found) } };
  };

  const answer = ({ messageRequest: question }: ReflectionQuestion): Answer => {
    switch (question.case) {
      case "fileByFilename":
        return file(files.byName(question.value), `file ${quote(question.value)}`);
      case "fileContainingSymbol":
        return file(files.bySymbol(question.value), `symbol ${quote(question.value)}`);
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = question.value;
        return refuse(Code.NotFound, `there is no extension ${extensionNumber} of ${quote(containingType)}`);
      }
      case "allExtensionNumbersOfType":
        if (files.registry.getMessage(question.value) === undefined) {
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

  return async function* serverReflectionInfo<Question extends ReflectionQuestion>(questions: AsyncIterable<Question>) {
    for await (const question of questions) {
      yield { validHost: question.host, originalRequest: question, messageResponse: answer(question) };
    }
  };
}

function refuse(code: Code, message: string): Answer {
  return { case: "errorResponse", value: { errorCode: code, errorMessage: message } };
}
