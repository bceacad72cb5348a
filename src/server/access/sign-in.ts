import { Agent as ClearAgent, request as requestOverHttp, type IncomingMessage } from "node:http";
import { Agent, request as requestOverHttps } from "node:https";
import { rootCertificates } from "node:tls";
import { Readable } from "node:stream";
import type * as OpenIdClient from "openid-client";
import type { CustomFetch } from "openid-client";
import { type Role, roles as allRoles, type Principal } from "./role.ts";
import { ExpiringMap } from "./sessions.ts";
import type { Clock } from "../../base/report/index.ts";

/** The settings for sign-in at an issuer by OpenID Connect. */
export interface OidcConfig {
  /** The URL whose `.well-known/openid-configuration` describes the issuer. Plain http is allowed only on a loopback address. */
  readonly issuer: string;
  /**
   * Returns further CA certificates in PEM that may sign that of the issuer. It is called with each description of the issuer.
   * @throws Error when they cannot be read
   */
  readonly authorities?: (() => Buffer) | undefined;
  readonly clientId: string;
  /** The secret; empty for a public client, which relies only on PKCE. */
  readonly clientSecret: string;
  /** The way in which the secret is sent (RFC 6749, 2.3.1): as HTTP basic authentication, or in the body. */
  readonly clientAuth: "basic" | "post";
  /** The URL to which the issuer sends the browser back. */
  readonly redirectUrl: string;
  readonly scopes: readonly string[];
  /** The claim with the name of the user. If it is not usable, `sub` is the name. */
  readonly userClaim: string;
  /** The claim with the groups or roles of the user: `groups`, or a path with dots such as `realm_access.roles`. */
  readonly roleClaim: string;
  /** The roles by value of that claim. `*` applies to everybody. */
  readonly roles: ReadonlyMap<string, Role>;
}

/**
 * The error of a failed sign-in. `refused`: the browser's answer or the user's claims are not sufficient. `unavailable`: the
 * issuer does not answer, or does not accept the collector. `busy`: there are too many sign-ins. The message may be shown to the user.
 */
export class SignInError extends Error {
  readonly code: "refused" | "unavailable" | "busy";

  constructor(code: SignInError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "SignInError";
    this.code = code;
  }
}

type Claims = Readonly<Record<string, unknown>>;

const maxNameLength = 256;

/** Returns a claim by its whole name, or by a path with dots. */
function claimOf(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let found: unknown = claims;
  for (const part of name.split(".")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Claims)[part];
  }
  return found;
}

/**
 * Returns the user of claims, with the highest role that a value of the role claim gives.
 *
 * @throws SignInError `refused` when no value gives a role.
 */
function claimedUser(
  claims: Claims,
  { userClaim, roleClaim, roles }: Pick<OidcConfig, "userClaim" | "roleClaim" | "roles">,
): Principal {
  const subject = String(claims["sub"]);
  const claimed = claimOf(claims, userClaim);
  const name = isName(claimed) ? claimed : subject;
  const found = [claimOf(claims, roleClaim)].flat().filter((value) => typeof value === "string");
  const given = new Set<Role | undefined>(["*", ...found].map((value) => roles.get(value)));
  const role = allRoles.findLast((each) => given.has(each));
  if (role === undefined) {
    const why = found.length === 0 ? `there is no claim ${roleClaim}` : `no value of the claim ${roleClaim} has one`;
    throw new SignInError("refused", `${name} has no role here: ${why}`);
  }
  return { name, role, by: "session" };
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= maxNameLength && !/\p{Cc}/u.test(value);
}

/** The most bytes of an issuer's answer. */
const maxAnswer = 1024 * 1024;

/**
 * Returns a `fetch` that also trusts these authorities and limits the answer. The `fetch` of Node.js does neither. It does not follow
 * redirects.
 *
 * @param authorities certificates in PEM; undefined uses only the known ones.
 */
function createTrustingFetch(authorities: Buffer | undefined): CustomFetch {
  const ca = authorities && [...rootCertificates, authorities.toString()];
  const [agent, clearAgent] = [
    new Agent({ ...(ca && { ca }), keepAlive: false }),
    new ClearAgent({ keepAlive: false }),
  ];
  return (url, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const isClear = new URL(url).protocol === "http:";
      const begin = isClear ? requestOverHttp : requestOverHttps;
      const request = begin(url, { method, headers, signal, agent: isClear ? clearAgent : agent }, (message) =>
        resolve(responseOf(message)),
      );
      request.on("error", reject);
      request.end(body instanceof URLSearchParams ? body.toString() : (body as string | Uint8Array | undefined));
    });
}

