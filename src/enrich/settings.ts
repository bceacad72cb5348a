import { bool, int, list, nameServer, oneOf, path, row, type SettingType } from "../base/settings/index.ts";

/** The facts that a database may have about a place. */
export const geoValues = [
  "city",
  "continent",
  "continent_code",
  "country",
  "country_code",
  "location",
  "timezone",
] as const;
export type GeoValue = (typeof geoValues)[number];

/** A code of a language in which MaxMind has names. */
const languageCode: SettingType<string> = {
  expected: "a language code such as en or pt-BR",
  parse: (value) => (/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})?$/.test(value) ? value : undefined),
  format: (value) => value,
};

/** The settings for what addresses, applications and interfaces add to records. */
export const enrichSettings = {
  SVC_PROCESSOR_EXPAND_CLISRV: row(
    bool,
    true,
    "Says what is known of source and destination again of client and server (`flow.client.*`, `flow.server.*`), where a rule says which is which.",
  ),
  SVC_PROCESSOR_EXPAND_CLISRV_NO_L4_PORTS: row(
    bool,
    true,
    "Finds client and server of ICMP requests and replies, too.",
  ),
  SVC_PROCESSOR_ENRICH_CONVERSATIONID_ENABLE: row(
    bool,
    true,
    "Adds `flow.conversation.id` and `flow.session.id` to flows.",
  ),
  SVC_PROCESSOR_ENRICH_CONVERSATIONID_SEED: row(
    int(0, 65_535),
    0,
    "Makes the identifiers of conversations and sessions differ from those of another seed.",
  ),
  SVC_PROCESSOR_ENRICH_JOIN_ASN: row(bool, true, "Joins the autonomous systems of both ends (`as.label`)."),
  SVC_PROCESSOR_ENRICH_JOIN_GEOIP: row(
    bool,
    true,
    "Joins cities and countries of both ends (`geo.city.name`, `geo.country.name`).",
  ),
  SVC_PROCESSOR_ENRICH_JOIN_SUBNETATTR: row(bool, true, "Joins the tags of both ends (`ip.subnet.tags`)."),
  SVC_PROCESSOR_ENRICH_JOIN_SEC: row(bool, true, "Joins the threats of both ends (`sec.threat.name`)."),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_ENABLE: row(
    bool,
    false,
    "Adds the autonomous system of public addresses where the exporter does not report it, and its organisation.",
    { needs: [{ must: { SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_PATH: "set" } }] },
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_PATH: row(
    path,
    "",
    "The MaxMind database of autonomous systems. It is read again when it changes.",
    "/var/lib/GeoIP/GeoLite2-ASN.mmdb",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_ENABLE: row(
    bool,
    false,
    "Adds the location of public addresses: country, city, coordinates, time zone.",
    { needs: [{ must: { SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_PATH: "set" } }] },
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_PATH: row(
    path,
    "",
    "The MaxMind database of locations. It is read again when it changes.",
    "/var/lib/GeoIP/GeoLite2-City.mmdb",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_VALUES: row(
    list(oneOf(geoValues)),
    ["city", "country", "country_code", "location", "timezone"],
    "Which parts of a location are added.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_LANG: row(
    languageCode,
    "en",
    "The language of names of locations. Names that the database lacks in it are English.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_INCLEXCL_PATH: row(
    path,
    "",
    "A YAML file of the addresses whose location is looked up, see docs/enrichment.md. Empty is all public addresses.",
    "/etc/netgloss/maxmind/incl_excl.yml",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_INCLEXCL_REFRESH_RATE: row(
    int(0, 35_791, "minutes"),
    15,
    "How often that file is checked, and read again when it changed. 0 is on SIGHUP only.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_ENABLE: row(
    bool,
    false,
    "Adds the host names of addresses by reverse DNS. Records do not wait: the first ones of an address have no name.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_NAMESERVER_IP: row(
    list(nameServer),
    [],
    "The name servers to query. Empty is those of the host.",
    "192.0.2.53,192.0.2.54:5353",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_NAMESERVER_TIMEOUT: row(
    int(10, 60_000, "milliseconds"),
    3000,
    "How long to wait for an answer. Each server is queried twice.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_RESOLVE_PRIVATE: row(
    bool,
    true,
    "Resolves private addresses (RFC 1918, 4193, 6598).",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_RESOLVE_PUBLIC: row(bool, true, "Resolves public addresses."),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_INCLEXCL_PATH: row(
    path,
    "",
    "A YAML file of the addresses that name servers are asked about, see docs/enrichment.md. Empty is all.",
    "/etc/netgloss/hostname/incl_excl.yml",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_INCLEXCL_REFRESH_RATE: row(
    int(0, 35_791, "minutes"),
    15,
    "How often that file is checked, and read again when it changed. 0 is on SIGHUP only.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_USERDEF_PATH: row(
    path,
    "",
    "A YAML file of your own host names by address, see docs/enrichment.md. They count before name servers, and without them too.",
    "/etc/netgloss/hostname/user_defined.yml",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_USERDEF_REFRESH_RATE: row(
    int(0, 35_791, "minutes"),
    15,
    "How often that file is checked, and read again when it changed. 0 is on SIGHUP only.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_CONCURRENCY: row(int(1, 4096, "queries"), 64, "The most queries at the same time."),
  SVC_PROCESSOR_ENRICH_LOCALITY_ENABLE: row(
    bool,
    false,
    "Adds the locality of the ends of a flow and of the flow: internal (by metadata), private or public.",
  ),
  SVC_PROCESSOR_ENRICH_LOCALITY_INTERNAL: row(
    oneOf(["internal", "private"]),
    "internal",
    "What the locality is called of addresses that metadata call internal. NetObserv's dashboards know private and public.",
  ),
  SVC_PROCESSOR_ENRICH_ASN_PRIVATE_ENABLE: row(
    bool,
    false,
    "Says `PRIVATE` in place of an organisation (`as.org`, `as.label`) at private addresses, as NetObserv's dashboards expect.",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_METADATA_ENABLE: row(
    bool,
    false,
    "Adds attributes of interfaces from a file. They replace those of SNMP and of the exporter.",
    { needs: [{ must: { SVC_PROCESSOR_ENRICH_NETIF_METADATA_USERDEF_PATH: "set" } }] },
  ),
  SVC_PROCESSOR_ENRICH_NETIF_METADATA_USERDEF_PATH: row(
    path,
    "",
    "The YAML file of interfaces, see docs/enrichment.md.",
    "/etc/netgloss/netifs.yml",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_METADATA_REFRESH_RATE: row(
    int(0, 35_791, "minutes"),
    15,
    "How often the files of interfaces and port names are checked, and read again when they changed. 0 is on SIGHUP only.",
  ),
  SVC_PROCESSOR_ENRICH_APP_ID_ENABLE: row(
    bool,
    false,
    "Names applications by the ids that exporters send (app.id), from a file. It counts before names in options data.",
    { needs: [{ must: { SVC_PROCESSOR_ENRICH_APP_ID_PATH: "set" } }] },
  ),
  SVC_PROCESSOR_ENRICH_APP_ID_PATH: row(
    path,
    "",
    "The YAML file of application ids, see docs/enrichment.md.",
    "/etc/netgloss/appid.yml",
  ),
  SVC_PROCESSOR_ENRICH_APP_IPPORT_ENABLE: row(
    bool,
    false,
    "Names applications by the address and port of an end of the flow, from a file, where the exporter names none.",
    { needs: [{ must: { SVC_PROCESSOR_ENRICH_APP_IPPORT_PATH: "set" } }] },
  ),
  SVC_PROCESSOR_ENRICH_APP_IPPORT_PATH: row(
    path,
    "",
    "The YAML file of applications by address and port, see docs/enrichment.md.",
    "/etc/netgloss/ipport.yml",
  ),
  SVC_PROCESSOR_ENRICH_APP_IPPORT_PRIVATE: row(bool, true, "Looks for applications at private addresses."),
  SVC_PROCESSOR_ENRICH_APP_IPPORT_PUBLIC: row(bool, false, "Looks for applications at addresses that are not private."),
  SVC_PROCESSOR_ENRICH_APP_REFRESH_RATE: row(
    int(0, 35_791, "minutes"),
    15,
    "How often the files of applications are checked, and read again when they changed. 0 is on SIGHUP only.",
  ),
};

/** The settings for rules about records. */
export const ruleSettings = {
  SVC_PROCESSOR_ENRICH_RULES_PATH: row(
    path,
    "",
    "A YAML file of rules that give flow records fields by what their interfaces, exporters and other fields say, see docs/rules.md. Empty is none.",
    "/etc/netgloss/rules.yml",
  ),
  SVC_PROCESSOR_ENRICH_RULES_REFRESH_RATE: row(
    int(0, 35_791, "minutes"),
    15,
    "How often that file is checked, and read again when it changed. 0 is on SIGHUP only.",
  ),
};

/** The settings for names of the numbers in records. */
export const nameSettings = {
  SVC_PROCESSOR_ENRICH_PORT_NAME_ENABLE: row(
    bool,
    false,
    "Adds the names of ports, such as https, by transport protocol.",
  ),
  SVC_PROCESSOR_ENRICH_PORT_NAME_USERDEF_PATH: row(
    path,
    "",
    "A YAML file of your own port names: `{tcp: {8443: portal}}`. They replace the built-in ones.",
    "/etc/netgloss/ports.yml",
  ),
  SVC_PROCESSOR_ENRICH_DSCP_NAME_ENABLE: row(
    bool,
    false,
    "Adds the name of the DiffServ code point, such as EF or AF41.",
  ),
};
