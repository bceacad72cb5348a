import { parseAddress } from "../../base/ip/index.ts";

/** What a browser says of where a request comes from. */
export interface SiteHeaders {
  /** `Host`, or `:authority` of HTTP/2. */
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly secFetchSite: string | undefined;
}

/**
 * Why a request that may change something is refused as another site's, or undefined. Programs send neither header and
 * pass; a browser sends at least one of them with every POST.
 */
export function foreignSite(headers: SiteHeaders): string | undefined {
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
export function isKnownHost(host: string | undefined, allowed: readonly string[]): boolean {
  if (host === undefined || host === "") return true;
  if (parseAddress(host) !== undefined) return true;
  const name = host.replace(/:\d*$/, "").toLowerCase();
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  if (allowed.some((known) => known.toLowerCase() === name)) return true;
  return parseAddress(name.replace(/^\[(.*)\]$/, "$1")) !== undefined;
}
