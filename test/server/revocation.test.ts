import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { createClient, ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { Identities, SignIn, createToken, parseAccessFile } from "../../src/server/index.ts";
import type { CollectorUdmStore } from "../../src/metadata/index.ts";
import { cheapHash } from "../support/cheap-hash.ts";
import { UdmToolsService } from "../../src/server/gen/udm/v1/tools_pb.ts";
import type { StreamPage } from "../../src/server/index.ts";
import { systemClock } from "../../src/base/report/index.ts";
import { oidcTestConfig, startIssuer } from "../support/oidc-issuer.ts";
import { until } from "./api-fixture.ts";
import { startTools } from "./tools-fixture.ts";
import { openRaw } from "./raw-http.ts";

const token = createToken("watcher");
const tokenFile = (more = ""): string =>
  `tokens: {watcher: {role: viewer, hash: "${token.hash}"${more}}, other: {role: viewer, hash: "${createToken("other").hash}"}}`;
const bearer = { authorization: `Bearer ${token.token}` };

/** A tail that goes on, whatever its signal says. */
const tail: StreamPage = {
  summary: "a tail",
  parameters: {},
  async *open() {
    for (;;) {
      yield Buffer.from("{}\n");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  },
};

async function start(t: TestContext, file: string) {
  const time = { now: systemClock.now() };
  const identities = new Identities({ ...systemClock, now: () => time.now });
  identities.replace(parseAccessFile("users.yml", file));
  const inScopes: { store?: CollectorUdmStore } = {};
  const { api, store } = await startTools(t, "", {
    identities,
    scopes: () => inScopes.store,
    streams: new Map([["/api/v1/flow/tail", tail]]),
  });
  inScopes.store = store;
  return { api, time, replace: (text: string) => identities.replace(parseAccessFile("users.yml", text)) };
}

const withHeaders =
  (headers: Readonly<Record<string, string>>): Interceptor =>
  (next) =>
  (request) => {
    for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
    return next(request);
  };

const transports: Readonly<Record<string, (baseUrl: string, interceptors: Interceptor[]) => Transport>> = {
  "Connect HTTP/1.1": (baseUrl, interceptors) => createConnectTransport({ baseUrl, interceptors, httpVersion: "1.1" }),
  "Connect HTTP/2": (baseUrl, interceptors) => createConnectTransport({ baseUrl, interceptors, httpVersion: "2" }),
  "gRPC-Web": (baseUrl, interceptors) => createGrpcWebTransport({ baseUrl, interceptors, httpVersion: "1.1" }),
  gRPC: (baseUrl, interceptors) => createGrpcTransport({ baseUrl, interceptors }),
};

/** Opens WatchUdms. @returns once it is open, what its end will be. */
async function watch(url: string, name: string, headers: Readonly<Record<string, string>>) {
  const client = createClient(UdmToolsService, transports[name]?.(url, [withHeaders(headers)]) as Transport);
  const stream = client.watchUdms({})[Symbol.asyncIterator]();
  await stream.next();
  return {
    end: stream.next().then(
      () => "goes on",
      (error: unknown) => ConnectError.from(error),
    ),
  };
}

/** Opens a GET that goes on. @returns once it has begun, what came until its end. */
async function follow(url: string, path: string, headers: Readonly<Record<string, string>>) {
  const response = await fetch(url + path, { headers });
  assert.equal(response.status, 200);
  return { end: response.text().catch(() => "cut off") };
}

const streams = ["/api/v1/enrich/ipaddr/changes", "/api/v1/flow/tail"];

suite("who loses what they may, loses what is open", { concurrency: true }, () => {
  for (const [before, then] of [
    ["", ", scopes: acme"],
    [", scopes: acme", ", scopes: [acme, beta]"],
    [", scopes: acme", ""],
  ] as const) {
    test(`what is open ends when the scopes of its token change: ${before} ${then}`, async (t) => {
      const { api, replace } = await start(t, tokenFile(before));
      const path = "/api/v1/enrich/ipaddr/changes";
      const { end } = await follow(api.url, path, bearer);
      replace(tokenFile(then));
      assert.match(await end, /the scopes of watcher have changed/);
    });
  }
  for (const name of Object.keys(transports)) {
    test(`WatchUdms by ${name} ends when its token is deleted`, async (t) => {
      const { api, replace } = await start(t, tokenFile());
      const { end } = await watch(api.url, name, bearer);
      replace("tokens: {}");
      const error = await end;
      assert.ok(error instanceof ConnectError, String(error));
      assert.deepEqual([error.code, error.rawMessage], [16, "the credentials of watcher are no longer good"]);
    });
  }

  test("every stream ends when its token is deleted, expires, is made anew, or is for another area", async (t) => {
    const soon = new Date(systemClock.now() + 60_000).toISOString();
    const { api, replace, time } = await start(t, tokenFile(`, expires: "${soon}"`));
    const changes: [string, () => void][] = [
      ["deleted", () => replace("users: {}")],
      ["made anew", () => replace(`tokens: {watcher: {role: viewer, hash: "${createToken("watcher").hash}"}}`)],
      ["for another area", () => replace(tokenFile(", areas: [snmp]"))],
      ["expired", () => void (time.now += 61_000)],
    ];
    for (const [what, change] of changes) {
      replace(tokenFile(`, expires: "${soon}"`));
      const open = await Promise.all(streams.map((path) => follow(api.url, path, bearer)));
      change();
      const [events] = await Promise.all(open.map(({ end }) => end));
      assert.match(events ?? "", /event: error\ndata: \{"code":"(unauthenticated|permission_denied)"/, what);
    }
  });

  test("a user's streams end with the user, with the password and with the role; not with another's change", async (t) => {
    const [first, second] = [cheapHash("one"), cheapHash("two")];
    const users = (vera: string): string => `users: {ed: {role: editor, password: "${first}"}${vera}}`;
    const vera = `, vera: {role: editor, password: "${first}"}`;
    const { api, replace } = await start(t, users(vera));
    const basic = (name: string): Record<string, string> => ({
      authorization: `Basic ${Buffer.from(`${name}:one`).toString("base64")}`,
    });
    const other = await watch(api.url, "gRPC", basic("ed"));
    for (const after of ["", `, vera: {role: editor, password: "${second}"}`]) {
      replace(users(vera));
      const { end } = await watch(api.url, "gRPC", basic("vera"));
      replace(users(after));
      assert.equal(((await end) as ConnectError).code, 16);
    }
    replace(users(vera));
    const { end } = await watch(api.url, "gRPC", basic("vera"));
    // Enough for what is open: the role of now.
    replace(users(`, vera: {role: viewer, password: "${first}"}`));
    const still = await Promise.race([end, new Promise((resolve) => setTimeout(resolve, 300, "still open"))]);
    assert.equal(still, "still open");
    replace("users: {}");
    assert.equal(((await end) as ConnectError).code, 16);
    assert.equal(((await other.end) as ConnectError).code, 16);
  });

  test("a client that does not read loses its connection", async (t) => {
    const { api, replace } = await start(t, tokenFile());
    const raw = openRaw(t, api.port);
    raw.socket.write(
      `GET /api/v1/flow/tail HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${bearer.authorization}\r\n\r\n`,
    );
    await until(() => raw.received().includes("200 OK"), "the stream is open");
    raw.socket.pause();
    replace("tokens: {}");
    await until(async () => (await api.metrics.value("netgloss_api_connections", { protocol: "http1" })) === 0, "cut");
  });

  test("a session's streams end when its user signs out", async (t) => {
    const issuer = await startIssuer(t);
    issuer.claims = (right) => ({ ...right, preferred_username: "nora", groups: ["noc"] });
    const signIn = new SignIn(oidcTestConfig(issuer.url, {}), systemClock);
    const { api } = await startTools(t, "", { signIn });
    const get = (path: string, cookie = ""): Promise<Response> =>
      fetch(api.url + path, { redirect: "manual", headers: { cookie } });
    const cookieOf = (response: Response): string => response.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    const begun = await get("/login");
    const answer = issuer.signIn(begun.headers.get("location") ?? "");
    const cookie = cookieOf(await get(`/login/callback?${answer.toString()}`, cookieOf(begun)));
    const { end } = await follow(api.url, streams[0] ?? "", { cookie });
    const { csrfToken } = (await (await get("/session", cookie)).json()) as { csrfToken: string };
    const headers = { cookie, origin: api.url, "x-csrf-token": csrfToken };
    const out = await fetch(`${api.url}/logout`, { method: "POST", headers });
    assert.equal(out.status, 204);
    assert.match(await end, /event: error\ndata: \{"code":"unauthenticated","message":"the credentials of nora/);
  });

  test("what a session has open ends with its password, its token, a role that falls; not with one that rises", async (t) => {
    const [first, second] = [cheapHash("one"), cheapHash("two")];
    const users = (role: string, password = first): string => `users: {vera: {role: ${role}, password: "${password}"}}`;
    const { api, replace } = await start(t, users("editor"));
    const vera = { authorization: `Basic ${Buffer.from("vera:one").toString("base64")}` };
    const signIn = async (headers: Readonly<Record<string, string>>): Promise<string> => {
      const response = await fetch(`${api.url}/api/v1/sessions`, { method: "POST", headers });
      assert.equal(response.status, 200);
      return response.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    };
    const role = async (cookie: string): Promise<unknown> => {
      const response = await fetch(`${api.url}/session`, { headers: { cookie } });
      return response.status === 200 ? ((await response.json()) as { role: string }).role : response.status;
    };
    const ends: [string, string, Readonly<Record<string, string>>, string][] = [
      ["password", users("editor"), vera, users("editor", second)],
      ["deleted", users("editor"), vera, "users: {}"],
      ["role", users("editor"), vera, users("viewer")],
      ["token", tokenFile(), bearer, "tokens: {}"],
      ["area", tokenFile(), bearer, tokenFile(", areas: [snmp]")],
    ];
    for (const [what, before, proof, after] of ends) {
      replace(before);
      const cookie = await signIn(proof);
      const { end } = await follow(api.url, streams[0] ?? "", { cookie });
      replace(after);
      assert.match(await end, /event: error\ndata: \{"code":"unauthenticated"/, what);
      replace(before);
      assert.equal(await role(cookie), 401, what);
    }
    replace(users("editor"));
    const cookie = await signIn(vera);
    replace(users("admin"));
    assert.equal(await role(cookie), "admin");
    replace(users("editor"));
    assert.equal(await role(cookie), 401, "less than it had");
  });
});
