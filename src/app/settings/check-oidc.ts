import type { Settings } from "./settings-table.ts";

const required = ["SVC_API_OIDC_ISSUER", "SVC_API_OIDC_CLIENT_ID", "SVC_API_OIDC_REDIRECT_URL"] as const;
const callback = "/login/callback";

/** Judges the settings of the sign-in at an issuer, which is on. */
export function checkOidc(settings: Settings): { problems: string[]; warnings: string[] } {
  const problems: string[] = required
    .filter((name) => settings[name] === "")
    .map((name) => `${name} must be set, because SVC_API_OIDC_ENABLE is true`);
  const warnings: string[] = [];
  const { SVC_API_OIDC_ISSUER: issuer, SVC_API_OIDC_REDIRECT_URL: redirect } = settings;
  if (isClear(issuer)) problems.push("SVC_API_OIDC_ISSUER must be an https URL, because it is on another host");
  if (redirect !== "" && !new URL(redirect).pathname.endsWith(callback)) {
    problems.push(`SVC_API_OIDC_REDIRECT_URL must end with ${callback}`);
  }
  if (isClear(redirect)) {
    warnings.push("SVC_API_OIDC_REDIRECT_URL is of http: whoever can read the network can take over sessions");
  }
  if (!settings.SVC_API_OIDC_SCOPES.includes("openid")) problems.push("SVC_API_OIDC_SCOPES must have openid");
  if (settings.SVC_API_OIDC_ROLES.size === 0) {
    problems.push("SVC_API_OIDC_ROLES must be set, because without a role nobody can sign in");
  }
  return { problems, warnings };
}

/** Whether what is sent to a URL can be read on the way. */
function isClear(url: string): boolean {
  if (url === "") return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !/^(localhost|127\.[0-9.]+|\[::1\])$/.test(hostname);
}
