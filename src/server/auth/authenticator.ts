import { createHash, timingSafeEqual } from "node:crypto";
import type { Sessions } from "../access/sessions.ts";
import { FailureLimit } from "../http/limits.ts";
import type { Identities } from "../access/identities.ts";
import type { Principal } from "../access/role.ts";
import type { Clock } from "../../base/report/index.ts";
import { type Call, headerOf } from "../http/call.ts";

export interface BasicCredentials {
  readonly username: string;
  readonly password: string;
}

/** The value of `WWW-Authenticate` for a client without the right credentials (RFC 7617). */
export const basicChallenge = 'Basic realm="netgloss", charset="UTF-8"';

/** The value for tokens (RFC 6750), for which browsers show no dialog. */
export const bearerChallenge = 'Bearer realm="netgloss"';

const basicForm = /^basic +(?! )([A-Za-z0-9+/_-]*={0,2}) *$/i;

/** Reads name and password from an `Authorization` header; returns undefined where it has another form. */
function readBasic(authorization: string): { readonly name: string; readonly password: string } | undefined {
  const encoded = basicForm.exec(authorization)?.[1];
  const text = encoded === undefined ? "" : Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  return colon < 1 ? undefined : { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

/**
 * Returns a check of the `Authorization` header against one pair of credentials. It compares digests, so that its time does not depend on
 * how much of the credentials is right.
 */
function createBasicAuth(credentials: BasicCredentials): (authorization: string | undefined) => boolean {
  const expected = digest(Buffer.from(`${credentials.username}:${credentials.password}`));
  return (authorization = "") => {
    const encoded = basicForm.exec(authorization)?.[1];
    return timingSafeEqual(digest(Buffer.from(encoded ?? "", "base64")), expected) && encoded !== undefined;
  };
}

function digest(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}

/** The path to which the issuer sends the browser back. */
export const callbackPath = "/login/callback";

/** The seconds for which a state is kept, which is the time that a person may take at the issuer. */
const stateSeconds = 600;

const securePrefix = "__Host-";
/** The name of the session cookie. With TLS it gets the prefix `__Host-`. */
export const sessionName = "netgloss_session";
const stateName = "netgloss_login";

/**
 * The cookies of a browser that signs in. With TLS they have names that no other host can set (`__Host-`), and a
 * session that was begun with TLS accepts only such a cookie.
 */
export class SessionCookies {
  readonly #sessionMs: number;

  constructor(sessionMs: number) {
    this.#sessionMs = sessionMs;
  }

  /** Returns the key of a session in a `Cookie` header, and whether it has the name for TLS. */
  session(header: string | undefined): { readonly key: string; readonly isSecure: boolean } | undefined {
    const secure = readCookie(header, securePrefix + sessionName);
    if (secure !== undefined) return { key: secure, isSecure: true };
    const key = readCookie(header, sessionName);
    return key === undefined ? undefined : { key, isSecure: false };
  }

  /** Returns the state of a sign-in in progress. */
  state(header: string | undefined, isSecure: boolean): string | undefined {
    return readCookie(header, (isSecure ? securePrefix : "") + stateName);
  }

  /** Returns a `Set-Cookie` value that stores a session. An empty key removes it. */
  keepSession(key: string, isSecure: boolean): string {
    return keep(sessionName, key, Math.floor(this.#sessionMs / 1000), isSecure);
  }

  /** Returns a `Set-Cookie` value that stores a state. */
  keepState(state: string, isSecure: boolean): string {
    return keep(stateName, state, stateSeconds, isSecure);
  }
}

function keep(name: string, value: string, seconds: number, isSecure: boolean): string {
  const [prefix, secure] = isSecure ? [securePrefix, "; Secure"] : ["", ""];
  return `${prefix}${name}=${value}; Path=/; Max-Age=${value === "" ? 0 : seconds}; HttpOnly; SameSite=Lax${secure}`;
}

function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(";") ?? []) {
    const equals = pair.indexOf("=");
    if (pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return undefined;
}

/** The reason for a rejected proof: there is none, it is wrong, the client has guessed too often, or too many checks are waiting. */
export type Rejected = "missing" | "wrong" | "blocked" | "busy";
type Identified = Principal | Rejected;

/** The header with the session's CSRF token, which a page sends with every request that changes something. */
export const csrfHeader = "x-csrf-token";

/** The authenticator, which identifies callers. */
export class Authenticator {
  readonly #isOwner: ((authorization: string) => boolean) | undefined;
  /** The user of the settings, who has all rights. */
  readonly #owner: Principal | undefined;
  readonly #identities: Identities | undefined;
  readonly #sessions: Sessions;
  readonly #cookies: SessionCookies;
  readonly #limit: FailureLimit;

  constructor(
    basicAuth: BasicCredentials | undefined,
    identities: Identities | undefined,
    sessions: Sessions,
    clock: Clock,
  ) {
    this.#isOwner = basicAuth && createBasicAuth(basicAuth);
    this.#owner = basicAuth && { name: basicAuth.username, role: "admin", by: "basic" };
    this.#identities = identities;
    this.#sessions = sessions;
    this.#cookies = new SessionCookies(sessions.lifetimeMs);
    this.#limit = new FailureLimit(clock);
  }

  /** Identifies the caller. It returns a promise only where a password must be hashed. */
  identify(call: Pick<Call, "headers" | "peer" | "clientCertificate">): Identified | Promise<Identified> {
    const { headers, peer } = call;
    const authorization = headerOf(headers, "authorization");
    if (authorization !== undefined) {
      const [, token] = /^bearer +(\S+) *$/i.exec(authorization) ?? [];
      if (token === undefined) return this.#byPassword(authorization, peer);
      return this.#identities?.byToken(token) ?? this.#wrong(peer);
    }
    const subject = call.clientCertificate();
    const bySubject = subject && this.#identities?.byCertificate(subject);
    if (bySubject !== undefined) return bySubject;
    const session = this.#cookies.session(headerOf(headers, "cookie"));
    return (session && this.#sessions.principalOf(session.key, session.isSecure)) ?? "missing";
  }

  /** Returns the current form of a principal, with its current role; undefined where its proof is no longer valid. It hashes nothing. */
  current(principal: Principal): Principal | undefined {
    if (principal.by === "session") return this.#sessions.current(principal);
    return this.#identities === undefined ? principal : this.#identities.current(principal);
  }

  /** Reports whether a call has the token of its session, which no page of another site can read. */
  hasCsrfToken({ headers }: Pick<Call, "headers">, principal: Principal): boolean {
    return this.#sessions.isCsrfToken(principal, headerOf(headers, csrfHeader));
  }

  #byPassword(authorization: string, peer: string | undefined): Identified | Promise<Identified> {
    const given = readBasic(authorization);
    if (given === undefined) return this.#wrong(peer);
    const { name, password } = given;
    const limit = this.#limit;
    // Check this before any comparison, so that a blocked client cannot learn that a guess was right.
    const isBlocked = limit.isUserBlocked(name) || (name !== this.#owner?.name && limit.isClientBlocked(peer));
    if (isBlocked && !limit.isKnown(peer, name)) return "blocked";
    if (this.#owner !== undefined && this.#isOwner?.(authorization) === true) return this.#right(peer, this.#owner);
    if (this.#identities === undefined) return this.#wrong(peer, name);
    const conclude = (found: Identified | undefined): Identified =>
      typeof found === "object" ? this.#right(peer, found) : (found ?? this.#wrong(peer, name));
    const found = this.#identities.byPassword(name, password, () => !limit.isClientBlocked(peer));
    return found instanceof Promise ? found.then(conclude) : conclude(found);
  }

  #wrong(peer: string | undefined, user?: string): Rejected {
    this.#limit.failed(peer, user);
    return "wrong";
  }

  #right(peer: string | undefined, principal: Principal): Principal {
    this.#limit.succeeded(peer, principal.name);
    return principal;
  }
}