function responseOf(message: IncomingMessage): Response {
  const { statusCode = 500, headersDistinct } = message;
  let length = 0;
  message.on("data", (chunk: Buffer) => {
    length += chunk.length;
    if (length > maxAnswer) message.destroy(new Error(`the answer is longer than ${maxAnswer} bytes`));
  });
  message.pause();
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const hasBody = ![101, 204, 205, 304].includes(statusCode);
  if (!hasBody) message.resume();
  const body = hasBody ? (Readable.toWeb(message) as ReadableStream<Uint8Array>) : null;
  return new Response(body, { status: statusCode, headers });
}

/** The milliseconds for which the description of an issuer is used. */
const descriptionMs = 3_600_000;
/** The most seconds of one request to an issuer. */
const requestSeconds = 10;

/** The secrets of a sign-in in progress, which only the collector knows. */
interface Challenge {
  readonly nonce: string;
  /** The verifier of PKCE (RFC 7636). */
  readonly verifier: string;
}

/**
 * The server at which users sign in.
 *
 * The library is loaded at the first sign-in.
 */
class Issuer {
  readonly #config: OidcConfig;
  readonly #clock: Pick<Clock, "monotonic">;
  #known: { readonly description: Promise<OpenIdClient.Configuration>; readonly ends: number } | undefined;

  constructor(config: OidcConfig, clock: Pick<Clock, "monotonic">) {
    this.#config = config;
    this.#clock = clock;
  }

  /** Returns new secrets for a sign-in. */
  async challenge(): Promise<Challenge> {
    const client = await import("openid-client");
    return { nonce: client.randomNonce(), verifier: client.randomPKCECodeVerifier() };
  }

  /** Returns the URL to which the browser has to go. @throws SignInError `unavailable` */
  async begin(state: string, { nonce, verifier }: Challenge): Promise<string> {
    const client = await import("openid-client");
    const url = client.buildAuthorizationUrl(await this.#describe(), {
      redirect_uri: this.#config.redirectUrl,
      scope: this.#config.scopes.join(" "),
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
      nonce,
    });
    return url.href;
  }

  /**
   * Returns the claims of the user after checking the issuer's answer to the browser: state, nonce, PKCE, and signature,
   * issuer, audience and time of the ID token.
   *
   * @throws SignInError
   */
  async finish(answer: URLSearchParams, state: string, { nonce, verifier }: Challenge): Promise<Claims> {
    const client = await import("openid-client");
    try {
      const description = await this.#describe();
      const url = new URL(this.#config.redirectUrl);
      url.search = answer.toString();
      const tokens = await client.authorizationCodeGrant(description, url, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const claims: Claims = { ...tokens.claims() };
      const hasUserInfo = description.serverMetadata().userinfo_endpoint !== undefined;
      if (claimOf(claims, this.#config.roleClaim) !== undefined || !hasUserInfo) return claims;
      const more = await client.fetchUserInfo(description, tokens.access_token, String(claims["sub"]));
      return { ...more, ...claims };
    } catch (error) {
      throw await this.#asSignInError(error);
    }
  }

  async #discover(): Promise<OpenIdClient.Configuration> {
    const client = await import("openid-client");
    const auth = this.#config.clientAuth === "basic" ? client.ClientSecretBasic : client.ClientSecretPost;
    const isClear = new URL(this.#config.issuer).protocol === "http:";
    const { authorities } = this.#config;
    return client.discovery(
      new URL(this.#config.issuer),
      this.#config.clientId,
      undefined,
      this.#config.clientSecret === "" ? client.None() : auth(this.#config.clientSecret),
      {
        timeout: requestSeconds,
        [client.customFetch]: createTrustingFetch(authorities?.()),
        // Without this check, the library ignores the signature of an ID token that comes directly from the issuer.
        execute: [client.enableNonRepudiationChecks, ...(isClear ? [client.allowInsecureRequests] : [])],
      },
    );
  }

  #unavailable(error: unknown): SignInError {
    return new SignInError("unavailable", `the issuer ${this.#config.issuer} cannot be used: ${reasonOf(error)}`, {
      cause: error,
    });
  }

  /** Reads the description of the issuer, with one request at a time. A failure is not cached. Without a valid description, nobody can sign in. */
  #describe(): Promise<OpenIdClient.Configuration> {
    if (this.#known === undefined || this.#known.ends <= this.#clock.monotonic()) {
      const description = this.#discover().catch((error: unknown) => {
        this.#known = undefined;
        throw this.#unavailable(error);
      });
      this.#known = { description, ends: this.#clock.monotonic() + descriptionMs };
    }
    return this.#known.description;
  }

  async #asSignInError(error: unknown): Promise<SignInError> {
    if (error instanceof SignInError) return error;
    const { AuthorizationResponseError, ResponseBodyError, ClientError } = await import("openid-client");
    if (error instanceof AuthorizationResponseError) {
      return new SignInError("refused", `the issuer refused: ${said(error.error, error.error_description)}`);
    }
    if (error instanceof ResponseBodyError) {
      const answer = said(error.error, error.error_description);
      if (error.error === "invalid_grant") return new SignInError("refused", `the issuer refused: ${answer}`);
      return new SignInError(
        "unavailable",
        `the issuer ${this.#config.issuer} does not serve this collector: ${answer}`,
      );
    }
    if (!(error instanceof ClientError) || noAnswer.has(error.code ?? "")) return this.#unavailable(error);
    const message = `the answer of the issuer cannot be trusted: ${reasonOf(error)}`;
    return new SignInError("refused", message, { cause: error });
  }
}

