import { Secret } from "../../base/text/index.ts";
import { int, oneOf, path, row, secret } from "../../base/settings/index.ts";

const group = "Metadata";

/** Where entries are kept that several collectors share. */
export const metadataDatabaseSettings = {
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE: row(
    group,
    oneOf(["file", "postgresql"]),
    "file",
    "Where the metadata is kept: in the file, or in a PostgreSQL database that several collectors share; see docs/fleet.md#metadata-in-postgresql.",
    { needs: [{ is: "postgresql", must: { SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL: "set" } }] },
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL: row(
    group,
    secret,
    new Secret(""),
    "The database: postgresql://user:password@host:5432/database, with several hosts for a fail-over, and sslmode if need be.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TLS_CA_CERT_FILEPATH: row(
    group,
    path,
    "",
    "CA certificates in PEM that prove the database. They replace those of the system.",
    "/etc/netgloss/tls/ca.pem",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TLS_CERT_FILEPATH: row(
    group,
    path,
    "",
    "The client's certificate for the database in PEM.",
    "/etc/netgloss/tls/client.pem",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TLS_KEY_FILEPATH: row(
    group,
    path,
    "",
    "The client's private key for the database in PEM.",
    "/etc/netgloss/tls/client-key.pem",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TIMEOUT: row(
    group,
    int(1, 300, "seconds"),
    5,
    "The longest that the database may take to connect, or to answer. After that it counts as away.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_EXPORT_PATH: row(
    group,
    path,
    "",
    "A metadata file that is written after each change, for other programs. Nothing reads it here.",
    "/var/lib/netgloss/ipaddrs.yml",
  ),
};
