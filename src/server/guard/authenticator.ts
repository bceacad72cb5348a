import { FailureLimit } from "../access/failure-limit.ts";
import type { Identities } from "../access/identities.ts";
import type { Principal } from "../access/role.ts";
import type { Clock } from "../../base/report/index.ts";
import { createBasicAuth, readBasic, type BasicCredentials } from "./basic-auth.ts";

/** What a request proves with who asks. */
export interface Proof {
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
export interface Sessions {
  byCookie(cookie: string): Principal | undefined;
  isSignedIn(principal: Principal): boolean;
}

export interface AuthenticatorParts {
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
