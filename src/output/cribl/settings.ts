import { row, secret } from "../../base/settings/index.ts";
import { Secret } from "../../base/text/index.ts";
import { commonRows } from "../delivery/settings.ts";
import { addressesRow, clientCertificateRows, postConfig, tlsOf, tlsRows } from "../http/server-settings.ts";
import { bodyRows } from "../http/settings.ts";
import { outputKind } from "../output-kind.ts";

const rows = {
  ...commonRows("Cribl Stream"),
  ADDRESSES: addressesRow(["127.0.0.1:10080"]),
  ...tlsRows,
  ...clientCertificateRows,
  TOKEN: row(secret, new Secret(""), "The token of the HTTP source, sent as `Authorization: <token>`."),
  ...bodyRows,
};

export const cribl = outputKind(rows, {
  word: "CRIBL",
  name: "cribl",
  addresses: "ADDRESSES",
  tls: tlsOf,
  load: async () => {
    const { createPostedLines } = await import("../http/http-output.ts");
    return (settings, { clock }) => {
      const headers: Record<string, string> = settings.TOKEN === "" ? {} : { authorization: settings.TOKEN };
      return createPostedLines(postConfig(settings, headers, "/cribl/_bulk"), settings.FORMAT, clock);
    };
  },
});
