import type { Role } from "../role.ts";

/** How users sign in at an issuer by OpenID Connect. */
export interface OidcConfig {
  /** URL whose `.well-known/openid-configuration` describes the issuer. By http only on a loopback address. */
  readonly issuer: string;
  /**
   * Certificates in PEM of authorities that may sign that of the issuer, besides the known ones; asked with each description of the issuer.
   * @throws Error when they cannot be read
   */
  readonly authorities?: (() => Buffer) | undefined;
  readonly clientId: string;
  /** Empty: a public client, for which PKCE stands alone. */
  readonly clientSecret: string;
  /** How the secret is sent (RFC 6749, 2.3.1): as HTTP basic authentication, or in the body. */
  readonly clientAuth: "basic" | "post";
  /** Where the issuer sends the browser back to. */
  readonly redirectUrl: string;
  readonly scopes: readonly string[];
  /** Claim with the name of the user. Without a usable one, `sub` is the name. */
  readonly userClaim: string;
  /** Claim with the groups or roles of the user: `groups`, or with dots inside of objects `realm_access.roles`. */
  readonly roleClaim: string;
  /** Role by value of that claim; `*` is for everybody. */
  readonly roles: ReadonlyMap<string, Role>;
  readonly sessionMs: number;
}
