import type { OidcConfig } from "../../server/index.ts";
import { readAuthorities } from "./read-authorities.ts";
import type { Settings } from "../settings/index.ts";

/** What the settings say of the sign-in at an issuer; undefined when it is off. */
export function oidcConfig(settings: Settings): OidcConfig | undefined {
  if (!settings.SVC_API_OIDC_ENABLE) return undefined;
  const caPath = settings.SVC_API_OIDC_CA_CERT_FILEPATH;
  return {
    issuer: settings.SVC_API_OIDC_ISSUER,
    ...(caPath !== "" && { authorities: () => readAuthorities(caPath) }),
    clientId: settings.SVC_API_OIDC_CLIENT_ID,
    clientSecret: settings.SVC_API_OIDC_CLIENT_SECRET.reveal(),
    clientAuth: settings.SVC_API_OIDC_CLIENT_AUTH,
    redirectUrl: settings.SVC_API_OIDC_REDIRECT_URL,
    scopes: settings.SVC_API_OIDC_SCOPES,
    userClaim: settings.SVC_API_OIDC_USER_CLAIM,
    roleClaim: settings.SVC_API_OIDC_ROLE_CLAIM,
    roles: settings.SVC_API_OIDC_ROLES,
    sessionMs: settings.SVC_API_OIDC_SESSION_LIFETIME * 1000,
  };
}
