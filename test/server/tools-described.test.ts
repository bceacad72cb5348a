// The tools of metadata describe themselves: in the OpenAPI document and by reflection.
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { ServerReflection } from "../../src/server/gen/grpc/reflection/v1/reflection_pb.ts";
import { UdmToolsService } from "../../src/server/gen/udm/v1/tools_pb.ts";
import { startTools } from "./tools-fixture.ts";

interface Operation {
  readonly summary: string;
  readonly requestBody: { readonly content: Readonly<Record<string, { readonly schema: { readonly $ref: string } }>> };
}

test("the OpenAPI document has every method of the tools, with its request", async (t) => {
  const { api } = await startTools(t, "");
  const document = (await (await fetch(`${api.url}/openapi.json`)).json()) as {
    readonly paths: Readonly<Record<string, { readonly post?: Operation; readonly get?: unknown }>>;
    readonly components: { readonly schemas: Readonly<Record<string, { readonly properties?: object }>> };
  };
  assert.ok(document.paths["/api/v1/enrich/ipaddr/changes"]?.get !== undefined, "WatchUdms is a stream of events here");
  for (const { name, input, methodKind } of UdmToolsService.methods) {
    if (methodKind !== "unary") continue;
    const [path, item] = Object.entries(document.paths).find(([one]) => one.endsWith(`UdmToolsService/${name}`)) ?? [];
    assert.ok(path !== undefined && item?.post !== undefined, name);
    assert.notEqual(item.post.summary, "", name);
    const [content] = Object.values(item.post.requestBody.content);
    assert.equal(content?.schema.$ref, `#/components/schemas/${input.name}`);
    const properties = Object.keys(document.components.schemas[input.name]?.properties ?? {});
    assert.deepEqual(
      properties,
      input.fields.map(({ jsonName }) => jsonName),
      name,
    );
    // It is answered where the document says.
    const options = await fetch(api.url + path, { method: "OPTIONS" });
    assert.match(options.headers.get("allow") ?? "", /\bPOST\b/, path);
  }
});

test("reflection names the tools, and gives their file whole", async (t) => {
  const { api } = await startTools(t, "");
  const client = createClient(ServerReflection, createGrpcTransport({ baseUrl: api.url }));
  const questions = [
    { case: "listServices", value: "" },
    ...UdmToolsService.methods.map(({ name }) => {
      return { case: "fileContainingSymbol", value: `${UdmToolsService.typeName}.${name}` } as const;
    }),
  ] as const;
  async function* asked() {
    for (const messageRequest of questions) yield { messageRequest };
  }
  let files = 0;
  for await (const { messageResponse } of client.serverReflectionInfo(asked())) {
    if (messageResponse.case === "listServicesResponse") {
      assert.ok(messageResponse.value.service.some(({ name }) => name === UdmToolsService.typeName));
      continue;
    }
    assert.ok(messageResponse.case === "fileDescriptorResponse");
    const found = messageResponse.value.fileDescriptorProto.map((bytes) =>
      fromBinary(FileDescriptorProtoSchema, bytes),
    );
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: found.toReversed() }));
    assert.deepEqual(
      registry.getService(UdmToolsService.typeName)?.methods.map(({ name }) => name),
      UdmToolsService.methods.map(({ name }) => name),
    );
    files++;
  }
  assert.equal(files, UdmToolsService.methods.length);
});
