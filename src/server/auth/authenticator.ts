import { createHash, timingSafeEqual } from "node:crypto";
import type { SignIn } from "../access/sign-in.ts";
import { FailureLimit } from "../access/failure-limit.ts";
import type { Identities } from "../access/identities.ts";
import type { Principal } from "../access/role.ts";
import type { Clock } from "../../base/report/index.ts";

export interface BasicCredentials {
  readonly username: string;
  readonly password: string;
}

/** What `WWW-Authenticate` says to a client without the right credentials (RFC 7617). */
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

/** The cookies of a browser that signs in. A site that is reached by TLS has names that no other host can set (`__Host-`). */
interface SessionCookies {
  /** The name of the cookie of a session. */
  readonly sessionName: string;
  /** The key of a session in a `Cookie` header. */
  session(header: string | undefined): string | undefined;
  /** The state of a sign-in under way. */
  state(header: string | undefined): string | undefined;
  /** `Set-Cookie` that keeps a session, or a state; an empty one ends it. */
  keepSession(key: string): string;
  keepState(state: string): string;
}

/** A state is kept for as long as a person may take at the issuer, seconds. */
const stateSeconds = 600;

export function createSessionCookies({ redirectUrl, sessionMs }: SignIn): SessionCookies {
  // As the browser sees it: a proxy in front may be what ends TLS.
  const isSecure = new URL(redirectUrl).protocol === "https:";
  const prefix = isSecure ? "__Host-" : "";
  const [sessionName, stateName] = [`${prefix}netgloss_session`, `${prefix}netgloss_login`];
  const keep = (name: string, value: string, seconds: number): string =>
    `${name}=${value}; Path=/; Max-Age=${value === "" ? 0 : seconds}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
  return {
    sessionName,
    session: (header) => readCookie(header, sessionName),
    state: (header) => readCookie(header, stateName),
    keepSession: (key) => keep(sessionName, key, Math.floor(sessionMs / 1000)),
    keepState: (state) => keep(stateName, state, stateSeconds),
  };
}

/** Sessions by the `Cookie` header. */
export function createSessions(signIn: SignIn): Sessions {
  const cookies = createSessionCookies(signIn);
  return {
    byCookie(header) {
      const session = cookies.session(header);
      return session === undefined ? undefined : signIn.principalOf(session);
    },
    isSignedIn: (principal) => signIn.isSignedIn(principal),
  };
}

function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(";") ?? []) {
    const equals = pair.indexOf("=");
    if (pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return undefined;
}

/** What a request proves with who asks. */
interface Proof {
  readonly authorization: string | undefined;
  readonly cookie: string | undefined;
  /** Address of the client. */
  readonly peer: string | undefined;
  /** Parts of the subject of a client's certificate that was verified: `CN=alice`. */
  readonly certificate: () => readonly string[] | undefined;
}

/** Why nobody is known by a proof: there is none, it is wrong, its client has guessed too often, or too many wait to be looked at. */
export type Rejected = "missing" | "wrong" | "blocked" | "busy";

export interface Authenticator {
  /** Finds out who asks. A promise only where a password has to be hashed. */
  identify(proof: Proof): Principal | Rejected | Promise<Principal | Rejected>;
  /** Who a principal that was found is now, with the role of now; undefined when its proof is no longer good. Hashes nothing. */
  current(principal: Principal): Principal | undefined;
}

/** Sessions, by the cookie of a browser. */
interface Sessions {
  byCookie(cookie: string): Principal | undefined;
  isSignedIn(principal: Principal): boolean;
}

interface AuthenticatorParts {
  /** The one user of the settings, who may do everything. */
  readonly basicAuth: BasicCredentials | undefined;
  readonly identities: Identities | undefined;
  /** Absent: there are no sessions. */
  readonly sessions?: Sessions | undefined;
  readonly clock: Clock;
}

/** @returns undefined when nobody has to prove anything. */
export function createAuthenticator({
  basicAuth,
  identities,
  sessions,
  clock,
}: AuthenticatorParts): Authenticator | undefined {
  if (basicAuth === undefined && identities === undefined && sessions === undefined) return undefined;
  const isOwner = basicAuth && createBasicAuth(basicAuth);
  const owner: Principal | undefined = basicAuth && { name: basicAuth.username, role: "admin", by: "basic" };
  const limit = new FailureLimit(clock);

  const wrong = (peer: string | undefined, user?: string): Rejected => {
    limit.failed(peer, user);
    return "wrong";
  };

  const right = (peer: string | undefined, principal: Principal): Principal => {
    limit.succeeded(peer, principal.name);
    return principal;
  };

  const byPassword = (authorization: string, peer: string | undefined): ReturnType<Authenticator["identify"]> => {
    const given = readBasic(authorization);
    if (given === undefined) return wrong(peer);
    const { name, password } = given;
    // Before anything is compared: that a guess was right must not show while guesses are refused.
    const isBlocked = limit.isUserBlocked(name) || (name !== owner?.name && limit.isClientBlocked(peer));
    if (isBlocked && !limit.isKnown(peer, name)) return "blocked";
    if (owner !== undefined && isOwner?.(authorization) === true) return right(peer, owner);
    if (identities === undefined) return wrong(peer, name);
    const settle = (found: Principal | Rejected | undefined): Principal | Rejected =>
      typeof found === "object" ? right(peer, found) : (found ?? wrong(peer, name));
    const found = identities.byPassword(name, password, () => !limit.isClientBlocked(peer));
    return found instanceof Promise ? found.then(settle) : settle(found);
  };

  return {
    identify({ authorization, cookie, peer, certificate }) {
      if (authorization !== undefined) {
        const [, token] = /^bearer +(\S+) *$/i.exec(authorization) ?? [];
        if (token === undefined) return byPassword(authorization, peer);
        return identities?.byToken(token) ?? wrong(peer);
      }
      const subject = certificate();
      const bySubject = subject && identities?.byCertificate(subject);
      if (bySubject !== undefined) return bySubject;
      const bySession = cookie === undefined ? undefined : sessions?.byCookie(cookie);
      return bySession ?? "missing";
    },
    current(principal) {
      if (principal.by === "session") return sessions?.isSignedIn(principal) === true ? principal : undefined;
      return identities === undefined ? principal : identities.current(principal);
    },
  };
}
