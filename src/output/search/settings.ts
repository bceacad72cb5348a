import {
  bool,
  int,
  oneOf,
  orEmpty,
  orNone,
  path,
  plainText,
  row,
  secret,
  type Setting,
  type SettingType,
} from "../../base/settings/index.ts";
import { Secret } from "../../base/text/index.ts";
import { commonRows } from "../delivery/settings.ts";
import { addressesRow, basicAuthorization, credentialRows, tlsRows, urlsOf } from "../http/server-settings.ts";
import type { TlsConfig } from "../delivery/tls-options.ts";
import { outputKind, type OwnSettings } from "../output-kind.ts";

/** A part of the name of an index. */
const indexPart: SettingType<string> = {
  expected: "lower-case letters, digits, dots, dashes and underscores, 64 at most, the first a letter or digit",
  parse: (value) => (/^[a-z0-9][a-z0-9._-]{0,63}$/.test(value) ? value : undefined),
  format: (value) => value,
};

/** Returns the settings of servers that understand the API of Elasticsearch. @param user the name of the usual user. */
const serverRows = (store: string, user: string) => ({
  ...commonRows(store),
  ADDRESSES: addressesRow(["127.0.0.1:9200"]),
  ...tlsRows,
  ...credentialRows(user),
});

/** The settings of indices, which follow those of the server. */
const searchRows = {
  CLIENT_CA_CERT_FILEPATH: row(
    path,
    "",
    "Another name of TLS_CA_CERT_FILEPATH, which counts first.",
    "/etc/netgloss/tls/ca.pem",
  ),
  CLIENT_CERT_FILEPATH: row(path, "", "The client's certificate in PEM.", "/etc/netgloss/tls/client.pem"),
  CLIENT_KEY_FILEPATH: row(path, "", "The client's private key in PEM.", "/etc/netgloss/tls/client-key.pem"),
  COMPRESSION: row(oneOf(["none", "gzip"]), "none", "The compression of requests."),
  INDEX_PERIOD: row(
    oneOf(["rollover", "daily", "monthly"]),
    "rollover",
    "`rollover` writes to data streams; `daily` and `monthly` to indices with the day or month of `@timestamp` (UTC) in their names.",
  ),
  INDEX_PREFIX: row(indexPart, "netgloss", "The beginning of the names of indices: `<prefix>-flow`.", "elastiflow"),
  INDEX_SUFFIX: row(orEmpty(indexPart), "", "The end of the names of indices: `netgloss-flow-<suffix>`.", "edge"),
  INDEX_NAMING: row(
    oneOf(["netgloss", "netobserv"]),
    "netgloss",
    "How indices are called. `netobserv`: so that the dashboards of ElastiFlow NetObserv find them, with INDEX_PREFIX elastiflow: `elastiflow-flow-codex-2.4-netgloss`, with ECS_ENABLE `elastiflow-flow-ecs-8.0-2.4-netgloss`.",
  ),
  INDEX_TEMPLATE_ENABLE: row(bool, true, "Creates the index template with the types of all fields."),
  INDEX_TEMPLATE_OVERWRITE: row(bool, true, "Replaces an existing index template, unless it has a newer version."),
  INDEX_TEMPLATE_SHARDS: row(int(1, 1024, "shards"), 1, "Primary shards of an index."),
  INDEX_TEMPLATE_REPLICAS: row(int(0, 64, "replicas"), 0, "Replicas of each shard."),
  INDEX_TEMPLATE_REFRESH_INTERVAL: row(plainText, "10s", "How soon records can be searched."),
  INDEX_TEMPLATE_CODEC: row(plainText, "best_compression", "The codec that compresses an index."),
  INDEX_TEMPLATE_PIPELINE_DEFAULT: row(plainText, "_none", "The default ingest pipeline of the indices."),
  INDEX_TEMPLATE_PIPELINE_FINAL: row(plainText, "_none", "The final ingest pipeline of the indices."),
};

