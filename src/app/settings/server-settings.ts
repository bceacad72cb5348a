import { row, type Setting } from "./setting-row.ts";
import { bool, list, path, secret } from "./setting-type.ts";
import { headers } from "./pair-types.ts";
import { serverAddress } from "./address-types.ts";
import { userName } from "./name-types.ts";
import { Secret } from "../../base/text/index.ts";

const group = "Outputs";

export const addressesRow = (fallback: readonly string[]): Setting<readonly string[]> =>
  row(
    group,
    list(serverAddress),
    fallback,
    "The servers of the store. Requests are spread over those that answer.",
    "https://store-1.example.com,https://store-2.example.com",
  );

export const tlsRows = {
  TLS_ENABLE: row(
    group,
    bool,
    false,
    "Uses TLS for addresses without a scheme. `https://` and `tls://` say it themselves.",
  ),
  TLS_CA_CERT_FILEPATH: row(
    group,
    path,
    "",
    "CA certificates in PEM. They replace those of the system.",
    "/etc/netgloss/tls/ca.pem",
  ),
  TLS_SKIP_VERIFICATION: row(
    group,
    bool,
    false,
    "Accepts any server certificate. Insecure: others on the path can read and change the records.",
  ),
};

export const clientCertificateRows = {
  TLS_CERT_FILEPATH: row(group, path, "", "The client's certificate in PEM.", "/etc/netgloss/tls/client.pem"),
  TLS_KEY_FILEPATH: row(group, path, "", "The client's private key in PEM.", "/etc/netgloss/tls/client-key.pem"),
};

export const credentialRows = (user: string) => ({
  USERNAME: row(
    group,
    userName,
    user,
    "The user name of basic authentication, which needs a password, too.",
    "netgloss",
  ),
  PASSWORD: row(group, secret, new Secret(""), "The password of basic authentication."),
});

export const tokenRow = row(group, secret, new Secret(""), "Sent as `Authorization: Bearer <token>`.");
export const headersRow = row(
  group,
  headers,
  new Map(),
  "Further headers of every request.",
  "x-tenant=edge,x-site=north",
);
