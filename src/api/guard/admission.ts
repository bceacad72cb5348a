import type { ConnectError } from "@connectrpc/connect";
import type { Rejection } from "../http/api-metrics.ts";
import { headerOf, type RequestHeaders } from "../http/http-message.ts";
import { quote } from "../../text/index.ts";
import { apiError } from "../error/api-error.ts";
import { basicChallenge } from "./basic-auth.ts";
import { foreignSite, isKnownHost } from "./site-guard.ts";

export interface AdmissionRules {
  /** Undefined when no credentials are asked for. */
  readonly isAuthorized: ((authorization: string | undefined) => boolean) | undefined;
  /** Labels of routes that need no credentials. */
  readonly openLabels: ReadonlySet<string>;
  /** Names that a Host header may carry besides those of this machine; undefined when any may. */
  readonly allowedHosts: readonly string[] | undefined;
}

/** Why a request is turned away by its header alone. */
export interface Refusal {
  readonly reason: Rejection;
  readonly error: ConnectError;
}

/**
 * Everything that is checked before a body is read: host, credentials, site. `label` is that of the route, undefined where there is
 * none; `isSafe` says that the request changes nothing.
 */
export type Admission = (headers: RequestHeaders, label: string | undefined, isSafe: boolean) => Refusal | undefined;

export function createAdmission(rules: AdmissionRules): Admission {
  const { allowedHosts, isAuthorized, openLabels } = rules;
  /** Most requests come with the name that the one before had. */
  let lastKnownHost: string | undefined;

  const isHostKnown = (host: string | undefined): boolean => {
    if (allowedHosts === undefined || (host !== undefined && host === lastKnownHost)) return true;
    if (!isKnownHost(host, allowedHosts)) return false;
    lastKnownHost = host;
    return true;
  };

  return (headers, label, isSafe) => {
    const host = headerOf(headers, "host") ?? headerOf(headers, ":authority");
    if (!isHostKnown(host)) {
      const error = apiError("permission_denied", "UNKNOWN_HOST", `the host ${quote(host ?? "")} is not known here`);
      return { reason: "host", error };
    }
    const isOpen = label !== undefined && openLabels.has(label);
    if (!isOpen && isAuthorized !== undefined && !isAuthorized(headerOf(headers, "authorization"))) {
      const error = apiError("unauthenticated", "BAD_CREDENTIALS", "credentials are missing or wrong");
      error.metadata.set("www-authenticate", basicChallenge);
      return { reason: "auth", error };
    }
    if (isSafe) return undefined;
    const origin = headerOf(headers, "origin");
    const secFetchSite = headerOf(headers, "sec-fetch-site");
    if (origin === undefined && secFetchSite === undefined) return undefined;
    const foreign = foreignSite({ host, origin, secFetchSite });
    if (foreign === undefined) return undefined;
    return { reason: "origin", error: apiError("permission_denied", "FOREIGN_SITE", foreign) };
  };
}
