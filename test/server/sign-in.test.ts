import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { SignIn, type OidcConfig } from "../../src/server/index.ts";
import { systemClock } from "../../src/base/report/index.ts";
import { oidcTestConfig, startIssuer, type TestIssuer } from "../support/oidc-issuer.ts";
import { contractPath, postJson, startApi } from "./api-fixture.ts";

async function start(t: TestContext, more: Partial<OidcConfig> = {}) {
  const issuer = await startIssuer(t);
  issuer.claims = (right) => ({ ...right, preferred_username: "nora", groups: ["noc"] });
  const api = await startApi(t, { signIn: new SignIn(oidcTestConfig(issuer.url, more), systemClock) });
  return { issuer, ...api };
}

const get = (url: string, cookie = ""): Promise<Response> => fetch(url, { redirect: "manual", headers: { cookie } });
/** `name=value` of each cookie that an answer sets. */
const cookiesOf = (response: Response): string[] =>
  response.headers.getSetCookie().map((cookie) => cookie.split(";")[0] ?? "");
const errorOf = async (response: Response): Promise<unknown> => {
  const { code, message } = (await response.json()) as { code: string; message: string };
  return [response.status, code, message];
};

/** The way of a browser. @returns the cookie of the session, and the answer that set it. */
async function signInAt(url: string, issuer: TestIssuer, query = "") {
  const begun = await get(`${url}/login${query}`);
  assert.equal(begun.status, 302);
  const answer = issuer.signIn(begun.headers.get("location") ?? "");
  const ended = await get(`${url}/login/callback?${answer.toString()}`, cookiesOf(begun)[0]);
  return { begun, ended, cookie: cookiesOf(ended)[0] ?? "" };
}

test("a browser signs in, reads, writes as its own site alone, and signs out", async (t) => {
  const { url, issuer, lines, metrics } = await start(t);
  const stranger = await get(`${url}/session`);
  assert.equal(stranger.status, 401);
  // To a Basic challenge browsers show a dialog for a password, which nobody has.
  assert.equal(stranger.headers.get("www-authenticate"), 'Bearer realm="netgloss"');
  const { begun, ended, cookie } = await signInAt(url, issuer);
  assert.match(
    begun.headers.getSetCookie()[0] ?? "",
    /^netgloss_login=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
  );
  assert.deepEqual([ended.status, ended.headers.get("location")], [302, "/"]);
  const [session, login] = ended.headers.getSetCookie();
  assert.match(session ?? "", /^netgloss_session=[\w-]{43}; Path=\/; Max-Age=28800; HttpOnly; SameSite=Lax$/);
  assert.match(login ?? "", /^netgloss_login=; Path=\/; Max-Age=0;/);
  const who = (await (await get(`${url}/session`, `a=b; ${cookie}`)).json()) as { csrfToken: string };
  const { csrfToken } = who;
  assert.deepEqual(who, { name: "nora", role: "editor", by: "session", proof: "issuer", csrfToken });
  const csrf = { "x-csrf-token": csrfToken };

  const create = async (key: string, headers: Record<string, string>): Promise<number> =>
    (await postJson(`${url}${contractPath}/CreateUdm`, { udm: { key } }, { cookie, ...csrf, ...headers })).status;
  assert.equal(await create("10.0.0.1", {}), 403);
  assert.equal(await create("10.0.0.1", { origin: "https://evil.example" }), 403);
  assert.equal(await create("10.0.0.1", { origin: "null" }), 403);
  assert.equal(await create("10.0.0.1", { "sec-fetch-site": "cross-site", origin: url }), 403);
  assert.equal(await create("10.0.0.1", { "sec-fetch-site": "same-site" }), 403);
  assert.equal(await create("10.0.0.1", { origin: url }), 200);
  assert.equal(await create("10.0.0.2", { "sec-fetch-site": "same-origin" }), 200);
  assert.equal(await create("10.0.0.3", { cookie: `${cookie}x`, origin: url }), 401);
  const admin = await postJson(`${url}/api/v1/snmp/apply-definitions`, {}, { cookie, origin: url, ...csrf });
  assert.deepEqual([admin.status, admin.body["message"]], [403, "nora has the role editor, this needs admin"]);
  const audit = lines.find(({ fields }) => fields["method"] === "snmp/apply-definitions")?.fields;
  assert.deepEqual([audit?.["user"], audit?.["by"]], ["nora", "session"]);
  assert.deepEqual(lines.find(({ message }) => message === "signed in")?.fields["user"], "nora");
  assert.match(await metrics.render(), /netgloss_api_sessions 1\n/);

  const foreign = await fetch(`${url}/logout`, { method: "POST", headers: { cookie, origin: "https://evil.example" } });
  assert.equal(foreign.status, 403);
  const out = await fetch(`${url}/logout`, { method: "POST", headers: { cookie, origin: url, ...csrf } });
  assert.equal(out.status, 204);
  assert.match(out.headers.getSetCookie()[0] ?? "", /^netgloss_session=; Path=\/; Max-Age=0;/);
  assert.equal((await get(`${url}/session`, cookie)).status, 401);
  assert.equal((await get(`${url}/logout`)).status, 405);
  assert.ok(lines.some(({ message, fields }) => message === "signed out" && fields["user"] === "nora"));
});

