import type { ConnectError } from "@connectrpc/connect";
import { parseAddress } from "../../base/ip/index.ts";
import { createLineBudget, type Clock, type Log } from "../../base/report/index.ts";
import { type Call, type RouteAccess, headerOf } from "../http/call.ts";
import { lacks, type Area, type Principal, type Role } from "../access/role.ts";
import type { Rejection } from "../http/api-metrics.ts";
import { quote } from "../../base/text/index.ts";
import { apiError } from "../api-error.ts";
import { type Authenticator, type Rejected, basicChallenge, bearerChallenge } from "./authenticator.ts";

/** What a browser says of where a request comes from. */
interface SiteHeaders {
  /** `Host`, or `:authority` of HTTP/2. */
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly secFetchSite: string | undefined;
}

/**
 * Why a request that may change something is refused as another site's, or undefined. Programs send neither header and
 * pass; a browser sends at least one of them with every POST.
 */
function foreignSite(headers: SiteHeaders): string | undefined {
  const { host, origin, secFetchSite } = headers;
  if (secFetchSite !== undefined) {
    return secFetchSite === "same-origin" || secFetchSite === "none"
      ? undefined
      : `a request from another site is refused (Sec-Fetch-Site: ${secFetchSite.slice(0, 64)})`;
  }
  if (origin === undefined) return undefined;
  try {
    // The scheme is left out: in front of a proxy that ends TLS it is another one.
    const { protocol, host: originHost } = new URL(origin);
    if (originHost !== "" && new URL(`${protocol}//${host}`).host === originHost) return undefined;
  } catch {
    // An opaque origin (`null`) is nobody's.
  }
  return `a request from another site is refused (Origin: ${origin.slice(0, 64)})`;
}

/** Whether an address to listen on reaches only this machine: 127.0.0.0/8 or `::1`. */
export function isLoopback(ip: string): boolean {
  const address = parseAddress(ip);
  if (address === undefined) return ip === "localhost";
  return address.family === 4 ? address.value >> 24n === 127n : address.value === 1n;
}

/**
 * Whether a Host header may be answered on a loopback address: an address, `localhost` or a name below it, or one of
 * `allowed`. Any other name was made by someone else to point here (DNS rebinding). A request without one passes, for
 * browsers always send it.
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
 * Logs each call that may change something: who, from where, what, with which result. Of masses of them most have their line
 * at level debug; the next line at level warn or info says how many they were.
 */
export function createWriteAudit(log: Log, clock: Clock): (call: Call) => void {
  const hasBudget = createLineBudget(clock);
  let more = 0;
  return (call) => {
    const { audit, principal, peer, label, wire, code, failure, method } = call;
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
    if (!hasBudget()) {
      more++;
      log.debug(fields, message);
      return;
    }
    log[isDone ? "info" : "warn"](more === 0 ? fields : { ...fields, more }, message);
    more = 0;
  };
}

interface AdmissionRules {
  /** Undefined when nobody has to prove who they are. */
  readonly authenticator: Authenticator | undefined;
  /** Names that a Host header may carry besides those of this machine; undefined when any may. */
  readonly allowedHosts: readonly string[] | undefined;
  /** Whether a password may prove who asks. */
  readonly takesPasswords: boolean;
}

/** Why a request is turned away by its header alone. */
export interface Refusal {
  readonly reason: Rejection;
  readonly error: ConnectError;
}

/** What of a call is looked at. */
type Applicant = Pick<Call, "headers" | "host" | "method" | "peer" | "clientCertificate" | "principal" | "access">;

export interface Admission {
  /**
   * Everything that is checked before a body is read: host, who asks, what they may do, site. `access` is that of the route, undefined where
   * there is none. Whoever is known is noted in the call. A promise only where a password has to be hashed.
   */
  admit(call: Applicant, access: RouteAccess | undefined): MaybeRefusal | Promise<MaybeRefusal>;
  /** Why a call that was admitted would not be now: who asks was deleted, changed or signed out, or their role does not suffice any more. */
  revoked(call: Pick<Call, "principal" | "access">): MaybeRefusal;
}
type MaybeRefusal = Refusal | undefined;

/** Routes that do not exist need as much as reading does. */
const unknownRoute: RouteAccess = { role: "viewer", area: undefined };

