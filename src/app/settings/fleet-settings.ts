import { Secret } from "../../base/text/index.ts";
import { bool, int, oneOf, orEmpty, printable, row, secret } from "../../base/settings/index.ts";

const group = "Fleet";

/** Several collectors that share work through a database. */
export const fleetSettings = {
  SVC_FLEET_NAME: row(
    group,
    orEmpty(printable(64)),
    "",
    "Collectors of one name share work through a PostgreSQL database; see docs/fleet.md. Empty: this collector works alone.",
    "fra",
  ),
  SVC_FLEET_MEMBER: row(
    group,
    orEmpty(printable(128)),
    "",
    "The name of this collector in its fleet: another one for each, the same after a restart. Empty is SVC_INSTANCE_NAME, else the name of the host and SVC_API_PORT.",
    "fra1",
  ),
  SVC_FLEET_POSTGRESQL_URL: row(
    group,
    secret,
    new Secret(""),
    "The database of the fleet. Empty is SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL. TLS files and time limit are those of the metadata's database.",
  ),
  SVC_FLEET_LEASE_SECONDS: row(
    group,
    int(3, 300, "seconds"),
    15,
    "How long a collector counts as living after it was heard of. It is heard of three times in that time. After it, others take over what it did.",
  ),
  SVC_FLEET_EXPORTERS_ENABLE: row(
    group,
    bool,
    true,
    "The collectors of the fleet share templates, sampling rates and names of flow exporters, so that an exporter may come to any of them.",
  ),
  SVC_FLEET_SNMP_ENABLE: row(
    group,
    bool,
    true,
    "Shares the SNMP devices: each is polled by one collector of the fleet.",
  ),
  SVC_FLEET_SNMP_WITHOUT_DATABASE: row(
    group,
    oneOf(["stop", "keep"]),
    "stop",
    "What happens to the devices of a collector that cannot renew its lease: it stops polling them, so that none is polled twice, or keeps them, so that none is left out.",
  ),
} as const;
