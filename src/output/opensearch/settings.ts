import { basicAuthorization, urlsOf } from "../http/server-settings.ts";
import { outputKind } from "../output-kind.ts";
import { policyRow, searchRows, searchTls, serverRows } from "../search/search-settings.ts";

const rows = {
  ...serverRows("OpenSearch", "admin"),
  ...searchRows,
  INDEX_TEMPLATE_ISM_POLICY: policyRow("ISM"),
};

export const opensearch = outputKind(rows, {
  word: "OPENSEARCH",
  name: "opensearch",
  addresses: "ADDRESSES",
  tls: searchTls,
  load: async () => {
    const { createSearchOutput } = await import("../search/search-output.ts");
    return (settings, context) => {
      const server = {
        product: "opensearch",
        urls: urlsOf(settings),
        headers: basicAuthorization(settings),
        policy: settings.INDEX_TEMPLATE_ISM_POLICY,
      } as const;
      return createSearchOutput(settings, server, context);
    };
  },
});
