import { fieldRows, type RecordField } from "./record-field.ts";

/** What metadata adds for an address, below its object. */
const ofAddress = (object: string): string => `
${object}.ip.subnet.name | keyword | | office | name by metadata: of the most specific entry around the address that has one | metadata
${object}.ip.subnet.tags | keyword[] | | ["dmz"] | tags by metadata, of all entries around the address | metadata
${object}.isInternal | boolean | | true | true where an entry of metadata says so | metadata
`;

const ofExporter = (object: string): string => `
${object}.vlan.tag.id | unsigned_long | | 100 | VLAN by metadata | metadata
`;

const ofResolved = (object: string): string => `
${object}.host.name | keyword | | mail.example.com | host name by reverse DNS | DNS
`;

const ofEndpoint = (object: string): string => `
${object}.as.org | keyword | | Example Net | organisation of the autonomous system; if so set, PRIVATE of private addresses | MaxMind
${object}.as.label | keyword | | Example Net (64496) | organisation and number of the autonomous system; without an organisation \`AS64496\` | MaxMind; derived
${object}.geo.country.code | keyword | | NL | country | MaxMind
${object}.geo.country.name | keyword | | Netherlands | country | MaxMind
${object}.geo.city.name | keyword | | Amsterdam | city | MaxMind
${object}.geo.continent.code | keyword | | EU | continent | MaxMind
${object}.geo.continent.name | keyword | | Europe | continent | MaxMind
${object}.geo.loc.coord | geo_point | | 52.374,4.8897 | place | MaxMind
${object}.geo.tz.name | keyword | | Europe/Amsterdam | time zone | MaxMind
${object}.l4.port.name | keyword | | https | service, by transport protocol and port | port names
${object}.locality | keyword | | private | internal, private, public or multicast | locality
`;

const ofInterface = (object: string): string => `
${object}.alias | keyword | | uplink | alias of the interface | interface file
${object}.type.name | keyword | | ethernetCsmacd | type of the interface | interface file
${object}.speed | long | bits/s | 10000000000 | speed of the interface | interface file
${object}.tags | keyword[] | | ["transit"] | tags of the interface | interface file
`;

/** What enrichment adds. */
export const enrichedFields: readonly RecordField[] = [
  ...["flow.src", "flow.dst", "flow.export", "system"].flatMap((object) => fieldRows(ofAddress(object))),
  ...["flow.export", "system"].flatMap((object) => fieldRows(ofExporter(object))),
  ...["flow.src", "flow.dst", "flow.export"].flatMap((object) => fieldRows(ofResolved(object))),
  ...["flow.src", "flow.dst"].flatMap((object) => fieldRows(ofEndpoint(object))),
  ...["flow.in.netif", "flow.out.netif"].flatMap((object) => fieldRows(ofInterface(object))),
  ...fieldRows(`
flow.locality | keyword | | public | public when one of the ends is, else private when one is that, else internal | locality
app.category.name | keyword | | meetings | category of the application | application files
app.subcategory.name | keyword | | video | category within the category | application files
ip.dscp.name | keyword | | EF | name of the code point | DSCP names
flow.in.ip.dscp.name | keyword | | EF | the same: code points are those with which packets came in | DSCP names
`),
];
