import type { AuthenticationProtocol, PrivacyProtocol } from "../../snmp/index.ts";
import { Secret } from "../../base/text/index.ts";
import { bool, int, oneOf, orEmpty, plainText, row, secret, wordOrNumber } from "../../base/settings/index.ts";

/** All of snmp's; its room is too large to be loaded for their names. */
const authenticationProtocols = keysOf<AuthenticationProtocol>({
  noauth: 1,
  md5: 1,
  sha: 1,
  sha224: 1,
  sha256: 1,
  sha384: 1,
  sha512: 1,
});
const privacyProtocols = keysOf<PrivacyProtocol>({
  nopriv: 1,
  des: 1,
  aes: 1,
  aes192: 1,
  aes256: 1,
  aes192c: 1,
  aes256c: 1,
});

function keysOf<Key extends string>(keys: Readonly<Record<Key, 1>>): readonly Key[] {
  return Object.keys(keys) as Key[];
}

const group = "Enrichment";

/** How exporters are asked by SNMP for the names of their interfaces. */
export const netifSnmpSettings = {
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_ENABLE: row(
    group,
    bool,
    false,
    "Asks each exporter of flows by SNMP for the names of its interfaces. Devices that are polled are not asked. Flows from a forged address make the collector send SNMP to that address.",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_PORT: row(group, int(1, 65_535), 161, "The UDP port of SNMP on exporters."),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_VERSION: row(
    group,
    wordOrNumber({ v1: "1", v2c: "2", v3: "3" }),
    "v2c",
    "The version of SNMP for exporters.",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_COMMUNITIES: row(
    group,
    secret,
    new Secret("public"),
    "The communities for exporters, separated by commas, tried in order. The default is `public`.",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_TIMEOUT: row(
    group,
    int(1, 60, "seconds"),
    2,
    "How long to wait for an exporter's answer to each try.",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_RETRIES: row(group, int(0, 10, "tries"), 1, "Tries after the first."),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_USERNAME: row(
    group,
    orEmpty(plainText),
    "",
    "The user for exporters with SNMPv3.",
    "netgloss",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_AUTHENTICATION_PROTOCOL: row(
    group,
    oneOf(authenticationProtocols),
    "noauth",
    "The authentication protocol of that user.",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_AUTHENTICATION_PASSPHRASE: row(
    group,
    secret,
    new Secret(""),
    "The authentication passphrase of that user, 8 bytes at least.",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_PRIVACY_PROTOCOL: row(
    group,
    oneOf(privacyProtocols),
    "nopriv",
    "The privacy protocol of that user.",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_PRIVACY_PASSPHRASE: row(
    group,
    secret,
    new Secret(""),
    "The privacy passphrase of that user, 8 bytes at least.",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_TTL: row(
    group,
    int(60, 31_536_000, "seconds"),
    7200,
    "How long the names of an exporter's interfaces are used before it is asked again.",
  ),
} as const;
