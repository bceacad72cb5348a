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

/** The same for tokens (RFC 6750), to which no browser has a dialog. */
export const bearerChallenge = 'Bearer realm="netgloss"';

const basicForm = /^basic +(?! )([A-Za-z0-9+/_-]*={0,2}) *$/i;

/** Name and password of an `Authorization` header; undefined when it has another form. */
function readBasic(authorization: string): { readonly name: string; readonly password: string } | undefined {
  const encoded = basicForm.exec(authorization)?.[1];
  const text = encoded === undefined ? "" : Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  return colon < 1 ? undefined : { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

/**
 * @returns a check of the `Authorization` header against one pair of credentials. How long it takes does not depend on
 * how much of them is right: digests are compared, not texts.
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

/** A state is kept for as long as a person may take at the issuer, seconds. */
const stateSeconds = 600;

const securePrefix = "__Host-";
/** The name of the cookie of a session; where browsers come by TLS, `__Host-` stands before it. */
export const sessionName = "netgloss_session";
const stateName = "netgloss_login";

/**
 * The cookies of a browser that signs in. Where the browser comes by TLS, they have names that no other host can set (`__Host-`), and a
 * session that was begun so is proved by that name alone.
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

  /** Returns the state of a sign-in under way. */
  state(header: string | undefined, isSecure: boolean): string | undefined {
    return readCookie(header, (isSecure ? securePrefix : "") + stateName);
  }

  /** Returns a `Set-Cookie` that keeps a session; an empty one ends it. */
  keepSession(key: string, isSecure: boolean): string {
    return keep(sessionName, key, Math.floor(this.#sessionMs / 1000), isSecure);
  }

  /** Does the same for a state. */
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

/** Why nobody is known by a proof: there is none, it is wrong, its client has guessed too often, or too many wait to be looked at. */
export type Rejected = "missing" | "wrong" | "blocked" | "busy";
type Identified = Principal | Rejected;

/** The header in which a page sends the token of its session with all that changes something. */
export const csrfHeader = "x-csrf-token";

/** Finds out who asks. */
export class Authenticator {
  readonly #isOwner: ((authorization: string) => boolean) | undefined;
  /** The one user of the settings, who may do everything. */
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

  /** Finds out who asks. A promise only where a password has to be hashed. */
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

  /** Returns who a principal that was found is now, with the role of now; undefined when its proof is no longer good. Hashes nothing. */
  current(principal: Principal): Principal | undefined {
    if (principal.by === "session") return this.#sessions.current(principal);
    return this.#identities === undefined ? principal : this.#identities.current(principal);
  }

  /** Tells whether a call has the token of its session, which no page of another site can read. */
  hasCsrfToken({ headers }: Pick<Call, "headers">, principal: Principal): boolean {
    return this.#sessions.isCsrfToken(principal, headerOf(headers, csrfHeader));
  }

  #byPassword(authorization: string, peer: string | undefined): Identified | Promise<Identified> {
    const given = readBasic(authorization);
    if (given === undefined) return this.#wrong(peer);
    const { name, password } = given;
    const limit = this.#limit;
    // Before anything is compared: that a guess was right must not show while guesses are refused.
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