export function createAdmission({ allowedHosts, authenticator, takesPasswords }: AdmissionRules): Admission {
  const refusals = createRefusals(takesPasswords);
  /** Most requests come with the name that the one before had. */
  let lastKnownHost: string | undefined;

  const isHostKnown = (host: string | undefined): boolean => {
    if (allowedHosts === undefined || (host !== undefined && host === lastKnownHost)) return true;
    if (!isKnownHost(host, allowedHosts)) return false;
    lastKnownHost = host;
    return true;
  };

  return {
    admit(call, access = unknownRoute) {
      const { host } = call;
      if (!isHostKnown(host)) {
        const error = apiError("permission_denied", "UNKNOWN_HOST", `the host ${quote(host ?? "")} is not known here`);
        return { reason: "host", error };
      }
      const isAsked = access.role !== undefined || access.isPersonal === true;
      if (!isAsked || authenticator === undefined) return refuseSite(call, host);
      const found = authenticator.identify({
        authorization: headerOf(call.headers, "authorization"),
        cookie: headerOf(call.headers, "cookie"),
        peer: call.peer,
        certificate: () => call.clientCertificate(),
      });
      if (!(found instanceof Promise)) return settle(call, access, host, found);
      return found.then((principal) => settle(call, access, host, principal));
    },
    revoked({ principal, access }) {
      if (principal === undefined || access === undefined || authenticator === undefined) return undefined;
      const found = authenticator.current(principal);
      if (found === undefined) {
        const error = apiError(
          "unauthenticated",
          "BAD_CREDENTIALS",
          `the credentials of ${principal.name} are no longer good`,
        );
        return { reason: "auth", error };
      }
      return refuseRole(found, access.role, access.area);
    },
  };

  function settle(
    call: Applicant,
    access: RouteAccess,
    host: string | undefined,
    found: Principal | Rejected,
  ): MaybeRefusal {
    if (access.role === undefined) {
      if (typeof found !== "string") call.principal = found;
      return refuseSite(call, host);
    }
    return typeof found === "string" ? refusals[found](call) : judge(call, access, host, found);
  }
}

function judge(call: Applicant, access: RouteAccess, host: string | undefined, found: Principal): MaybeRefusal {
  call.principal = found;
  call.access = access;
  // What a path takes may be known to who may not use it.
  return refuseRole(found, call.method === "OPTIONS" ? "viewer" : access.role, access.area) ?? refuseSite(call, host);
}

function refuseRole(found: Principal, role: Role = "viewer", area: Area | undefined): MaybeRefusal {
  const lack = lacks(found, role, area);
  return lack === undefined ? undefined : { reason: "role", error: apiError("permission_denied", "ROLE_NEEDED", lack) };
}

/**
 * To a Basic challenge a browser answers with a dialog of its own, where the pages have a better one: they send this header. Where no
 * password is good for anything, no dialog may ask for one.
 */
const pagesMark = "x-requested-with";

function createRefusals(takesPasswords: boolean): Readonly<Record<Rejected, (call: Applicant) => Refusal>> {
  const unauthenticated = ({ headers }: Applicant): Refusal => {
    const error = apiError("unauthenticated", "BAD_CREDENTIALS", "credentials are missing or wrong");
    const isPage = headerOf(headers, pagesMark) !== undefined;
    error.metadata.set("www-authenticate", isPage || !takesPasswords ? bearerChallenge : basicChallenge);
    return { reason: "auth", error };
  };
  return {
    missing: unauthenticated,
    wrong: unauthenticated,
    blocked: () => ({
      reason: "auth",
      error: apiError(
        "resource_exhausted",
        "TOO_MANY_FAILURES",
        "wrong credentials were sent too often, by this client or for this user: wait a minute",
      ),
    }),
    busy: () => ({
      reason: "auth",
      error: apiError("resource_exhausted", "TOO_MANY_SIGN_INS", "too many passwords are being checked: try again"),
    }),
  };
}

/**
 * Programs send neither header and pass; a browser sends one of them with what may change something. By the cookie of a session, which a
 * browser adds by itself, nothing passes without.
 */
function refuseSite({ headers, method, principal }: Applicant, host: string | undefined): MaybeRefusal {
  if (method === "GET" || method === "HEAD" || method === "OPTIONS") return undefined;
  const origin = headerOf(headers, "origin");
  const secFetchSite = headerOf(headers, "sec-fetch-site");
  const isUnknown = origin === undefined && secFetchSite === undefined;
  if (isUnknown && principal?.by !== "session") return undefined;
  const foreign = isUnknown
    ? "by the cookie of a session only a browser may do this (neither Origin nor Sec-Fetch-Site is there)"
    : foreignSite({ host, origin, secFetchSite });
  if (foreign === undefined) return undefined;
  return { reason: "origin", error: apiError("permission_denied", "FOREIGN_SITE", foreign) };
}