test("behind TLS the cookies are Secure, and no other host can set them; a path in front stays", async (t) => {
  const { url, issuer } = await start(t, { redirectUrl: "https://noc.example/netgloss/login/callback" });
  const { ended, cookie } = await signInAt(url, issuer, "?to=/api/v1/outputs?x=1");
  assert.equal(ended.headers.get("location"), "/netgloss/api/v1/outputs?x=1");
  assert.match(ended.headers.getSetCookie()[0] ?? "", /^__Host-netgloss_session=[\w-]{43}; Path=\/; .*; Secure$/);
  assert.equal((await get(`${url}/session`, cookie)).status, 200);
  assert.equal((await get(`${url}/session`, cookie.replace("__Host-", ""))).status, 401);
});

test("a sign-in leads to no other site", async (t) => {
  const { url, issuer } = await start(t);
  for (const to of ["https://evil.example", "//evil.example", "/\\evil.example", "/a\tb", "", `/${"x".repeat(1024)}`]) {
    assert.equal((await get(`${url}/login?to=${encodeURIComponent(to)}`)).status, 400, to);
  }
  assert.equal(issuer.asked.size, 0);
});

test("an answer without the cookie, or twice, is refused; nobody is signed in", async (t) => {
  const { url, issuer, metrics } = await start(t);
  const begun = await get(`${url}/login`);
  const callback = `${url}/login/callback?${issuer.signIn(begun.headers.get("location") ?? "").toString()}`;
  const message = "this sign-in is over, or was begun in another browser: begin at /login";
  assert.deepEqual(await errorOf(await get(callback)), [403, "permission_denied", message]);
  const [cookie] = cookiesOf(begun);
  assert.equal((await get(callback, cookie)).status, 302);
  assert.deepEqual(await errorOf(await get(callback, cookie)), [403, "permission_denied", message]);
  const text = await metrics.render();
  assert.match(text, /netgloss_api_sign_ins_total\{result="refused"\} 2\n/);
  assert.match(text, /netgloss_api_sign_ins_total\{result="ok"\} 1\n/);
});

test("while the issuer is away a sign-in says so, and everything else goes on", async (t) => {
  const { url, issuer, lines } = await start(t);
  const { cookie } = await signInAt(url, issuer);
  await issuer.stop();
  const api = await startApi(t, { signIn: new SignIn(oidcTestConfig(issuer.url), systemClock) });
  const [status, code, message] = (await errorOf(await get(`${api.url}/login`))) as [number, string, string];
  assert.deepEqual([status, code], [503, "unavailable"]);
  assert.match(message, /^the issuer http:\S+ cannot be used: connect ECONNREFUSED/);
  assert.equal(api.lines.find((line) => line.message === "sign-in failed")?.fields["result"], "unavailable");
  assert.equal((await get(`${url}/session`, cookie)).status, 200);
  assert.ok(lines.every(({ level }) => level !== "error"));
});
