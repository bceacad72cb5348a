import type { ConnectError } from "@connectrpc/connect";
import { isDeepStrictEqual } from "node:util";
import { parseAddress } from "../../base/ip/index.ts";
import { createLineBudget, type Clock, type Log } from "../../base/report/index.ts";
import { type Call, headerOf } from "../http/call.ts";
import { lacks, type Principal, type RouteAccess } from "../access/role.ts";
import type { Rejection } from "../http/call-log.ts";
import { quote } from "../../base/text/index.ts";
import { apiError, type ApiErrorCode } from "../api-error.ts";
import { type Authenticator, type Rejected, basicChallenge, bearerChallenge, csrfHeader } from "./authenticator.ts";

/**
 * Returns the reason to refuse a changing request of another site, or undefined. Programs send neither header and
 * pass; a browser sends at least one of them with every POST.
 */
function foreignSite(
  host: string | undefined,
  origin: string | undefined,
  secFetchSite: string | undefined,
): string | undefined {
  if (secFetchSite !== undefined) {
    return secFetchSite === "same-origin" || secFetchSite === "none"
      ? undefined
      : `a request from another site is refused (Sec-Fetch-Site: ${secFetchSite.slice(0, 64)})`;
  }
  if (origin === undefined) return undefined;
  try {
    // The scheme is not compared, because it differs in front of a proxy that ends TLS.
    const { protocol, host: originHost } = new URL(origin);
    if (originHost !== "" && new URL(`${protocol}//${host}`).host === originHost) return undefined;
  } catch {
    // An opaque origin (`null`) matches no site.
  }
  return `a request from another site is refused (Origin: ${origin.slice(0, 64)})`;
}

/** Reports whether an address to listen on reaches only this machine: 127.0.0.0/8 or `::1`. */
export function isLoopback(ip: string): boolean {
  const address = parseAddress(ip);
  if (address === undefined) return ip === "localhost";
  return address.family === 4 ? address.value >> 24n === 127n : address.value === 1n;
}

/**
 * Reports whether a Host header is accepted on a loopback address: an address, `localhost` or a name below it, or one of `allowed`.
 * Any other name may come from DNS rebinding. A request without the header passes, because browsers always send it.
 */
function isKnownHost(host: string | undefined, allowed: readonly string[]): boolean {
  if (host === undefined || host === "") return true;
  if (parseAddress(host) !== undefined) return true;
  const name = host.replace(/:\d*$/, "").toLowerCase();
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  if (allowed.some((known) => known.toLowerCase() === name)) return true;
  return parseAddress(name.replace(/^\[(.*)\]$/, "$1")) !== undefined;
}

/**
 * Logs each call that may change something: user, client, method and result. In a flood of calls, most lines have
 * level debug; the next line at level warn or info has their number.
 */
export class WriteAudit {
  readonly #log: Log;
  readonly #hasBudget: () => boolean;
  #more = 0;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#hasBudget = createLineBudget(clock);
  }

  ended({ audit, principal, peer, label, wire, code, failure, method }: Call): void {
    const isDone = code === "ok";
    if (audit === "nothing" || (audit === "failure" && isDone) || method === "OPTIONS") return;
    const fields = {
      method: label,
      result: code,
      transport: wire,
      ...(principal !== undefined && { user: principal.name, by: principal.by }),
      ...(peer !== undefined && { peer }),
      ...(failure !== undefined && { reason: failure }),
    };
    const message = isDone ? "operation done" : "operation refused or failed";
    if (!this.#hasBudget()) {
      this.#more++;
      this.#log.debug(fields, message);
      return;
    }
    this.#log[isDone ? "info" : "warn"](this.#more === 0 ? fields : { ...fields, more: this.#more }, message);
    this.#more = 0;
  }
}

/** The reason to refuse a request by its header. */
export interface Refusal {
  readonly reason: Rejection;
  readonly error: ConnectError;
}

/** The part of a call that admission uses. */
type Applicant = Pick<Call, "headers" | "host" | "method" | "peer" | "clientCertificate" | "principal" | "access">;

type MaybeRefusal = Refusal | undefined;

/** The access to unknown routes, which is the same as for reading. */
const unknownRoute: RouteAccess = { role: "viewer", area: undefined, reach: "nothing" };

/** The admission of calls, by their header alone. */
export class Admission {
  readonly #authenticator: Authenticator | undefined;
  readonly #takesPasswords: boolean;
  readonly #allowedHosts: readonly string[] | undefined;
  /** The last accepted host name. Most requests have the same name as the previous one. */
  #lastKnownHost: string | undefined;

  /**
   * @param authenticator identifies callers; undefined where no authentication is needed.
   * @param takesPasswords true where callers may authenticate by password.
   * @param allowedHosts further names that a Host header may have besides those of this machine; undefined allows any.
   */
  constructor(
    authenticator: Authenticator | undefined,
    takesPasswords: boolean,
    allowedHosts: readonly string[] | undefined,
  ) {
    this.#authenticator = authenticator;
    this.#takesPasswords = takesPasswords;
    this.#allowedHosts = allowedHosts;
  }

