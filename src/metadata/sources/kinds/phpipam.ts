import { readyMap } from "../../exchange/map/ready-maps.ts";
import type { SourceReader } from "../fetch/source-reader.ts";
import { SourceFault } from "../source-fault.ts";
import { aThird, at, listAt, textAt, minutes, optionOf, type KindContext, type SourceKind } from "./source-kind.ts";

/**
 * phpIPAM by its API. The URL is that of the application: `https://ipam.example.net/api/netgloss`. With a code token it is sent
 * as the header `token`; with a name and password a session token is asked for first.
 */
export const phpipam: SourceKind = {
  place: "url",
  options: ["objects"],
  intervalMs: 15 * minutes,
  isPaged: true,
  maxShrink: aThird,
  tokenScheme: "",
  map: readyMap("phpipam"),
  check(config) {
    const unknown = optionOf(config, "objects").find((name) => name !== "subnets" && name !== "addresses");
    return unknown === undefined ? undefined : `objects has ${unknown}: expected subnets, addresses`;
  },
  async read(context) {
    const { reader, config } = context;
    const headers = { token: await tokenOf(context) };
    const objects = optionOf(config, "objects", ["subnets", "addresses"]);
    const vlans = namesOf(await list(reader, "/vlan/", headers), ["vlanId", "id"], "number");
    const sections = namesOf(await list(reader, "/sections/", headers), ["id"], "name");
    const subnets = await list(reader, "/subnets/", headers);
    const isFolder = (subnet: Readonly<Record<string, unknown>>): boolean =>
      ["1", 1, true].includes(subnet["isFolder"] as string);
    const rows: unknown[] = [];
    if (objects.includes("subnets")) {
      for (const subnet of subnets) {
        if (isFolder(subnet)) continue;
        rows.push({
          subnet: subnet["subnet"],
          mask: subnet["mask"],
          description: subnet["description"],
          vlan: vlans.get(String(subnet["vlanId"])),
          section: sections.get(String(subnet["sectionId"])),
          location: at(subnet, "location", "name"),
        });
      }
    }
    if (objects.includes("addresses")) {
      for (const address of await list(reader, "/addresses/", headers)) {
        const { ip, hostname, description, owner } = address;
        rows.push({ ip, hostname, description, owner });
      }
    }
    return { rows };
  },
};

async function tokenOf({ config, reader, secret }: KindContext): Promise<string> {
  if (config.token !== undefined) return secret("token");
  if (config.username === undefined) {
    throw new SourceFault("configuration", "phpIPAM needs token_file or token_env, or username with a password");
  }
  const token = at(await reader.json("/user/", { method: "POST" }), "data", "token");
  if (typeof token !== "string") throw new SourceFault("refused", "phpIPAM gives no session token");
  return token;
}

/** The data of an answer; phpIPAM says of an empty list that it was not found. */
async function list(
  reader: SourceReader,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const answer = await reader.json(path, { headers, accepted: [404] });
  const data = listAt(answer, "data");
  if (data !== undefined) return data;
  const message = textAt(answer, "message");
  const isEmpty = at(answer, "success") === false || at(answer, "success") === 0 || at(answer, "code") === 200;
  if (isEmpty && /\bno\b.*\b(?:found|available|results?|exist)\b|not found/i.test(message)) return [];
  throw new SourceFault(
    "content",
    `phpIPAM answers ${path} with no data${message === "" ? "" : `: ${message.slice(0, 200)}`}`,
  );
}

function namesOf(
  objects: readonly Readonly<Record<string, unknown>>[],
  ids: readonly string[],
  name: string,
): ReadonlyMap<string, unknown> {
  return new Map(
    objects.map((object) => [ids.map((id) => textAt(object, id)).find((id) => id !== "") ?? "", object[name]]),
  );
}
