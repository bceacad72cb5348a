import assert from "node:assert/strict";
import { before, test, type TestContext } from "node:test";
import { createToken, Identities, parseAccessFile } from "../../src/server/index.ts";
import { systemClock } from "../../src/base/report/index.ts";
import { cheapHash } from "../support/cheap-hash.ts";
import { contractPath, postJson, startApi, type ApiFixture } from "./api-fixture.ts";

const wall = createToken("wall");
let file = "";
before(() => {
  file = `users: {ed: {role: admin, password: "${cheapHash("e")}"}}
tokens: {wall: {role: viewer, areas: [flow], hash: "${wall.hash}"}}`;
});
const ed = { authorization: `Basic ${Buffer.from("ed:e").toString("base64")}` };
const owner = { authorization: `Basic ${Buffer.from("operator:contract").toString("base64")}` };

function start(t: TestContext, more: Parameters<typeof startApi>[1] = {}): Promise<ApiFixture> {
  const identities = new Identities(systemClock);
  identities.replace(parseAccessFile("users.yml", file));
  return startApi(t, { identities, basicAuth: { username: "operator", password: "contract" }, ...more });
}

interface Who {
  readonly csrfToken: string;
}

async function signIn(url: string, headers: Record<string, string>) {
  const response = await fetch(`${url}/api/v1/sessions`, { method: "POST", headers });
  const [set = ""] = response.headers.getSetCookie();
  const who = (await response.json()) as Who;
  return {
    status: response.status,
    set,
    cookie: set.split(";")[0] ?? "",
    who,
    csrf: { "x-csrf-token": who.csrfToken },
  };
}

const whoIs = async (url: string, cookie: string): Promise<unknown> => {
  const response = await fetch(`${url}/session`, { headers: { cookie } });
  return response.status === 200 ? await response.json() : response.status;
};

test("a password or a token begins a session; nothing else does", async (t) => {
  const { url, lines, metrics } = await start(t);
  for (const [proof, expected] of [
    [ed, { name: "ed", role: "admin", by: "session", proof: "password" }],
    [owner, { name: "operator", role: "admin", by: "session", proof: "password" }],
    [
      { authorization: `Bearer ${wall.token}` },
      { name: "wall", role: "viewer", areas: ["flow"], by: "session", proof: "token" },
    ],
  ] as const) {
    const { status, set, cookie, who } = await signIn(url, { ...proof, origin: url });
    assert.equal(status, 200);
    assert.match(set, /^netgloss_session=[\w-]{43}; Path=\/; Max-Age=28800; HttpOnly; SameSite=Lax$/);
    assert.deepEqual(who, { ...expected, csrfToken: who.csrfToken });
    assert.deepEqual(await whoIs(url, cookie), who);
  }
  assert.match(await metrics.render(), /netgloss_api_sessions 3\n/);
  const signed = lines.find(({ message, fields }) => message === "signed in" && fields["user"] === "wall")?.fields;
  assert.deepEqual([signed?.["role"], signed?.["by"], signed?.["peer"]], ["viewer", "token", "127.0.0.1"]);
  // The areas of the token hold for its session.
  const { cookie, csrf } = await signIn(url, { authorization: `Bearer ${wall.token}` });
  const refused = await postJson(`${url}${contractPath}/CountUdms`, {}, { cookie, origin: url, ...csrf });
  assert.deepEqual([refused.status, refused.body["message"]], [403, "wall is for flow, this is metadata"]);

  const wrong = { authorization: `Basic ${Buffer.from("ed:x").toString("base64")}` };
  assert.deepEqual([(await signIn(url, wrong)).status, (await signIn(url, wrong)).set], [401, ""]);
  assert.equal((await signIn(url, {})).status, 401);
  assert.equal((await signIn(url, { cookie, origin: url, ...csrf })).status, 400);
  assert.equal((await signIn(url, { ...ed, origin: "https://evil.example" })).status, 403);
});