  /**
   * Checks a call before its body is read: host, identity, rights, site. `access` is that of the route, undefined where
   * there is none. It stores the principal in the call, and returns a promise only where a password must be hashed.
   */
  admit(call: Applicant, access: RouteAccess = unknownRoute): MaybeRefusal | Promise<MaybeRefusal> {
    if (!this.#isHostKnown(call.host)) {
      const message = `the host ${quote(call.host ?? "")} is not known here`;
      return { reason: "host", error: apiError("permission_denied", "UNKNOWN_HOST", message) };
    }
    const isAsked = access.role !== undefined || access.isPersonal === true;
    if (!isAsked || this.#authenticator === undefined) return refuseSite(call);
    const found = this.#authenticator.identify(call);
    if (!(found instanceof Promise)) return this.#decide(call, access, found);
    return found.then((principal) => this.#decide(call, access, principal));
  }

  /**
   * Returns the reason why an admitted call would no longer be admitted: the caller was deleted, changed or signed out, the role is no longer
   * sufficient, or the caller's scopes have changed.
   */
  revoked({ principal, access }: Pick<Call, "principal" | "access">): MaybeRefusal {
    if (principal === undefined || access === undefined || this.#authenticator === undefined) return undefined;
    const found = this.#authenticator.current(principal);
    if (found !== undefined && isDeepStrictEqual(found.scopes, principal.scopes)) return refuseRole(found, access);
    if (found !== undefined) {
      const changed = `the scopes of ${principal.name} have changed`;
      return { reason: "role", error: apiError("permission_denied", "SCOPES_CHANGED", changed) };
    }
    const message = `the credentials of ${principal.name} are no longer good`;
    return { reason: "auth", error: apiError("unauthenticated", "BAD_CREDENTIALS", message) };
  }

  #isHostKnown(host: string | undefined): boolean {
    if (this.#allowedHosts === undefined || (host !== undefined && host === this.#lastKnownHost)) return true;
    if (!isKnownHost(host, this.#allowedHosts)) return false;
    this.#lastKnownHost = host;
    return true;
  }

  #decide(call: Applicant, access: RouteAccess, found: Principal | Rejected): MaybeRefusal {
    if (access.role !== undefined)
      return typeof found === "string" ? this.#refuse(call, found) : this.#judge(call, access, found);
    if (typeof found !== "string") call.principal = found;
    return this.#refuseForged(call);
  }

  #judge(call: Applicant, access: RouteAccess, found: Principal): MaybeRefusal {
    call.principal = found;
    call.access = access;
    // A caller without access to a path may still ask for its options.
    const asked: RouteAccess = call.method === "OPTIONS" ? { ...access, role: "viewer" } : access;
    return refuseRole(found, asked) ?? this.#refuseForged(call);
  }

  /** Refuses a changing request with a session cookie that lacks the session's CSRF token. */
  #refuseForged(call: Applicant): MaybeRefusal {
    const { principal } = call;
    const foreign = refuseSite(call);
    if (foreign !== undefined || principal?.by !== "session" || isReading(call.method)) return foreign;
    if (this.#authenticator?.hasCsrfToken(call, principal) === true) return undefined;
    const message = `by the cookie of a session this needs the header ${csrfHeader}, with the token that GET /session answers`;
    return { reason: "origin", error: apiError("permission_denied", "CSRF_TOKEN", message) };
  }

  #refuse({ headers }: Applicant, why: Rejected): Refusal {
    const [code, reason, message] = refusals[why];
    const error = apiError(code, reason, message);
    const isPage = headerOf(headers, pagesHeader) !== undefined;
    if (code === "unauthenticated") {
      error.metadata.set("www-authenticate", isPage || !this.#takesPasswords ? bearerChallenge : basicChallenge);
    }
    return { reason: "auth", error };
  }
}

function refuseRole(found: Principal, access: RouteAccess): MaybeRefusal {
  const lack = lacks(found, access);
  return lack === undefined ? undefined : { reason: "role", error: apiError("permission_denied", "ROLE_NEEDED", lack) };
}

/**
 * The header that the pages send, so that the browser does not show its own dialog for a Basic challenge. If passwords are
 * not accepted at all, no dialog may ask for one.
 */
const pagesHeader = "x-requested-with";

const unauthenticated = ["unauthenticated", "BAD_CREDENTIALS", "credentials are missing or wrong"] as const;
const refusals: Readonly<Record<Rejected, readonly [code: ApiErrorCode, reason: string, message: string]>> = {
  missing: unauthenticated,
  wrong: unauthenticated,
  blocked: [
    "resource_exhausted",
    "TOO_MANY_FAILURES",
    "wrong credentials were sent too often, by this client or for this user: wait a minute",
  ],
  busy: ["resource_exhausted", "TOO_MANY_SIGN_INS", "too many passwords are being checked: try again"],
};

const isReading = (method: string): boolean => method === "GET" || method === "HEAD" || method === "OPTIONS";

/**
 * Refuses changing requests of other sites. Programs send neither header and pass; a browser sends at least one. A request with a session
 * cookie, which a browser adds by itself, needs one of the headers.
 */
function refuseSite({ headers, host, method, principal }: Applicant): MaybeRefusal {
  if (isReading(method)) return undefined;
  const origin = headerOf(headers, "origin");
  const secFetchSite = headerOf(headers, "sec-fetch-site");
  const isUnknown = origin === undefined && secFetchSite === undefined;
  if (isUnknown && principal?.by !== "session") return undefined;
  const foreign = isUnknown
    ? "by the cookie of a session only a browser may do this (neither Origin nor Sec-Fetch-Site is there)"
    : foreignSite(host, origin, secFetchSite);
  if (foreign === undefined) return undefined;
  return { reason: "origin", error: apiError("permission_denied", "FOREIGN_SITE", foreign) };
}
