import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { test } from "node:test";
import { SignIn, SignInError, type OidcConfig } from "../../../src/server/index.ts";
import { systemClock } from "../../../src/base/report/index.ts";
import { cleanUp } from "../../support/clean-up.ts";
import { selfSigned } from "../../support/self-signed.ts";
import { oidcTestConfig, signingKey, startIssuer, type Claims, type TestIssuer } from "../../support/oidc-issuer.ts";

const noc = { groups: ["staff", "noc"], preferred_username: "nora" };

/** A whole sign-in as one browser. */
async function signInOnce(issuer: TestIssuer, more: Partial<OidcConfig> = {}) {
  const signIn = new SignIn(oidcTestConfig(issuer.url, more), systemClock);
  const { url, state } = await signIn.begin("/session");
  const ended = await signIn.finish(issuer.signIn(url), state);
  return { signIn, ...ended };
}

const refused = (code: SignInError["code"], pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof SignInError, String(error));
  assert.match(error.message, pattern);
  assert.equal(error.code, code);
  return true;
};

test("a sign-in asks with PKCE, state and nonce, and says who it is", async (t) => {
  const issuer = await startIssuer(t);
  issuer.claims = (right) => ({ ...right, ...noc });
  const signIn = new SignIn(oidcTestConfig(issuer.url), systemClock);
  const { url, state } = await signIn.begin("/api/v1/outputs");
  const asked = new URL(url).searchParams;
  assert.deepEqual(
    ["response_type", "client_id", "redirect_uri", "scope", "code_challenge_method", "state"].map((name) =>
      asked.get(name),
    ),
    ["code", "netgloss", "http://127.0.0.1/login/callback", "openid profile", "S256", state],
  );
  assert.match(asked.get("code_challenge") ?? "", /^[\w-]{43}$/);
  assert.match(asked.get("nonce") ?? "", /^[\w-]{43}$/);
  const { principal, target } = await signIn.finish(issuer.signIn(url), state);
  assert.deepEqual(principal, { name: "nora", role: "editor", by: "session" });
  assert.equal(target, "/api/v1/outputs");
});

const seconds = (): number => Math.floor(Date.now() / 1000);
const wrongTokens: readonly [string, (right: Claims) => Claims, RegExp][] = [
  ["nonce", (right) => ({ ...right, nonce: "another" }), /nonce/],
  ["no nonce", (right) => ({ ...right, nonce: undefined }), /nonce/],
  ["expired", (right) => ({ ...right, iat: seconds() - 900, exp: seconds() - 600 }), /exp/],
  ["audience", (right) => ({ ...right, aud: "grafana" }), /aud/],
  ["issuer", (right) => ({ ...right, iss: "http://127.0.0.1:1" }), /iss/],
];
test("an ID token that is not for this sign-in gives no session", async (t) => {
  const issuer = await startIssuer(t);
  for (const [name, claims, pattern] of wrongTokens) {
    issuer.claims = (right) => claims({ ...right, ...noc });
    await assert.rejects(signInOnce(issuer), refused("refused", pattern), name);
  }
  issuer.claims = (right) => ({ ...right, ...noc });
  issuer.key = signingKey();
  await assert.rejects(signInOnce(issuer), refused("refused", /signature/), "signature");
});

test("a state is good once, in the browser that began, with its own answer", async (t) => {
  const issuer = await startIssuer(t);
  issuer.claims = (right) => ({ ...right, ...noc });
  const signIn = new SignIn(oidcTestConfig(issuer.url), systemClock);
  const mine = await signIn.begin("/session");
  const theirs = await signIn.begin("/session");
  const over = refused("refused", /is over, or was begun in another browser/);
  await assert.rejects(signIn.finish(issuer.signIn(mine.url), theirs.state), over);
  await assert.rejects(signIn.finish(issuer.signIn(mine.url), undefined), over);
  await assert.rejects(signIn.finish(new URLSearchParams({ code: "x" }), mine.state), over);
  const answer = issuer.signIn(mine.url);
  await signIn.finish(answer, mine.state);
  await assert.rejects(signIn.finish(answer, mine.state), over);
  assert.equal(issuer.asked.get("/token"), 1);
  // The code of another sign-in has another challenge.
  const stolen = issuer.signIn((await signIn.begin("/session")).url);
  stolen.set("state", theirs.state);
  await assert.rejects(signIn.finish(stolen, theirs.state), refused("refused", /invalid_grant/));
});

test("a sign-in ends after ten minutes at the issuer", async (t) => {
  const issuer = await startIssuer(t);
  let now = 0;
  const signIn = new SignIn(oidcTestConfig(issuer.url), { monotonic: () => now });
  const { url, state } = await signIn.begin("/session");
  now = 600_000;
  await assert.rejects(signIn.finish(issuer.signIn(url), state), refused("refused", /is over/));
});

