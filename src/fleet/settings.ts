import { bool, int, isSet, oneOf, orEmpty, printable, row, secret } from "../base/settings/index.ts";
import { Secret } from "../base/text/index.ts";

/** Warns about fleet settings without a fleet. It is no error: `fleet migrate` creates the tables of all fleets and needs no name. */
function warning(value: unknown, valueOf: (name: string) => unknown): string | undefined {
  if (!isSet(value) || isSet(valueOf("SVC_FLEET_NAME"))) return undefined;
  return "has no use without SVC_FLEET_NAME: this collector works alone";
}

const otherDatabase = "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL";

/** The settings of several collectors that share work through a database. */
export const fleetSettings = {
  SVC_FLEET_NAME: row(
    orEmpty(printable(64)),
    "",
    "Collectors of one name share work through a PostgreSQL database; see docs/fleet.md. Empty: this collector works alone.",
    "fra",
  ),
  SVC_FLEET_MEMBER: row(
    orEmpty(printable(128)),
    "",
    "The name of this collector in its fleet: another one for each, the same after a restart. Empty is SVC_INSTANCE_NAME, else the name of the host and SVC_API_PORT.",
    { example: "fra1", warning },
  ),
  SVC_FLEET_POSTGRESQL_URL: row(
    secret,
    new Secret(""),
    "The database of the fleet. Empty is SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL. TLS files and time limit are those of the metadata's database.",
    {
      warning,
      fault: (url, valueOf) =>
        !url.isSet && isSet(valueOf("SVC_FLEET_NAME")) && !isSet(valueOf(otherDatabase))
          ? `or ${otherDatabase} must be set, because SVC_FLEET_NAME is`
          : undefined,
    },
  ),
  SVC_FLEET_LEASE_SECONDS: row(
    int(3, 300, "seconds"),
    15,
    "How long a collector counts as living after it was heard of. It is heard of three times in that time. After it, others take over what it did.",
  ),
  SVC_FLEET_EXPORTERS_ENABLE: row(
    bool,
    true,
    "The collectors of the fleet share templates, sampling rates and names of flow exporters, so that an exporter may come to any of them.",
  ),
  SVC_FLEET_SNMP_ENABLE: row(bool, true, "Shares the SNMP devices: each is polled by one collector of the fleet."),
  SVC_FLEET_WATCH_ENABLE: row(
    bool,
    true,
    "The collectors of the fleet share alerts: one of them sends the notices of an alert and answers it, and silences hold on all.",
  ),
  SVC_FLEET_VIEWS_ENABLE: row(
    bool,
    true,
    "The collectors of the fleet share views, boards, reports and marks, in the database; each report is sent by one of them.",
  ),
  SVC_FLEET_SNMP_WITHOUT_DATABASE: row(
    oneOf(["stop", "keep"]),
    "stop",
    "What happens to the devices of a collector that cannot renew its lease: it stops polling them, so that none is polled twice, or keeps them, so that none is left out.",
  ),
};
