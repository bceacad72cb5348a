import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { createFileRegistry, create, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import * as v1 from "../../src/server/gen/grpc/reflection/v1/reflection_pb.ts";
import * as v1alpha from "../../src/server/gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { startApi } from "./api-fixture.ts";

type Question = NonNullable<Parameters<typeof create<typeof v1.ServerReflectionRequestSchema>>[1]>["messageRequest"];
type Answer = v1.ServerReflectionResponse["messageResponse"];

for (const [version, service] of [
  ["v1", v1.ServerReflection],
  ["v1alpha", v1alpha.ServerReflection as unknown as typeof v1.ServerReflection],
] as const) {
  suite(`reflection ${version}`, () => {
    const ask = async (url: string, ...questions: Question[]): Promise<Answer[]> => {
      const client = createClient(service, createGrpcTransport({ baseUrl: url }));
      async function* all() {
        for (const messageRequest of questions) yield { host: "h", messageRequest } as never;
      }
      const answers: Answer[] = [];
      for await (const { messageResponse, originalRequest, validHost } of client.serverReflectionInfo(all())) {
        assert.equal(validHost, "h");
        assert.deepEqual(originalRequest?.messageRequest.case, questions[answers.length]?.case);
        answers.push(messageResponse);
      }
      return answers;
    };

    test("services", async (t) => {
      const { url } = await startApi(t);
      const [answer] = await ask(url, { case: "listServices", value: "" });
      assert.deepEqual(answer?.case === "listServicesResponse" && answer.value.service.map(({ name }) => name), [
        "udm.v1.UdmService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
      ]);
    });

    test("files by name and by every kind of symbol, with imports and comments", async (t) => {
      const { url } = await startApi(t);
      const symbols = [
        "udm.v1.UdmService",
        "udm.v1.UdmService.CountUdms",
        "udm.v1.Udm",
        ".udm.v1.Udm.key",
        "udm.v1.Udm.MetadataEntry",
      ];
      const questions: Question[] = [
        { case: "fileByFilename", value: "udm/v1/udm.proto" },
        ...symbols.map((value) => ({ case: "fileContainingSymbol" as const, value })),
      ];
      for (const answer of await ask(url, ...questions)) {
        assert.ok(answer.case === "fileDescriptorResponse");
        const files = answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
        assert.deepEqual(
          files.map(({ name }) => name),
          ["udm/v1/udm.proto", "google/protobuf/empty.proto", "google/protobuf/field_mask.proto"],
        );
        // It is whole: a client can build the types from it.
        const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: files.toReversed() }));
        const comments = registry.getFile("udm/v1/udm.proto")?.proto.sourceCodeInfo?.location ?? [];
        assert.ok(
          comments.some(({ leadingComments }) => leadingComments.includes("One entry of user-defined metadata.")),
        );
        assert.ok(comments.some(({ leadingComments }) => leadingComments.includes("Counts all entries.")));
      }
      const others = ["grpc.health.v1.HealthCheckResponse.ServingStatus", "grpc.health.v1.HealthCheckResponse.SERVING"];
      for (const symbol of [...others, "google.protobuf.FieldMask", "google.rpc.BadRequest.FieldViolation"]) {
        const [answer] = await ask(url, { case: "fileContainingSymbol", value: symbol });
        assert.equal(answer?.case, "fileDescriptorResponse", symbol);
      }
    });

    test("what is not there is an error, and the stream goes on", async (t) => {
      const { url } = await startApi(t);
      const answers = await ask(
        url,
        { case: "fileByFilename", value: "nothing.proto" },
        { case: "fileContainingSymbol", value: "nothing.Here" },
        { case: "fileContainingExtension", value: { containingType: "udm.v1.Udm", extensionNumber: 7 } as never },
        { case: "allExtensionNumbersOfType", value: "nothing.Here" },
        { case: undefined },
        { case: "allExtensionNumbersOfType", value: "udm.v1.Udm" },
      );
      assert.deepEqual(
        answers.map((answer) => (answer.case === "errorResponse" ? answer.value.errorCode : answer.case)),
        [5, 5, 5, 5, 3, "allExtensionNumbersResponse"],
      );
    });
  });
}

test("reflection is found below the contract's path too, and over gRPC-Web on HTTP/2", async (t) => {
  const { url } = await startApi(t);
  const transport = createGrpcWebTransport({ baseUrl: `${url}/api/v1/enrich/ipaddr`, httpVersion: "2" });
  const client = createClient(v1.ServerReflection, transport);
  async function* question() {
    yield { messageRequest: { case: "listServices" as const, value: "" } };
  }
  const answers = [];
  for await (const answer of client.serverReflectionInfo(question())) answers.push(answer.messageResponse.case);
  assert.deepEqual(answers, ["listServicesResponse"]);
});
