import type { JSX } from "preact";
import { formatAge } from "../../format/times.ts";
import { hrefOf } from "../../navigation/place.ts";
import type { Origin } from "./explanation.ts";

const sources: Readonly<Record<string, string>> = {
  mmdb: "database of locations and systems",
  dns: "name server",
  locality: "locality of the address",
  ports: "names of ports",
  apps: "file of applications",
  netif: "file of interfaces",
  snmp: "SNMP",
};

/** What a value comes from: the entry and who made it so, or the source. */
export function OriginText({ origin }: { readonly origin: Origin | undefined }): JSX.Element {
  if (origin === undefined) return <span class="note">not known</span>;
  const { source = "metadata", key, layer = "", change = 0, author = "", time, file, line = 0 } = origin;
  if (key === undefined || key === "") return <span class="note">{sources[source] ?? source}</span>;
  const place = file === undefined || file === "" ? "the file" : line > 0 ? `${file}, line ${line}` : file;
  const when = time === undefined || time === "" ? "" : `, ${formatAge(Date.parse(time), Date.now())}`;
  return (
    <span class="origin">
      <a class="mono" href={hrefOf("metadata", { within: key })}>
        {key}
      </a>{" "}
      <span class="note">
        {layer !== ""
          ? `source ${layer}`
          : change > 0
            ? `change ${change}${author === "" ? "" : ` by ${author}`}${when}`
            : place}
      </span>
    </span>
  );
}
