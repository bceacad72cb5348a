// An OpenID provider for sign-on tests: node server.mjs PORT. Signs in whoever asks, by name, without a password.
import { generateKeyPairSync } from "node:crypto";
import { Provider } from "oidc-provider";

const issuer = `http://127.0.0.1:${process.argv[2]}`;
const groups = { admin: ["netgloss-admins"], viewer: ["netgloss-viewers"] };
const key = (alg, kid, type, options) => ({
  ...generateKeyPairSync(type, options).privateKey.export({ format: "jwk" }),
  alg,
  kid,
  use: "sig",
});
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "netgloss",
      client_secret: "secret-of-the-test-client",
      redirect_uris: (process.env.OIDC_REDIRECT ?? "http://127.0.0.1/callback").split(","),
      grant_types: ["authorization_code", "refresh_token", "client_credentials"],
      post_logout_redirect_uris: ["http://127.0.0.1/"],
    },
  ],
  jwks: {
    keys: [key("RS256", "rsa", "rsa", { modulusLength: 2048 }), key("ES256", "ec", "ec", { namedCurve: "P-256" })],
  },
  claims: { openid: ["sub"], profile: ["name", "groups", "preferred_username"], email: ["email", "email_verified"] },
  conformIdTokenClaims: false, // the claims of the scopes are in the id token too
  features: {
    devInteractions: { enabled: true }, // a page that takes any user name and any password, then a consent page
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => "urn:netgloss",
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: "read write",
        audience: "netgloss",
        accessTokenFormat: "jwt",
        jwt: { sign: { alg: "RS256" } },
      }),
    },
  },
  pkce: { required: () => false },
  cookies: { keys: ["a key of the test provider"] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({
      sub: id,
      name: id,
      preferred_username: id,
      email: `${id}@example.org`,
      email_verified: true,
      groups: groups[id] ?? [],
    }),
  }),
});
provider.listen(Number(process.argv[2]), "127.0.0.1");
