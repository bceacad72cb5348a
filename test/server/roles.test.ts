import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { before, test, type TestContext } from "node:test";
import { createCollector, readSettings } from "../../src/app/index.ts";
import { createToken, Identities, parseAccessFile, roles, suffices, type Role } from "../../src/server/index.ts";
import { silentLog, systemClock } from "../../src/base/report/index.ts";
import type { UdmStore, WriteOrigin } from "../../src/metadata/index.ts";
import { createMemoryStore } from "../support/memory-store.ts";
import { cheapHash } from "../support/cheap-hash.ts";
import { cleanUp } from "../support/clean-up.ts";
import { selfSignedFiles } from "../support/self-signed.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { contractPath, postJson, startApi, type ApiFixture } from "./api-fixture.ts";
import { envelope, openHttp2, postHttp2 } from "./raw-http.ts";

const basicAuth = { username: "operator", password: "contract" };
const [all, flows] = [createToken("all"), createToken("flows")];
let file = "";
before(() => {
  file = `users:
  vera: {role: viewer, password: "${cheapHash("v")}"}
  ed: {role: editor, password: "${cheapHash("e")}"}
  local: {role: editor, certificate: CN=localhost}
tokens:
  all: {role: editor, hash: "${all.hash}"}
  flows: {role: editor, areas: [flow], hash: "${flows.hash}"}
`;
});

const basic = (user: string, password: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
});
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

function identities(): Identities {
  const known = new Identities(systemClock);
  known.replace(parseAccessFile("users.yml", file));
  return known;
}

const create = { udm: { key: "10.0.0.1" } };

async function start(t: TestContext): Promise<ApiFixture> {
  return startApi(t, { basicAuth, identities: identities() });
}

test("each role may do what it is for, on every path of a method", async (t) => {
  const { url, lines } = await start(t);
  const status = async (path: string, headers: Record<string, string>, body: unknown = {}): Promise<number> =>
    (await postJson(url + path, body, headers)).status;
  const root = "/udm.v1.UdmService";
  for (const prefix of [contractPath, root]) {
    assert.equal(await status(`${prefix}/CountUdms`, {}), 401);
    assert.equal(await status(`${prefix}/CountUdms`, basic("vera", "x")), 401);
    for (const headers of [basic("vera", "v"), basic("ed", "e"), basic("operator", "contract"), bearer(all.token)]) {
      assert.equal(await status(`${prefix}/CountUdms`, headers), 200);
    }
    assert.equal(await status(`${prefix}/CreateUdm`, basic("vera", "v"), create), 403);
    assert.equal(
      await status(`${prefix}/CreateUdm`, basic("ed", "e"), { udm: { key: `10.${prefix.length}.0.1` } }),
      200,
    );
  }
  // Whether there is such a scope, only those who may call learn.
  const scopedPath = contractPath.replace("/udm.v1", "/scopes/none/udm.v1");
  for (const [path, scope] of [
    [scopedPath, {}],
    [contractPath, { "udm-scope": "none" }],
    [root, { "udm-scope": "none" }],
  ] as const) {
    assert.equal(await status(`${path}/CountUdms`, scope), 401);
    assert.equal(await status(`${path}/CreateUdm`, { ...scope, ...basic("vera", "v") }, create), 403);
    assert.equal(await status(`${path}/CreateUdm`, { ...scope, ...basic("ed", "e") }, create), 404);
  }
  assert.equal(await status("/api/v1/snmp/apply-definitions", basic("ed", "e")), 403);
  assert.equal(await status("/api/v1/snmp/apply-definitions", basic("operator", "contract")), 503);
  assert.equal(await status("/api/v1/snmp/rediscover-device", basic("ed", "e"), { ip: "192.0.2.1", port: 161 }), 503);
  assert.equal(await status("/api/v1/snmp/discover-networks", basic("ed", "e"), {}), 403);
  const refused = await postJson(`${url}${contractPath}/DeleteUdm`, { key: "10.0.0.1" }, basic("vera", "v"));
  assert.deepEqual(
    [refused.body["code"], refused.body["message"]],
    ["permission_denied", "vera has the role viewer, this needs editor"],
  );
  const audit = lines.filter(({ message }) => message === "operation refused or failed").map(({ fields }) => fields);
  const line = audit.find(({ method, user }) => method === "DeleteUdm" && user === "vera");
  assert.deepEqual(
    [line?.["result"], line?.["reason"], line?.["by"], line?.["peer"]],
    ["permission_denied", "vera has the role viewer, this needs editor", "basic", "127.0.0.1"],
  );
  assert.ok(audit.some(({ method, result }) => method === "snmp/apply-definitions" && result === "unavailable"));
});

