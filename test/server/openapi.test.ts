import assert from "node:assert/strict";
import { test } from "node:test";
import { UdmService } from "../../src/server/gen/udm/v1/udm_pb.ts";
import { SignIn } from "../../src/server/index.ts";
import { systemClock } from "../../src/base/report/index.ts";
import { oidcTestConfig } from "../support/oidc-issuer.ts";
import { contractPath, startApi } from "./api-fixture.ts";

interface Document {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly security?: unknown;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly responses: Readonly<Record<string, unknown>>;
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: { $ref?: string } }>> };
  readonly security?: unknown;
}

const basicAuth = { username: "u", password: "p" };
const authorization = `Basic ${Buffer.from("u:p").toString("base64")}`;

async function documentOf(url: string): Promise<Document> {
  const response = await fetch(`${url}/openapi.json`, { headers: { authorization } });
  assert.equal(response.status, 200);
  return (await response.json()) as Document;
}

test("the document is whole: references resolve, operations have names and responses", async (t) => {
  const views = new Map([["/api/v1/exporters", () => []]]);
  const { url } = await startApi(t, { basicAuth, views });
  const document = await documentOf(url);
  assert.equal(document.openapi, "3.1.0");
  assert.equal(document.info.version, "1.2.3");
  for (const reference of references(document)) {
    const target = reference
      .slice(2)
      .split("/")
      .reduce<unknown>((node, part) => (node as Record<string, unknown>)?.[part], document);
    assert.ok(target !== undefined, reference);
  }
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
  assert.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
  for (const { responses, summary, operationId } of operations) {
    assert.ok(Object.keys(responses).length > 0 && summary !== "", operationId);
    for (const status of Object.keys(responses)) assert.match(status, /^([1-5]\d\d|default)$/);
  }
});

test("sign-in at an issuer is in it, and what proves who asks", async (t) => {
  const signIn = new SignIn(oidcTestConfig("http://127.0.0.1:1"), systemClock);
  const open = await startApi(t, {});
  const withPassword = await startApi(t, { signIn, basicAuth });
  const alone = await documentOf(open.url);
  assert.deepEqual(
    [alone.paths["/login"], alone.components["securitySchemes"], alone.security],
    [undefined, undefined, undefined],
  );
  const { paths, components, security } = await documentOf(withPassword.url);
  assert.deepEqual(Object.keys(components["securitySchemes"] ?? {}), ["basic", "session"]);
  assert.deepEqual(security, [{ basic: [] }, { session: [] }]);
  const statuses = Object.fromEntries(
    Object.entries({ "/login": "get", "/login/callback": "get", "/logout": "post" }).map(([path, verb]) => [
      path,
      Object.keys(paths[path]?.[verb]?.responses ?? {}),
    ]),
  );
  const moved = ["302", "400", "403", "503"];
  assert.deepEqual(statuses, { "/login": moved, "/login/callback": moved, "/logout": ["204", "403"] });
});

test("every path of the document is answered, and every method and operation is in it", async (t) => {
  const { url } = await startApi(t, { views: new Map([["/api/v1/exporters", () => []]]) });
  const { paths } = await documentOf(url);
  const expected = [
    "/",
    "/api/v1/sign-in",
    "/session",
    ...UdmService.methods.map(({ name }) => `${contractPath}/${name}`),
    "/api/v1/enrich/sources/accept",
    "/api/v1/enrich/sources/diff",
    "/api/v1/enrich/sources/run",
    "/api/v1/explore/flows",
    "/api/v1/explore/profile",
    "/api/v1/explore/query",
    "/api/v1/explore/rules",
    "/api/v1/explore/status",
    "/api/v1/exporters",
    "/api/v1/snmp/apply-definitions",
    "/api/v1/snmp/discover-networks",
    "/api/v1/snmp/rediscover-device",
    "/livez",
    "/metrics",
    "/openapi.json",
    "/readyz",
  ];
  assert.deepEqual(Object.keys(paths).toSorted(), expected.toSorted());
  for (const [path, item] of Object.entries(paths)) {
    const options = await fetch(url + path, { method: "OPTIONS" });
    for (const method of Object.keys(item)) {
      assert.ok(options.headers.get("allow")?.split(", ").includes(method.toUpperCase()), path);
    }
  }
});

test("authentication is described as it is", async (t) => {
  const guarded = await documentOf((await startApi(t, { basicAuth, authMetrics: true })).url);
  assert.deepEqual(guarded.security, [{ basic: [] }, { session: [] }]);
  assert.deepEqual(guarded.paths["/livez"]?.["get"]?.security, []);
  assert.equal(guarded.paths["/metrics"]?.["get"]?.security, undefined);
  assert.ok(guarded.components["securitySchemes"]?.["basic"] !== undefined);
  const open = await documentOf((await startApi(t)).url);
  assert.equal(open.security, undefined);
});

test("the schemas carry the comments of the schema, and 64-bit numbers as strings", async (t) => {
  const { components, paths } = await documentOf((await startApi(t)).url);
  const udm = components["schemas"]?.["Udm"] as {
    properties: Record<string, { description: string; oneOf?: unknown[] }>;
  };
  assert.deepEqual(Object.keys(udm.properties), ["key", "name", "tags", "vlan", "internal", "metadata"]);
  assert.match(udm.properties["name"]?.description ?? "", /at most 255 characters/);
  assert.equal(udm.properties["vlan"]?.oneOf?.length, 2);
  const create = paths[`${contractPath}/CreateUdm`]?.["post"];
  assert.equal(create?.requestBody?.content["application/json"]?.schema.$ref, "#/components/schemas/CreateUdmRequest");
});

function references(node: unknown): string[] {
  if (typeof node !== "object" || node === null) return [];
  return Object.entries(node).flatMap(([name, value]) => (name === "$ref" ? [String(value)] : references(value)));
}
