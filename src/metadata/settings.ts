import { bool, GiB, int, isSet, MiB, oneOf, path, row, secret, size, type ValuesOf } from "../base/settings/index.ts";
import { Secret } from "../base/text/index.ts";

const databaseKey = "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TLS_KEY_FILEPATH";

/** The settings that need a metadata file. */
const needMetadata = ["SVC_PROCESSOR_ENRICH_IPADDR_SOURCES_PATH", "SVC_PROCESSOR_ENRICH_SCOPES_PATH"] as const;

/** The settings of metadata: where entries are stored, and which sources add entries. */
export const metadataSettings = {
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: row(bool, false, "Enriches records with user-defined metadata."),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: row(
    bool,
    false,
    "Lets the API read and change the metadata. The collector then owns the file and rewrites it after each change.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: row(
    path,
    "",
    "The YAML file of the metadata, conventionally named ipaddrs.yml. A missing file is an empty database.",
    {
      example: "/etc/netgloss/ipaddrs.yml",
      fault(file, valueOf) {
        if (file !== "" || valueOf("SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE") !== "file") return undefined;
        const user = needMetadata.find((name) => isSet(valueOf(name)));
        return user && `must be set, because ${user} is set; the file need not exist`;
      },
    },
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_REFRESH_RATE: row(
    int(0, 35_791, "minutes"),
    15,
    "How often the metadata file is checked, and read again when it changed, while the metadata API is off. 0 is never.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_MAX_ENTRIES: row(
    int(1, 8_000_000, "entries"),
    2_000_000,
    "The most metadata entries. 1 KB of address space is reserved for each (4 GB at most); memory is used only by entries that exist.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_HISTORY_SIZE: row(
    size(0, 64 * GiB),
    64 * MiB,
    "The most bytes of the history of metadata changes, kept in SVC_STATE_DIRECTORY_PATH or in the database: the oldest go first. 0 keeps none.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE: row(
    oneOf(["file", "postgresql"]),
    "file",
    "Where the metadata is kept: in the file, or in a PostgreSQL database that several collectors share; see docs/fleet.md#metadata-in-postgresql.",
    { needs: [{ is: "postgresql", must: { SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL: "set" } }] },
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL: row(
    secret,
    new Secret(""),
    "The database: postgresql://user:password@host:5432/database, with several hosts for a fail-over, and sslmode if need be.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TLS_CA_CERT_FILEPATH: row(
    path,
    "",
    "CA certificates in PEM that prove the database. They replace those of the system.",
    "/etc/netgloss/tls/ca.pem",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TLS_CERT_FILEPATH: row(
    path,
    "",
    "The client's certificate for the database in PEM.",
    {
      example: "/etc/netgloss/tls/client.pem",
      fault: (cert, valueOf) =>
        valueOf("SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE") === "postgresql" &&
        isSet(cert) !== isSet(valueOf(databaseKey))
          ? `and ${databaseKey} belong together: set both`
          : undefined,
    },
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TLS_KEY_FILEPATH: row(
    path,
    "",
    "The client's private key for the database in PEM.",
    "/etc/netgloss/tls/client-key.pem",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TIMEOUT: row(
    int(1, 300, "seconds"),
    5,
    "The longest that the database may take to connect, or to answer. After that it counts as away.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_EXPORT_PATH: row(
    path,
    "",
    "A metadata file that is written after each change, for other programs. Nothing reads it here.",
    "/var/lib/netgloss/ipaddrs.yml",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_SOURCES_PATH: row(
    path,
    "",
    "A YAML file that lists sources of metadata: an IPAM, published ranges, DHCP leases; see docs/sources.md. Needs the metadata to be on.",
    { example: "/etc/netgloss/sources.yml", needs: [{ must: { SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: true } }] },
  ),
  SVC_PROCESSOR_ENRICH_SCOPES_PATH: row(
    path,
    "",
    "A YAML file of scopes: networks in which the same addresses mean other hosts, with entries of their own; see docs/scopes.md. Needs the metadata to be on. Empty: scopes are where the metadata is in a database, else there are none.",
    { example: "/etc/netgloss/scopes.yml", needs: [{ must: { SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: true } }] },
  ),
  SVC_PROCESSOR_ENRICH_NAMES_PATH: row(
    path,
    "",
    "A YAML file of names of interfaces, AS numbers, VLANs, ports and MAC addresses; see docs/names.md. While the metadata API is on it may change them, and the collector owns the file. A missing file is an empty one.",
    "/etc/netgloss/names.yml",
  ),
  SVC_PROCESSOR_ENRICH_NAMES_STORE: row(
    oneOf(["file", "postgresql"]),
    "file",
    "Where names are kept: in the file, or in the PostgreSQL database that the metadata may be in, for all collectors that share it.",
    { needs: [{ is: "postgresql", must: { SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL: "set" } }] },
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_TTL: row(
    int(1, 31_536_000, "seconds"),
    7200,
    "How long the metadata and host name of an address stay in the cache.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_CACHE_SIZE: row(
    int(1, 4_194_304, "addresses"),
    262_144,
    "The most addresses in the cache of each thread. When it is full, the oldest are dropped.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_INVALIDATE: row(
    bool,
    true,
    "Applies a change of the metadata from the next datagram on. With false, cached addresses keep their old values until their TTL ends.",
  ),
};

export type MetadataSettings = ValuesOf<typeof metadataSettings>;

/** Returns those of the three settings for the metadata API that are missing, in the order of the contract. A database may replace the file. */
export function missingForMetadataApi(settings: MetadataSettings): (keyof MetadataSettings)[] {
  const isShared = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE === "postgresql";
  const needed = [
    "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE",
    "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE",
    isShared
      ? "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL"
      : "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH",
  ] as const;
  return needed.filter((name) => !isSet(settings[name]));
}