test("refusals are those of each transport", async (t) => {
  const { url } = await start(t);
  const session = openHttp2(t, url);
  const call = (headers: Record<string, string>): ReturnType<typeof postHttp2> =>
    postHttp2(session, "/udm.v1.UdmService/CreateUdm", "application/grpc", envelope(""), headers);
  assert.equal((await call(basic("vera", "v"))).headers["grpc-status"], "7");
  assert.equal((await call({})).headers["grpc-status"], "16");
  assert.equal((await call(bearer(flows.token))).headers["grpc-status"], "7");
});

test("a token for an area is refused elsewhere; a wrong one everywhere", async (t) => {
  const { url } = await start(t);
  const { status, body } = await postJson(`${url}${contractPath}/CountUdms`, {}, bearer(flows.token));
  assert.deepEqual([status, body["message"]], [403, "flows is for flow, this is metadata"]);
  assert.equal((await fetch(`${url}/openapi.json`, { headers: bearer(flows.token) })).status, 200);
  assert.equal((await fetch(`${url}/openapi.json`, { headers: bearer(`${flows.token}x`) })).status, 401);
});

test("who writes is the author that the store is given", async (t) => {
  const store = createMemoryStore();
  const origins: (WriteOrigin | undefined)[] = [];
  const commit: UdmStore["commit"] = (writes, origin) => {
    origins.push(origin);
    return store.commit(writes);
  };
  const { url } = await startApi(t, { basicAuth, identities: identities(), udm: { ...store, commit } });
  await postJson(`${url}${contractPath}/CreateUdm`, create, bearer(all.token));
  assert.deepEqual(origins.at(-1), { method: "CreateUdm", user: "all", peer: "127.0.0.1" });
});

test("a client that guesses is told to wait, while others, and known passwords, pass", async (t) => {
  const clock = { now: () => systemClock.now(), monotonic: () => 0 };
  const { url, metrics } = await startApi(t, { basicAuth, identities: identities(), clock });
  const count = async (headers: Record<string, string>): Promise<number> =>
    (await postJson(`${url}${contractPath}/CountUdms`, {}, headers)).status;
  assert.equal(await count(basic("vera", "v")), 200);
  for (let i = 0; i < 10; i++) assert.equal(await count(basic("vera", `guess ${i}`)), 401);
  assert.equal(await count(basic("vera", "one more")), 429);
  assert.equal(await count(basic("ed", "e")), 429, "its password was not seen before");
  assert.equal(await count(basic("vera", "v")), 200);
  assert.equal(await count(basic("operator", "contract")), 200);
  assert.equal(await count(bearer(all.token)), 200);
  assert.equal(await metrics.value("netgloss_api_rejected_total", { reason: "auth" }), 12);
});

