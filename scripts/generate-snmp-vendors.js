// Writes the table of vendors in docs/reference/snmp-vendors.md from the definitions. With --check it only says whether the table is right.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

process.chdir(join(import.meta.dirname, ".."));
const root = "definitions";

/** All files of a folder as one mapping. */
function read(folder) {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".yml"),
  );
  return Object.assign({}, ...files.map((name) => parse(readFileSync(join(root, folder, name), "utf8"))));
}

const [deviceGroups, objectGroups, objects] = [read("device_groups"), read("object_groups"), read("objects")];

/** What a column of the table stands for: whether an object has something of it. */
const columns = {
  processors: (fields) => fields.some(([name]) => /^system\.cpu\.(?:util|idle)/.test(name)),
  memory: (fields) => fields.some(([name]) => /^system\.memory\.(?:used|free)/.test(name)),
  sensors: (fields) => fields.some(([name]) => /^hw\.sensor\.(?:value|state)|\.temperature$|^cmc\./.test(name)),
  "states, health": (fields) =>
    fields.some(([name]) => /^(?!bgp|firewall|vpn|load).*[._](?:state|status|health|condition)(?:\.name)?$/.test(name)),
  "disks, arrays, storage": (fields) => fields.some(([name]) => /^(?:disk|raid|storage)\./.test(name)),
  transceivers: (fields) => fields.some(([name]) => /^transceiver\.(?:rx|tx|serial)/.test(name)),
  "BGP peers": (fields) => fields.some(([name]) => name.startsWith("bgp.peer.state")),
  wireless: (fields) => fields.some(([name]) => name.startsWith("wireless.")),
  "sessions, tunnels, pools": (fields) => fields.some(([name]) => /^(?:firewall|vpn|loadbalancer|nat)\./.test(name)),
  "licences, high availability": (fields) => fields.some(([name]) => /^(?:license|ha)\./.test(name)),
  "QoS, VRF, pseudowires": (fields) => fields.some(([name]) => /^(?:qos|vrf|pseudowire)\./.test(name)),
  power: (fields) => fields.some(([name]) => /^(?:ups|pdu|ats)\./.test(name)),
};

const isStandard = (group) => /^(?:ietf|ieee|netsnmp)_/.test(group);
const vendors = Object.entries(deviceGroups)
  .map(([vendor, { object_groups: groups }]) => [vendor, groups.filter((group) => !isStandard(group))])
  .filter(([, groups]) => groups.length > 0)
  .toSorted(([a], [b]) => (a < b ? -1 : 1));

function rowOf([vendor, groups]) {
  const ids = groups.flatMap((group) => objectGroups[group].objects);
  const cells = Object.values(columns).map((isOf) => {
    const modules = ids
      .filter((id) => isOf(Object.values(objects[id].attributes).map(({ name, syntax }) => [name, syntax])))
      .map((id) => id.split("::")[0]);
    return [...new Set(modules)].toSorted((a, b) => (a < b ? -1 : 1)).join(", ");
  });
  return `| \`${vendor}\` | ${cells.join(" | ")} |`;
}

const table = [
  `| group | ${Object.keys(columns).join(" | ")} |`,
  `|${"---|".repeat(Object.keys(columns).length + 1)}`,
  ...vendors.map(rowOf),
].join("\n");
const page = "docs/reference/snmp-vendors.md";
const text = readFileSync(page, "utf8");
const [start, end] = ["<!-- table -->\n\n", "\n\n<!-- end of the table -->"];
const made = text.slice(0, text.indexOf(start) + start.length) + table + text.slice(text.indexOf(end));
if (!process.argv.includes("--check")) writeFileSync(page, made);
else if (made !== text) {
  console.error(`${page} does not match the definitions: run \`npm run generate\` and commit the result`);
  process.exit(1);
}
