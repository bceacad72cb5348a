import { createHash, generateKeyPairSync, randomUUID, sign, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { cleanUp, type Owner } from "./clean-up.ts";
import type { SelfSigned } from "./self-signed.ts";
import type { OidcConfig } from "../../src/server/index.ts";

export type Claims = Record<string, unknown>;

/** An issuer of OpenID Connect that signs what a test wants. */
export interface TestIssuer {
  readonly url: string;
  /** How often each path was asked. */
  readonly asked: Map<string, number>;
  /** Makes of the right claims of the next ID tokens others. */
  claims: (right: Claims) => Claims;
  /** What the endpoint of user information answers; undefined: there is none. */
  userInfo: Claims | undefined;
  /** The key by which ID tokens are signed; the published one unless a test takes another. */
  key: KeyObject;
  /** Answers every question with this status, when it is set. */
  fault: number | undefined;
  /** The browser's part: signs in at the address it was sent to. @returns the query with which it is sent back. */
  signIn(authorizationUrl: string): URLSearchParams;
  stop(): Promise<void>;
}

export const testSecret = "secret-of-the-test-client";

export const signingKey = (): KeyObject => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;

/** Starts one on the loopback address, which knows the client `netgloss`. @param tls its certificate; left out: it speaks in clear. */
export async function startIssuer(t: Owner, tls?: SelfSigned): Promise<TestIssuer> {
  const published = signingKey();
  const codes = new Map<string, { readonly nonce: string; readonly challenge: string }>();
  const asked = new Map<string, number>();
  const serve = (request: IncomingMessage, response: ServerResponse): void => void answer(request, response);
  const server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `${tls === undefined ? "http" : "https"}://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const token = (form: URLSearchParams, authorization = ""): [number, Claims] => {
    // Name and secret are escaped before they are encoded (RFC 6749, 2.3.1).
    const given = decodeURIComponent(Buffer.from(authorization.replace("Basic ", ""), "base64").toString());
    if (given !== `netgloss:${testSecret}`) return [401, { error: "invalid_client" }];
    const begun = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const hashed = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    if (begun === undefined || begun.challenge !== hashed) return [400, { error: "invalid_grant" }];
    const now = Math.floor(Date.now() / 1000);
    const right = { iss: url, aud: "netgloss", sub: "u-1", iat: now, exp: now + 60, nonce: begun.nonce };
    const idToken = jwt(issuer.claims(right), issuer.key);
    return [200, { access_token: "access", token_type: "bearer", expires_in: 60, id_token: idToken }];
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? "";
    asked.set(path, (asked.get(path) ?? 0) + 1);
    let body = "";
    for await (const piece of request.setEncoding("utf8")) body += String(piece);
    const say = (status: number, value: unknown): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    };
    if (issuer.fault !== undefined) return say(issuer.fault, {});
    if (path === "/.well-known/openid-configuration") {
      return say(200, {
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/jwks`,
        ...(issuer.userInfo !== undefined && { userinfo_endpoint: `${url}/me` }),
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["ES256"],
      });
    }
    if (path === "/jwks") {
      const { d: _, ...key } = published.export({ format: "jwk" });
      return say(200, { keys: [{ ...key, alg: "ES256", use: "sig", kid: "one" }] });
    }
    if (path === "/token") return say(...token(new URLSearchParams(body), request.headers.authorization));
    if (path === "/me") return say(200, issuer.userInfo);
    return say(404, {});
  };

  const issuer: TestIssuer = {
    url,
    asked,
    claims: (right) => right,
    userInfo: undefined,
    key: published,
    fault: undefined,
    signIn(authorizationUrl) {
      const { searchParams } = new URL(authorizationUrl);
      const code = randomUUID();
      codes.set(code, {
        nonce: searchParams.get("nonce") ?? "",
        challenge: searchParams.get("code_challenge") ?? "",
      });
      return new URLSearchParams({ code, state: searchParams.get("state") ?? "" });
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  cleanUp(t, () => server.listening && issuer.stop());
  return issuer;
}

/** Settings with which `netgloss` signs users in at an issuer. */
export function oidcTestConfig(issuer: string, more: Partial<OidcConfig> = {}): OidcConfig {
  return {
    issuer,
    clientId: "netgloss",
    clientSecret: testSecret,
    clientAuth: "basic",
    redirectUrl: "http://127.0.0.1/login/callback",
    scopes: ["openid", "profile"],
    userClaim: "preferred_username",
    roleClaim: "groups",
    roles: new Map([
      ["admins", "admin"],
      ["noc", "editor"],
      ["guests", "viewer"],
    ]),
    ...more,
  };
}

function jwt(claims: Claims, key: KeyObject): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: "ES256", kid: "one" })}.${part(claims)}`;
  return `${signed}.${sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}