test("guesses for a user from many clients are slowed down, also for the user of the settings; a trusted proxy names the client", async (t) => {
  const clock = { now: () => systemClock.now(), monotonic: () => 0 };
  const { url, lines } = await startApi(t, {
    basicAuth,
    identities: identities(),
    clock,
    trustedProxies: ["127.0.0.0/8"],
  });
  const count = async (client: string, headers: Record<string, string>): Promise<number> =>
    (await postJson(`${url}${contractPath}/CountUdms`, {}, { "x-forwarded-for": client, ...headers })).status;
  assert.equal(await count("192.0.2.1", basic("operator", "contract")), 200);
  // What stands before the address that the proxy has added is the client's own invention.
  for (let i = 0; i < 10; i++) assert.equal(await count(`10.0.0.${i}, 192.0.2.9`, basic("vera", "x")), 401);
  assert.equal(await count("10.0.0.77, 192.0.2.9", basic("vera", "x")), 429);
  assert.equal(await count("192.0.2.10, 127.0.0.2", basic("vera", "v")), 200);
  for (let i = 0; i < 30; i++) assert.equal(await count(`198.51.100.${i}`, basic("operator", `${i}`)), 401);
  for (const guess of ["contract", "wrong"]) {
    assert.equal(await count("198.51.100.99", basic("operator", guess)), 429, "right or not");
  }
  assert.equal(await count("192.0.2.9", basic("vera", "v")), 429, "although the password is remembered");
  assert.equal(await count("192.0.2.1", basic("operator", "contract")), 200, "where they have signed in");
  await postJson(`${url}${contractPath}/CreateUdm`, create, {
    "x-forwarded-for": "[2001:db8::1]:99",
    ...basic("vera", "v"),
  });
  assert.equal(lines.findLast(({ fields }) => fields["user"] === "vera")?.fields["peer"], "2001:db8::1");
  const direct = await startApi(t, { basicAuth, identities: identities(), trustedProxies: ["192.0.2.0/24"] });
  await postJson(`${direct.url}${contractPath}/CreateUdm`, create, {
    "x-forwarded-for": "192.0.2.1",
    ...basic("vera", "v"),
  });
  assert.equal(direct.lines.findLast(({ fields }) => fields["user"] === "vera")?.fields["peer"], "127.0.0.1");
});

test("a client's certificate that is trusted is its user", async (t) => {
  const files = selfSignedFiles(t);
  const { port } = await startApi(t, { identities: identities(), tls: { ...files, clientCaPath: files.certPath } });
  const ask = (client: { cert?: string; key?: string }): Promise<number> =>
    new Promise((resolve, reject) => {
      const body = JSON.stringify(create);
      const headers = { "content-type": "application/json" };
      const options = {
        port,
        host: "localhost",
        path: `${contractPath}/CreateUdm`,
        method: "POST",
        headers,
        ca: files.cert,
      };
      request({ ...options, ...client, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      })
        .on("error", reject)
        .end(body);
    });
  assert.equal(await ask({ cert: files.cert, key: files.key }), 200);
  assert.equal(await ask({}), 401);
  const { cert, key } = selfSignedFiles(t);
  assert.equal(await ask({ cert, key }), 401, "nobody we trust has signed it");
});

/** What a collector offers to anybody. */
const openPaths = ["/", "/api/v1/sign-in", "/livez", "/login", "/login/callback", "/logout", "/metrics", "/readyz"];

/** What needs more than the role viewer: whatever is missing here must not change anything. */
const higherRoles: Readonly<Record<string, Role>> = {
  "/api/v1/snmp/apply-definitions": "admin",
  "/api/v1/snmp/discover-networks": "admin",
  "/api/v1/snmp/rediscover-device": "editor",
  "/api/v1/enrich/sources/accept": "editor",
  "/api/v1/enrich/sources/diff": "editor",
  "/api/v1/enrich/sources/run": "editor",
  "/api/v1/outputs/{id}/resend": "editor",
  "/api/v1/outputs/{id}/test": "editor",
  "/api/v1/views/delete": "editor",
  "/api/v1/views/import": "editor",
  "/api/v1/views/save": "editor",
  "/api/v1/reports/send": "editor",
  "/api/v1/watch/actions/{id}/resend": "editor",
  "/api/v1/watch/actions/{id}/test": "editor",
  "/api/v1/watch/alerts/{id}/acknowledge": "editor",
  "/api/v1/watch/alerts/{id}/snooze": "editor",
  "/api/v1/watch/silences/add": "editor",
  "/api/v1/watch/silences/{id}/end": "editor",
  "/api/v1/watch/answers/{id}/approve": "operator",
  "/api/v1/watch/answers/{id}/withdraw": "operator",
};
const changesMetadata = /\/(?:udm|names|rules)\.v1\.\w+\/(Batch|Create|Update|Delete|Move|Replace|Import|Undo|Set)/;

