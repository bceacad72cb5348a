import type { Role } from "../../server/index.ts";
import {
  bool,
  hasControl,
  int,
  list,
  oneOf,
  orEmpty,
  partsOf,
  path,
  plainText,
  printable,
  row,
  secret,
  webUrl,
  type SettingType,
} from "../../base/settings/index.ts";
import { Secret } from "../../base/text/index.ts";

/** Those of the room of access, which is too large to be loaded for their names. */
const roles = Object.keys({ viewer: true, editor: true, admin: true } satisfies Record<Role, true>) as Role[];

/** Roles by value of a claim: `netgloss-admins=admin,*=viewer`. The value may have `=` in it, but no comma. */
const claimedRoles: SettingType<ReadonlyMap<string, Role>> = {
  expected: `a list separated by commas, nothing twice, each <value of the claim>=<role>, the role one of ${roles.join(", ")}`,
  parse(value) {
    const pairs = partsOf(value);
    const found = new Map<string, Role>();
    for (const pair of pairs) {
      const equals = pair.lastIndexOf("=");
      const role = roles.find((each) => each === pair.slice(equals + 1));
      if (equals < 1 || role === undefined || hasControl(pair)) return undefined;
      found.set(pair.slice(0, equals), role);
    }
    return found.size === pairs.length ? found : undefined;
  },
  format: (of) => [...of].map(([value, role]) => `${value}=${role}`).join(","),
};

/** Sign-in at an issuer of OpenID Connect. */
export const oidcSettings = {
  SVC_API_OIDC_ENABLE: row(
    "API",
    bool,
    false,
    "Lets users sign in at an issuer of OpenID Connect: /login. Credentials are required then.",
  ),
  SVC_API_OIDC_ISSUER: row(
    "API",
    orEmpty(webUrl),
    "",
    "The issuer, exactly as it names itself. By http only on a loopback address.",
    "https://sso.example.com/realms/noc",
  ),
  SVC_API_OIDC_CA_CERT_FILEPATH: row(
    "API",
    path,
    "",
    "Certificates in PEM of authorities that may sign that of the issuer, besides the known ones.",
    "/etc/netgloss/tls/ca.pem",
  ),
  SVC_API_OIDC_CLIENT_ID: row(
    "API",
    orEmpty(plainText),
    "",
    "The client id that netgloss has at the issuer.",
    "netgloss",
  ),
  SVC_API_OIDC_CLIENT_SECRET: row("API", secret, new Secret(""), "Its secret. Empty for a public client."),
  SVC_API_OIDC_CLIENT_AUTH: row(
    "API",
    oneOf(["basic", "post"]),
    "basic",
    "How the secret is sent to the issuer: by HTTP basic authentication, or in the body.",
  ),
  SVC_API_OIDC_REDIRECT_URL: row(
    "API",
    orEmpty(webUrl),
    "",
    "Where the issuer sends the browser back to: the URL of netgloss as browsers see it, with /login/callback at its end.",
    "https://netgloss.example.com/login/callback",
  ),
  SVC_API_OIDC_SCOPES: row("API", list(printable(128)), ["openid", "profile"], "The scopes that are asked for."),
  SVC_API_OIDC_USER_CLAIM: row(
    "API",
    plainText,
    "preferred_username",
    "The claim with the name of the user, for the log. Without it the name is the claim sub.",
  ),
  SVC_API_OIDC_ROLE_CLAIM: row(
    "API",
    plainText,
    "groups",
    "The claim with the groups of the user: one text or a list. Dots lead into objects: realm_access.roles.",
  ),
  SVC_API_OIDC_ROLES: row(
    "API",
    claimedRoles,
    new Map(),
    "The role that each value of that claim gives; of several the highest counts. * is for everybody. Without a role nobody signs in.",
    "netgloss-admins=admin,noc=editor",
  ),
  SVC_API_OIDC_SESSION_LIFETIME: row(
    "API",
    int(60, 2_592_000, "seconds"),
    28_800,
    "How long a session lasts. A role that is taken away at the issuer is lost here when the session ends.",
  ),
};