test("the role is the highest of the claim, the name its claim or the subject", async (t) => {
  const issuer = await startIssuer(t);
  const userOf = async (claims: Claims, more: Partial<OidcConfig> = {}) => {
    issuer.claims = (right) => ({ ...right, ...claims });
    return (await signInOnce(issuer, more)).principal;
  };
  assert.deepEqual(await userOf({ groups: ["guests", "admins", "noc"] }), {
    name: "u-1",
    role: "admin",
    by: "session",
  });
  assert.equal((await userOf({ groups: "guests" })).role, "viewer");
  assert.equal((await userOf({ groups: ["guests"], preferred_username: "a\nb" })).name, "u-1");
  const nested = { roleClaim: "realm_access.roles" };
  assert.equal((await userOf({ realm_access: { roles: ["noc"] } }, nested)).role, "editor");
  assert.equal((await userOf({ "realm_access.roles": ["admins"] }, nested)).role, "admin");
  assert.equal((await userOf({}, { roles: new Map([["*", "viewer"]]) })).role, "viewer");
  await assert.rejects(
    userOf({ groups: ["*"] }),
    refused("refused", /u-1 has no role here: no value of the claim groups/),
  );
  await assert.rejects(userOf({}), refused("refused", /there is no claim groups/));
});

test("claims that are not in the ID token are asked for, of the same user", async (t) => {
  const issuer = await startIssuer(t);
  issuer.userInfo = { sub: "u-1", ...noc };
  assert.deepEqual((await signInOnce(issuer)).principal, { name: "nora", role: "editor", by: "session" });
  issuer.userInfo = { sub: "u-2", groups: ["admins"] };
  await assert.rejects(signInOnce(issuer), refused("refused", /sub/));
});

test("an issuer that is away, or does not know the collector, is named; it is asked again", async (t) => {
  const issuer = await startIssuer(t);
  issuer.claims = (right) => ({ ...right, ...noc });
  const signIn = new SignIn(oidcTestConfig(issuer.url), systemClock);
  issuer.fault = 503;
  await assert.rejects(
    signIn.begin("/session"),
    refused("unavailable", /the issuer http:\S+ cannot be used: unexpected/),
  );
  issuer.fault = undefined;
  const { url, state } = await signIn.begin("/session");
  issuer.fault = 502;
  await assert.rejects(signIn.finish(issuer.signIn(url), state), refused("unavailable", /cannot be used/));
  issuer.fault = undefined;
  const denied = await signIn.begin("/session");
  const answer = new URLSearchParams({ error: "access_denied", error_description: "no\u0007", state: denied.state });
  await assert.rejects(signIn.finish(answer, denied.state), refused("refused", /refused: "access_denied: no/));
  await assert.rejects(signInOnce(issuer, { clientSecret: "x" }), refused("unavailable", /invalid_client/));
  await issuer.stop();
  const gone = new SignIn(oidcTestConfig(issuer.url), systemClock);
  await assert.rejects(gone.begin("/session"), refused("unavailable", /cannot be used: connect ECONNREFUSED/));
});

test("an issuer whose certificate a private authority signed is trusted by a setting, and by nothing else", async (t) => {
  const tls = selfSigned();
  const issuer = await startIssuer(t, tls);
  issuer.claims = (right) => ({ ...right, preferred_username: "nora" });
  issuer.userInfo = { sub: "u-1", groups: ["noc"] };
  await assert.rejects(signInOnce(issuer), refused("unavailable", /cannot be used: .*self-signed certificate/));
  await assert.rejects(
    signInOnce(issuer, { authorities: () => Buffer.from(selfSigned().cert) }),
    refused("unavailable", /self-signed certificate/),
  );
  const missing = (): Buffer => {
    throw new Error("cannot read /ca.pem: ENOENT");
  };
  await assert.rejects(
    signInOnce(issuer, { authorities: missing }),
    refused("unavailable", /cannot read \/ca\.pem: ENOENT/),
  );
  const { principal } = await signInOnce(issuer, { authorities: () => Buffer.from(tls.cert) });
  assert.deepEqual(principal, { name: "nora", role: "editor", by: "session" });
  // Every request goes that way.
  assert.deepEqual([...issuer.asked.keys()].toSorted(), [
    "/.well-known/openid-configuration",
    "/jwks",
    "/me",
    "/token",
  ]);
  issuer.fault = 500;
  const away = new SignIn(oidcTestConfig(issuer.url, { authorities: () => Buffer.from(tls.cert) }), systemClock);
  await assert.rejects(away.begin("/"), refused("unavailable", /cannot be used/));
});

test("what an issuer answers in place of its description is not shown, and no more of it is read than 1 MiB", async (t) => {
  let sent = 0;
  const server = createServer((request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    if (request.url?.startsWith("/long") !== true) {
      response.end("<html>inner-secret</html>");
      return;
    }
    const endless = function* (): Generator<Buffer> {
      for (; sent < 64 * 1024 * 1024; sent += 65_536) yield Buffer.alloc(65_536, "x");
    };
    Readable.from(endless()).pipe(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp(t, () => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const refusal = async (issuer: string): Promise<string> =>
    new SignIn(oidcTestConfig(issuer), systemClock).begin("/").then(
      () => "begun",
      (error: Error) => error.message,
    );
  const message = await refusal(url);
  assert.match(message, /^the issuer http:\S+ cannot be used: /);
  assert.doesNotMatch(message, /secret|html/);
  assert.match(await refusal(`${url}/long`), /cannot be used: .*longer than 1048576 bytes/);
  assert.ok(sent < 16 * 1024 * 1024, `${sent} bytes`);
});