test("every path of a collector asks for its role, and for a token of its area", async (t) => {
  const directory = tempDirectory(t);
  const tokens = new Map(roles.map((role) => [role, createToken(role)]));
  const nowhere = createToken("nowhere");
  const keeper = createToken("keeper");
  const rows = Array.from(tokens, ([role, { hash }]) => `  ${role}: {role: ${role}, hash: "${hash}"}\n`).join("");
  const users = join(directory, "users.yml");
  const limited = `  nowhere: {role: admin, areas: [], hash: "${nowhere.hash}"}\n  keeper: {role: admin, areas: [metadata], hash: "${keeper.hash}"}\n`;
  writeFileSync(users, `tokens:\n${rows}${limited}`);
  const given = {
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: join(directory, "ipaddrs.yml"),
    SVC_API_PORT: "0",
    SVC_API_USERS_PATH: users,
    SVC_API_OIDC_ENABLE: "true",
    SVC_API_OIDC_ISSUER: "http://127.0.0.1:1",
    SVC_API_OIDC_CLIENT_ID: "netgloss",
    SVC_API_OIDC_REDIRECT_URL: "http://127.0.0.1/login/callback",
    SVC_API_OIDC_ROLES: "*=viewer",
  };
  const layer = Object.entries(given).map(([name, text]) => ({ name, text, origin: "test" }));
  const { settings } = readSettings([layer], () => "");
  const collector = createCollector({ settings, log: silentLog, clock: systemClock, version: "0.0.0" });
  await collector.start();
  cleanUp(t, () => collector.stop());
  const url = `http://127.0.0.1:${collector.apiPort()}`;
  const status = async (path: string, method: string, token?: { readonly token: string }): Promise<number> => {
    const headers = { ...(token && bearer(token.token)), "content-type": "application/json" };
    const answer = await fetch(url + path.replace("{id}", "x"), {
      method,
      headers,
      redirect: "manual",
      ...(method === "POST" && { body: "{}" }),
    });
    // Some go on.
    await answer.body?.cancel();
    return answer.status;
  };
  const document = await fetch(`${url}/openapi.json`, { headers: bearer(tokens.get("viewer")?.token ?? "") });
  const { paths } = (await document.json()) as {
    paths: Record<string, Record<string, { security?: unknown; responses: object }>>;
  };
  const described = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([verb, { security, responses }]) => {
      assert.equal("401" in responses, security === undefined, path);
      return { path, verb: verb.toUpperCase(), isOpen: security !== undefined };
    }),
  );
  const watch = { path: "/udm.v1.UdmToolsService/WatchUdms", verb: "POST", isOpen: false };
  const open = described.filter(({ isOpen }) => isOpen).map(({ path }) => path);
  assert.deepEqual(open.toSorted(), openPaths);
  for (const path of Object.keys(higherRoles)) assert.ok(path in paths, path);
  const begun = await fetch(`${url}/api/v1/sessions`, {
    method: "POST",
    headers: bearer(tokens.get("admin")?.token ?? ""),
  });
  const cookie = begun.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  /** What may change something by the cookie of a session needs its token. */
  const reasonBySession = async (path: string): Promise<string | undefined> => {
    const headers = { cookie, origin: url, "content-type": "application/json" };
    const answer = await fetch(url + path.replace("{id}", "x"), { method: "POST", headers, body: "{}" });
    const { details } = (await answer.json()) as { details: { debug: { reason: string } }[] };
    return details[0]?.debug.reason;
  };
  const check = async ({ path, verb, isOpen }: (typeof described)[number]): Promise<void> => {
    if (verb !== "GET") assert.equal(await reasonBySession(path), "CSRF_TOKEN", path);
    const needed = higherRoles[path] ?? (changesMetadata.test(path) ? "editor" : "viewer");
    assert.equal((await status(path, verb)) === 401, !isOpen, `${path} without credentials`);
    if (isOpen) return;
    for (const [role, token] of tokens) {
      const answered = await status(path, verb, token);
      if (suffices(role, needed)) assert.ok(![401, 403].includes(answered), `${path} as ${role}: ${answered}`);
      else assert.equal(answered, 403, `${path} as ${role}`);
    }
    const isOfNoArea = ["/openapi.json", "/session", "/api/v1/sessions"].includes(path);
    assert.equal((await status(path, verb, nowhere)) === 403, !isOfNoArea, `${path} with a token of no area`);
  };
  await Promise.all([...described, watch].map(check));
  // Where a rule is tried, flows are told of.
  const rulesOf = "/rules.v1.EnrichRuleService";
  assert.equal(await status(`${rulesOf}/TestRule`, "POST", keeper), 403);
  assert.notEqual(await status(`${rulesOf}/SetRule`, "POST", keeper), 403);
});