test("by a session every path that may change something needs its token, from this site", async (t) => {
  const { url } = await start(t);
  const { cookie, csrf } = await signIn(url, ed);
  const other = await signIn(url, ed);
  const document = (await (await fetch(`${url}/openapi.json`, { headers: { cookie } })).json()) as {
    paths: Record<string, Record<string, unknown>>;
  };
  const paths = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).some((method) => method !== "get") ? [path.replace("{id}", "x")] : [],
  );
  assert.ok(paths.length > 15 && paths.includes("/logout") && paths.includes("/api/v1/sessions"), paths.join());
  const reason = async (path: string, headers: Record<string, string>): Promise<unknown> => {
    const { status, body } = await postJson(url + path, "{}", { cookie, ...headers });
    const [detail] = body["details"] as { debug: { reason: string } }[];
    return [status, detail?.debug.reason];
  };
  for (const path of paths) {
    assert.deepEqual(await reason(path, { origin: url }), [403, "CSRF_TOKEN"], path);
    assert.deepEqual(
      await reason(path, { origin: url, "x-csrf-token": other.who.csrfToken }),
      [403, "CSRF_TOKEN"],
      path,
    );
    assert.deepEqual(await reason(path, { origin: "https://evil.example", ...csrf }), [403, "FOREIGN_SITE"], path);
    assert.deepEqual(await reason(path, csrf), [403, "FOREIGN_SITE"], path);
  }
  // With it they pass, and programs with a header pass without.
  const count = `${url}${contractPath}/CountUdms`;
  assert.equal((await postJson(count, {}, { cookie, origin: url, ...csrf })).status, 200);
  assert.equal((await postJson(count, {}, ed)).status, 200);
  assert.equal((await fetch(`${url}/openapi.json`, { headers: { cookie } })).status, 200);
});

test("a session that a browser brought is never taken over: the key is new, the one before ends", async (t) => {
  const { url } = await start(t);
  const planted = `netgloss_session=${"a".repeat(43)}`;
  const { cookie } = await signIn(url, { ...ed, cookie: planted });
  assert.notEqual(cookie, planted);
  assert.equal(await whoIs(url, planted), 401);
  const attacker = await signIn(url, { authorization: `Bearer ${wall.token}` });
  const victim = await signIn(url, { ...ed, cookie: attacker.cookie });
  assert.notEqual(victim.cookie, attacker.cookie);
  assert.equal(await whoIs(url, attacker.cookie), 401);
  assert.deepEqual(await whoIs(url, victim.cookie), victim.who);
});

test("where the browser comes by TLS the cookie is Secure, and no other host can set it", async (t) => {
  const secure = /^__Host-netgloss_session=[\w-]{43}; Path=\/; Max-Age=60; HttpOnly; SameSite=Lax; Secure$/;
  const { url } = await start(t, { sessionMs: 60_000, allowedHosts: ["noc.example"] });
  // A proxy in front ends TLS: the browser says by which scheme it came.
  const behind = await signIn(url, { ...ed, "sec-fetch-site": "same-origin", origin: "https://noc.example" });
  assert.match(behind.set, secure);
  assert.deepEqual(await whoIs(url, behind.cookie), behind.who);
  assert.equal(await whoIs(url, behind.cookie.replace("__Host-", "")), 401);
  const headers = { cookie: behind.cookie, "sec-fetch-site": "same-origin", ...behind.csrf };
  const out = await fetch(`${url}/logout`, { method: "POST", headers });
  assert.match(out.headers.getSetCookie()[0] ?? "", /^__Host-netgloss_session=; Path=\/; Max-Age=0; .*Secure$/);
  assert.equal(await whoIs(url, behind.cookie), 401);
});

test("signing out ends this session, or all of the user", async (t) => {
  const { url, lines } = await start(t);
  const [first, second, third] = [await signIn(url, ed), await signIn(url, ed), await signIn(url, ed)];
  const elsewhere = await signIn(url, owner);
  const out = (path: string, { cookie, csrf }: typeof first): Promise<Response> =>
    fetch(url + path, { method: "POST", headers: { cookie, origin: url, ...csrf } });
  assert.equal((await out("/logout", first)).status, 204);
  assert.deepEqual(await Promise.all([first, second].map(({ cookie }) => whoIs(url, cookie))), [401, second.who]);
  assert.equal((await out("/logout?everywhere=true", second)).status, 204);
  const left = await Promise.all([second, third, elsewhere].map(({ cookie }) => whoIs(url, cookie)));
  assert.deepEqual(left, [401, 401, elsewhere.who]);
  assert.deepEqual(
    lines.filter(({ message }) => message === "signed out").map(({ fields }) => [fields["user"], fields["sessions"]]),
    [
      ["ed", 1],
      ["ed", 2],
    ],
  );
  // Who has none is not refused.
  assert.equal((await fetch(`${url}/logout`, { method: "POST" })).status, 204);
});
