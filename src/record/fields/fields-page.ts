import { counterFields } from "./counter-fields.ts";
import { fieldPatterns } from "./field-patterns.ts";
import { fieldGroups } from "./field-table.ts";
import type { RecordField } from "./record-field.ts";

/** What each end of a flow is in the Elastic Common Schema. */
const ends = { src: "source", dst: "destination", client: "client", server: "server" } as const;

const endNames = `
ip.addr | ip
l4.port.id | port
host.name | domain
as.asn | as.number
as.org | as.organization.name
geo.city.name | geo.city_name
geo.country.name | geo.country_name
geo.country.code | geo.country_iso_code
geo.continent.name | geo.continent_name
geo.continent.code | geo.continent_code
geo.loc.coord | geo.location
nat.ip.addr | nat.ip
nat.l4.port.id | nat.port
user.name | user.name
`;

const otherNames = `
flow.export.ip.addr | host.ip
flow.export.host.name | host.name
flow.export.type | event.dataset
system.ip.addr | host.ip
system.host.name | host.name
flow.start.timestamp | event.start
flow.end.timestamp | event.end
flow.bytes | network.bytes
flow.packets | network.packets
flow.community.id | network.community_id
flow.direction.name | network.direction
flow.in.vlan.tag.id | network.vlan.id
app.name | network.application
ip.version.name | network.type
l4.proto.name | network.transport
flow.in.netif.name | observer.ingress.interface.name
flow.in.netif.alias | observer.ingress.interface.alias
flow.out.netif.name | observer.egress.interface.name
flow.out.netif.alias | observer.egress.interface.alias
flow.url.text | url.original
flow.url.host | url.domain
flow.http.user_agent | user_agent.original
flow.http.referer | http.request.referrer
flow.user.name | user.name
host.name | host.hostname
`;

const pairs = (rows: string): [string, string][] =>
  rows
    .trim()
    .split("\n")
    .map((row) => row.split(" | ") as [string, string]);

/** Counters of IP by sFlow: `host.ip` is an address in ECS, and cannot be an object. */
const ofHosts = counterFields
  .filter(({ name }) => name.startsWith("host.ip."))
  .map(({ name }): [string, string] => [name, name.replace("host.ip.", "host.net.ip.")]);

/**
 * Names of the Elastic Common Schema by names of records, where it has a field of the same meaning and the same form of value. A
 * MAC address is written otherwise there, an interface's index is a text: these keep their names, as all others do.
 */
export const ecsNames: ReadonlyMap<string, string> = new Map([
  ...Object.entries(ends).flatMap(([end, name]) =>
    pairs(endNames).map(([own, ecs]): [string, string] => [`flow.${end}.${own}`, `${name}.${ecs}`]),
  ),
  ...pairs(otherNames),
  ...ofHosts,
]);

/** The fields whose values the Elastic Common Schema wants in small letters. */
export const ecsLowered: ReadonlySet<string> = new Set([
  "network.application",
  "network.direction",
  "network.transport",
  "network.type",
]);

/** The name of a field in the Elastic Common Schema, else its own. */
export function ecsName(name: string): string {
  return ecsNames.get(name) ?? name;
}

/**
 * A page with its tables of fields written again: each stands between `<!-- fields: <group> -->` and `<!-- end of fields -->`.
 *
 * @param elementName IANA's name of an element, empty where there is none.
 * @throws TypeError when a group is not known.
 */
export function fieldsPage(page: string, elementName: (id: number) => string): string {
  return page.replaceAll(
    /(<!-- fields: (\w+) -->\n)[^]*?(<!-- end of fields -->)/g,
    (_all, begin: string, group: string, end: string) => `${begin}${tableOf(group, elementName)}${end}`,
  );
}

function tableOf(group: string, elementName: (id: number) => string): string {
  if (group === "patterns") return patternTable();
  if (group === "ecs") return ecsTable();
  const fields = Object.entries(fieldGroups).find(([name]) => name === group)?.[1];
  if (fields === undefined) throw new TypeError(`no group of fields: ${group}`);
  const rows = fields.map((field) => {
    const { name, unit, description } = field;
    const source = sourceText(field.source, elementName);
    return `| \`${name}\` | ${typeText(field)} | ${unit} | ${exampleText(field)} | ${description} | ${source} |\n`;
  });
  return `| name | type | unit | example | what | from |\n|---|---|---|---|---|---|\n${rows.join("")}`;
}

function patternTable(): string {
  const rows = fieldPatterns.map(
    ({ pattern, type, example, description, source }) =>
      `| \`${pattern}\` | ${type === "inner" ? "of the field" : type} | \`${example}\` | ${description} | ${source} |\n`,
  );
  return `| name | type | example | what | from |\n|---|---|---|---|---|\n${rows.join("")}`;
}

function ecsTable(): string {
  const rows = [...ecsNames].map(([name, ecs]) => `| \`${name}\` | \`${ecs}\` |\n`);
  return `| name | in ECS |\n|---|---|\n${rows.join("")}`;
}

function typeText({ type, isArray }: RecordField): string {
  return isArray ? `${type}[]` : type;
}

function exampleText({ example }: RecordField): string {
  return `\`${JSON.stringify(example)}\``;
}

/** `IE 8, 27` with the elements' names. */
function sourceText(source: string, elementName: (id: number) => string): string {
  return source.replaceAll(/\bIE (\d+(?:, \d+)*)/g, (_all, ids: string) =>
    ids
      .split(", ")
      .map((id) => `${elementName(Number(id))} (${id})`)
      .join(", "),
  );
}
