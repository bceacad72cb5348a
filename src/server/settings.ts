import {
  addressOrPrefix,
  bool,
  GiB,
  hasControl,
  hostName,
  int,
  list,
  listenAddress,
  MiB,
  oneOf,
  orEmpty,
  partsOf,
  path,
  plainText,
  printable,
  row,
  secret,
  type SettingType,
  size,
  userName,
  webUrl,
} from "../base/settings/index.ts";
import { Secret } from "../base/text/index.ts";
import { roles, type Role } from "./access/role.ts";

/** The roles by value of a claim: `netgloss-admins=admin,*=viewer`. A value may contain `=`, but no comma. */
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

const callback = "/login/callback";

/** Reports whether others on the way can read requests to a URL: it is plain http, and not on this host. */
function isClear(url: string): boolean {
  if (url === "") return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !/^(localhost|127\.[0-9.]+|\[::1\])$/.test(hostname);
}

/** Returns the rule of a sign-in setting, which reports no fault while the sign-in is off. */
function ofSignIn<T>(isWrong: (value: T) => boolean, words: string) {
  return (value: T, valueOf: (name: string) => unknown): string | undefined =>
    valueOf("SVC_API_OIDC_ENABLE") === true && isWrong(value) ? words : undefined;
}

/** The settings of the port, its access and its limits. */
export const serverSettings = {
  SVC_API_IP: row(listenAddress, "127.0.0.1", "The address on which the port listens."),
  SVC_API_PORT: row(int(0, 65_535), 8080, "The port of the API, health and metrics. 0 lets the system choose."),
  SVC_API_BASIC_AUTH_ENABLE: row(
    bool,
    false,
    "Requires a user name and password on all paths except /livez, /readyz, /metrics and gRPC's health check.",
    { needs: [{ must: { SVC_API_BASIC_AUTH_USERNAME: "set", SVC_API_BASIC_AUTH_PASSWORD: "set" } }] },
  ),
  SVC_API_BASIC_AUTH_USERNAME: row(userName, "", "The user name of basic authentication.", "operator"),
  SVC_API_BASIC_AUTH_PASSWORD: row(secret, new Secret(""), "The password of basic authentication."),
  SVC_API_BASIC_AUTH_METRICS_ENABLE: row(bool, false, "Requires the password on /metrics, too."),
  SVC_API_USERS_PATH: row(
    path,
    "",
    "A file of further users and API tokens with roles. It is read again when it changes. Credentials are required then.",
    "/etc/netgloss/users.yml",
  ),
  SVC_API_OIDC_ENABLE: row(
    bool,
    false,
    "Lets users sign in at an issuer of OpenID Connect: /login. Credentials are required then.",
    {
      needs: [
        { must: { SVC_API_OIDC_ISSUER: "set", SVC_API_OIDC_CLIENT_ID: "set", SVC_API_OIDC_REDIRECT_URL: "set" } },
      ],
    },
  ),
  SVC_API_OIDC_ISSUER: row(
    orEmpty(webUrl),
    "",
    "The issuer, exactly as it names itself. By http only on a loopback address.",
    {
      example: "https://sso.example.com/realms/noc",
      fault: ofSignIn(isClear, "must be an https URL, because it is on another host"),
    },
  ),
  SVC_API_OIDC_CA_CERT_FILEPATH: row(
    path,
    "",
    "Certificates in PEM of authorities that may sign that of the issuer, besides the known ones.",
    "/etc/netgloss/tls/ca.pem",
  ),
  SVC_API_OIDC_CLIENT_ID: row(orEmpty(plainText), "", "The client id that netgloss has at the issuer.", "netgloss"),
  SVC_API_OIDC_CLIENT_SECRET: row(secret, new Secret(""), "Its secret. Empty for a public client."),
  SVC_API_OIDC_CLIENT_AUTH: row(
    oneOf(["basic", "post"]),
    "basic",
    "How the secret is sent to the issuer: by HTTP basic authentication, or in the body.",
  ),
  SVC_API_OIDC_REDIRECT_URL: row(
    orEmpty(webUrl),
    "",
    "Where the issuer sends the browser back to: the URL of netgloss as browsers see it, with /login/callback at its end.",
    {
      example: "https://netgloss.example.com/login/callback",
      fault: ofSignIn((url) => url !== "" && !new URL(url).pathname.endsWith(callback), `must end with ${callback}`),
      warning: ofSignIn(isClear, "is of http: whoever can read the network can take over sessions"),
    },
  ),
  SVC_API_OIDC_SCOPES: row(list(printable(128)), ["openid", "profile"], "The scopes that are asked for.", {
    fault: ofSignIn((scopes: readonly string[]) => !scopes.includes("openid"), "must have openid"),
  }),
  SVC_API_OIDC_USER_CLAIM: row(
    plainText,
    "preferred_username",
    "The claim with the name of the user, for the log. Without it the name is the claim sub.",
  ),
  SVC_API_OIDC_ROLE_CLAIM: row(
    plainText,
    "groups",
    "The claim with the groups of the user: one text or a list. Dots lead into objects: realm_access.roles.",
  ),
  SVC_API_OIDC_ROLES: row(
    claimedRoles,
    new Map(),
    "The role that each value of that claim gives; of several the highest counts. * is for everybody. Without a role nobody signs in.",
    {
      example: "netgloss-admins=admin,noc=editor",
      fault: ofSignIn((of) => of.size === 0, "must be set, because without a role nobody can sign in"),
    },
  ),
  SVC_API_OIDC_SESSION_LIFETIME: row(
    int(60, 2_592_000, "seconds"),
    28_800,
    "How long a session of a browser lasts, also one by password or token. A role that is taken away at the issuer is lost here when the session ends.",
  ),
  SVC_API_TLS_ENABLE: row(bool, false, "Serves the port by TLS instead of plain TCP.", {
    needs: [{ must: { SVC_API_TLS_CERT_FILEPATH: "set", SVC_API_TLS_KEY_FILEPATH: "set" } }],
  }),
  SVC_API_TLS_CERT_FILEPATH: row(
    path,
    "",
    "The certificate chain in PEM. SIGHUP reads it and the key again.",
    "/etc/netgloss/tls/cert.pem",
  ),
  SVC_API_TLS_KEY_FILEPATH: row(path, "", "The private key in PEM.", "/etc/netgloss/tls/key.pem"),
  SVC_API_TLS_CLIENT_CA_CERT_FILEPATH: row(
    path,
    "",
    "Certificates in PEM that sign those of clients. A client with one is the user of SVC_API_USERS_PATH who has its subject.",
    { example: "/etc/netgloss/tls/clients.pem", belongsTo: ["SVC_API_TLS_ENABLE", "SVC_API_USERS_PATH"] },
  ),
  SVC_API_ALLOWED_HOSTS: row(
    list(hostName),
    [],
    "Further host names that the API answers to on a loopback address, such as one that a proxy passes on. localhost and addresses are always allowed.",
    "netgloss.example.com",
  ),
  SVC_API_TRUSTED_PROXIES: row(
    list(addressOrPrefix),
    [],
    "Addresses and CIDRs of proxies in front of the port. The client is whom their X-Forwarded-For names: for the log, the history and the limit of failed sign-ins.",
    "127.0.0.1,10.0.0.0/24",
  ),
  SVC_API_MAX_BODY_SIZE: row(
    size(1024, GiB),
    64 * MiB,
    "The longest request body. Longer ones are refused with resource_exhausted.",
  ),
  SVC_API_MAX_BATCH_SIZE: row(
    int(1, 10_000_000, "entries"),
    100_000,
    "The most entries of one BatchCreateUdms or BatchUpdateUdms. More are refused with resource_exhausted.",
  ),
  SVC_API_UNKNOWN_FIELDS: row(
    oneOf(["reject", "ignore"]),
    "reject",
    "What to do with a JSON request that has an unknown field. With ignore, a mistyped update_mask clears an entry.",
  ),
};