const policyRow = (kind: string): Setting<string> =>
  row(
    orNone(plainText),
    "netgloss",
    `The ${kind} policy of data streams. If it does not exist, it is created: a new index after a day or 30 GB, no deletion. none is no policy.`,
  );

export type SearchSettings = OwnSettings<ReturnType<typeof serverRows> & typeof searchRows>;

export function searchTls(settings: SearchSettings): TlsConfig {
  return {
    caPath: settings.TLS_CA_CERT_FILEPATH || settings.CLIENT_CA_CERT_FILEPATH,
    certPath: settings.CLIENT_CERT_FILEPATH,
    keyPath: settings.CLIENT_KEY_FILEPATH,
    skipVerification: settings.TLS_SKIP_VERIFICATION,
  };
}

/** The Cloud ID of Elastic Cloud: `<name>:<base64 of host$elasticsearch$kibana>`. */
const cloudId: SettingType<string> = {
  expected: "a Cloud ID, <name>:<base64>, or empty",
  parse: (value) => (value === "" || cloudIdUrl(value) !== undefined ? value : undefined),
  format: (value) => value,
};

/** Returns the URL of Elasticsearch from a Cloud ID; undefined when it has none. */
export function cloudIdUrl(id: string): string | undefined {
  const encoded = id.slice(id.lastIndexOf(":") + 1);
  const [host = "", part = ""] = Buffer.from(encoded, "base64").toString("utf8").split("$");
  const [, domain = "", port = "443"] = /^([a-z0-9.-]+)(?::([0-9]{1,5}))?$/i.exec(host) ?? [];
  const [, name = "", ownPort = port] = /^([a-z0-9-]+)(?::([0-9]{1,5}))?$/i.exec(part) ?? [];
  return domain === "" || name === "" ? undefined : `https://${name}.${domain}:${ownPort}`;
}

const elasticsearchRows = {
  ...serverRows("Elasticsearch", "elastic"),
  CLOUD_ID: row(
    cloudId,
    "",
    "The Cloud ID of a deployment of Elastic Cloud. It replaces ADDRESSES.",
    "edge:ZXhhbXBsZS5jb20kYWJjJGRlZg==",
  ),
  API_KEY: row(secret, new Secret(""), "The API key. It replaces user name and password."),
  ...searchRows,
  INDEX_TEMPLATE_ILM_LIFECYCLE: policyRow("ILM"),
};

export const elasticsearch = outputKind(elasticsearchRows, {
  word: "ELASTICSEARCH",
  name: "elasticsearch",
  addresses: "ADDRESSES",
  tls: searchTls,
  load: async () => {
    const { SearchOutput } = await import("./search-output.ts");
    return (settings, context) => {
      const cloudUrl = cloudIdUrl(settings.CLOUD_ID);
      const { API_KEY: key } = settings;
      const server = {
        product: "elasticsearch",
        urls: cloudUrl === undefined ? urlsOf(settings) : [cloudUrl],
        headers: key === "" ? basicAuthorization(settings) : { authorization: `ApiKey ${key}` },
        policy: settings.INDEX_TEMPLATE_ILM_LIFECYCLE,
      } as const;
      return new SearchOutput(settings, server, context);
    };
  },
});

const opensearchRows = {
  ...serverRows("OpenSearch", "admin"),
  ...searchRows,
  INDEX_TEMPLATE_ISM_POLICY: policyRow("ISM"),
};

export const opensearch = outputKind(opensearchRows, {
  word: "OPENSEARCH",
  name: "opensearch",
  addresses: "ADDRESSES",
  tls: searchTls,
  load: async () => {
    const { SearchOutput } = await import("./search-output.ts");
    return (settings, context) => {
      const server = {
        product: "opensearch",
        urls: urlsOf(settings),
        headers: basicAuthorization(settings),
        policy: settings.INDEX_TEMPLATE_ISM_POLICY,
      } as const;
      return new SearchOutput(settings, server, context);
    };
  },
});