/** The library's codes for an issuer without a usable answer. */
const noAnswer: ReadonlySet<string> = new Set([
  "OAUTH_TIMEOUT",
  "OAUTH_ABORT",
  "OAUTH_RESPONSE_IS_NOT_CONFORM",
  "OAUTH_RESPONSE_IS_NOT_JSON",
  "OAUTH_PARSE_ERROR",
  "OAUTH_UNSUPPORTED_OPERATION",
]);

function said(error: string, description: string | undefined): string {
  return JSON.stringify(description === undefined ? error : `${error}: ${description}`).slice(0, 300);
}

/** Returns the reason of a failure: the library's step and the innermost cause. It leaves out the issuer's answer, which may be secret. */
function reasonOf(error: unknown): string {
  const texts: string[] = [];
  for (let at = error; at instanceof Error && texts.length < 5; at = at.cause) {
    // This error would quote the invalid JSON.
    if (at instanceof SyntaxError) break;
    const code = (at as NodeJS.ErrnoException).code;
    const text = at.message === "" ? (code ?? at.name) : at.message;
    if (text !== "something went wrong" && !texts.includes(text)) texts.push(text);
  }
  return texts.join(": ").slice(0, 300);
}

/** The milliseconds that a person may take at the issuer. */
const pendingMs = 600_000;
const maxPending = 10_000;
/** The most answers of browsers that are checked at the issuer at a time. */
const maxRunning = 32;

/** The sign-ins at an issuer, which identifies people. Sign-ins in progress are kept in memory. */
export class SignIn {
  readonly #config: OidcConfig;
  readonly redirectUrl: string;
  readonly #issuer: Issuer;
  readonly #pending: ExpiringMap<{ readonly challenge: Challenge; readonly target: string }>;
  #running = 0;

  constructor(config: OidcConfig, clock: Pick<Clock, "monotonic">) {
    this.#config = config;
    this.redirectUrl = config.redirectUrl;
    this.#issuer = new Issuer(config, clock);
    this.#pending = new ExpiringMap(pendingMs, maxPending, clock);
  }

  /**
   * Begins a sign-in.
   *
   * @param target the path to which the browser goes at the end, kept for {@link SignIn.finish}.
   * @returns the URL to which the browser goes now, and a state that it must keep and send back.
   * @throws SignInError
   */
  async begin(target: string): Promise<{ readonly url: string; readonly state: string }> {
    const challenge = await this.#issuer.challenge();
    const state = this.#pending.add({ challenge, target });
    try {
      return { url: await this.#issuer.begin(state, challenge), state };
    } catch (error) {
      this.#pending.take(state);
      throw error;
    }
  }

  /**
   * Completes a sign-in. A state can be used once.
   *
   * @param answer the query with which the issuer sent the browser back.
   * @param kept the state that the browser kept.
   * @returns the user, and the target of {@link SignIn.begin}.
   * @throws SignInError
   */
  async finish(
    answer: URLSearchParams,
    kept: string | undefined,
  ): Promise<{ readonly principal: Principal; readonly target: string }> {
    const state = answer.get("state");
    // A state of another browser stays usable there.
    const begun = state === null || state !== kept ? undefined : this.#pending.take(state);
    if (state === null || begun === undefined) {
      throw new SignInError("refused", "this sign-in is over, or was begun in another browser: begin at /login");
    }
    if (this.#running >= maxRunning) throw new SignInError("busy", "too many users sign in at a time: begin at /login");
    this.#running++;
    try {
      const principal = claimedUser(await this.#issuer.finish(answer, state, begun.challenge), this.#config);
      return { principal, target: begun.target };
    } finally {
      this.#running--;
    }
  }
}
