import { row, secret, type SettingType } from "../../base/settings/index.ts";
import { Secret } from "../../base/text/index.ts";
import { basicAuthorization, urlsOf } from "../http/server-settings.ts";
import { outputKind } from "../output-kind.ts";
import { policyRow, searchRows, searchTls, serverRows } from "../search/search-settings.ts";

/** The Cloud ID of Elastic Cloud: `<name>:<base64 of host$elasticsearch$kibana>`. */
const cloudId: SettingType<string> = {
  expected: "a Cloud ID, <name>:<base64>, or empty",
  parse: (value) => (value === "" || cloudIdUrl(value) !== undefined ? value : undefined),
  format: (value) => value,
};

/** The URL of Elasticsearch that a Cloud ID names; undefined when it names none. */
export function cloudIdUrl(id: string): string | undefined {
  const encoded = id.slice(id.lastIndexOf(":") + 1);
  const [host = "", part = ""] = Buffer.from(encoded, "base64").toString("utf8").split("$");
  const [, domain = "", port = "443"] = /^([a-z0-9.-]+)(?::([0-9]{1,5}))?$/i.exec(host) ?? [];
  const [, name = "", ownPort = port] = /^([a-z0-9-]+)(?::([0-9]{1,5}))?$/i.exec(part) ?? [];
  return domain === "" || name === "" ? undefined : `https://${name}.${domain}:${ownPort}`;
}

const rows = {
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

export const elasticsearch = outputKind(rows, {
  word: "ELASTICSEARCH",
  name: "elasticsearch",
  addresses: "ADDRESSES",
  tls: searchTls,
  load: async () => {
    const { createSearchOutput } = await import("../search/search-output.ts");
    return (settings, context) => {
      const cloudUrl = cloudIdUrl(settings.CLOUD_ID);
      const { API_KEY: key } = settings;
      const server = {
        product: "elasticsearch",
        urls: cloudUrl === undefined ? urlsOf(settings) : [cloudUrl],
        headers: key === "" ? basicAuthorization(settings) : { authorization: `ApiKey ${key}` },
        policy: settings.INDEX_TEMPLATE_ILM_LIFECYCLE,
      } as const;
      return createSearchOutput(settings, server, context);
    };
  },
});
