import { bool, filterText, int, list, oneOf, path, plainText, row } from "../base/settings/index.ts";

/** Settings that affect records of all kinds on their way to the outputs. */
export const recordSettings = {
  SVC_PROCESSOR_FILTER_KEEP: row(
    filterText,
    "",
    "Only records that match this filter are kept, of flows and of SNMP; see docs/filters.md. Empty is all records.",
    "system exists or addr in 10.0.0.0/8",
  ),
  SVC_PROCESSOR_FILTER_DROP: row(
    filterText,
    "",
    "Records that match this filter are dropped, of flows and of SNMP. Empty is none.",
    "proto = udp and port = 161",
  ),
  SVC_PROCESSOR_SCALE_COUNTERS_ENABLE: row(
    bool,
    true,
    "Whether flow.bytes and flow.packets are multiplied by the sampling rate; flow.raw.* then has them as exported. Otherwise they are as exported, and flow.scaled.* has the products.",
  ),
  SVC_PROCESSOR_THIN_EXPORTER_RATE: row(
    int(0, 10_000_000, "records a second"),
    0,
    "The most flow records of each exporter. Of more, one stands for several: its sampling rate, bytes and packets are multiplied. 0 is no limit.",
  ),
  SVC_PROCESSOR_ROLLUP_INTERVAL: row(
    int(1, 3600, "seconds"),
    60,
    "For how long flow records are added up for outputs with ROLLUP_FIELDS. Intervals begin with the epoch. See docs/shaping.md.",
  ),
  SVC_PROCESSOR_ROLLUP_MAX_GROUPS: row(
    int(1, 10_000_000, "groups"),
    100_000,
    "How many sums an output keeps at most. Records of further groups leave as they are, and are counted.",
  ),
  SVC_PROCESSOR_ANONYMIZE_METHOD: row(
    oneOf(["off", "prefix", "cryptopan"]),
    "off",
    "What happens to addresses in flow records, behind enrichment: they stay, are cut to a prefix, or are replaced by Crypto-PAn. See docs/shaping.md.",
  ),
  SVC_PROCESSOR_ANONYMIZE_IPV4_PREFIX: row(
    int(0, 32, "bits"),
    24,
    "How many bits of IPv4 addresses stay with the method prefix.",
  ),
  SVC_PROCESSOR_ANONYMIZE_IPV6_PREFIX: row(
    int(0, 128, "bits"),
    48,
    "How many bits of IPv6 addresses stay with the method prefix.",
  ),
  SVC_PROCESSOR_ANONYMIZE_KEY_PATH: row(
    path,
    "",
    "A file with the key of the method cryptopan: 32 characters, or 64 hexadecimal digits with 0x in front. nfanon takes the same.",
    "/run/secrets/cryptopan",
  ),
  SVC_PROCESSOR_ANONYMIZE_KEEP_PRIVATE: row(
    bool,
    false,
    "Whether private addresses stay: RFC 1918, RFC 6598, RFC 4193, link-local, loopback.",
  ),
  SVC_PROCESSOR_ANONYMIZE_EXPORTER_ENABLE: row(
    bool,
    false,
    "Whether addresses of exporters and agents are anonymised, too.",
  ),
  SVC_PROCESSOR_DROP_FIELDS: row(
    list(plainText),
    [],
    "Fields that all records leave without. Filters see them; outputs have further lists of their own.",
    "flow.export.sequence,flow.export.uptime",
  ),
  SVC_PROCESSOR_TIMESTAMP_PRECISION: row(
    oneOf(["s", "ms", "us", "ns"]),
    "ns",
    "The most decimals of times in records: none, 3, 6 or 9. Times are cut, not rounded; none gets more than it has.",
  ),
  SVC_PROCESSOR_ENRICH_COMMUNITYID_ENABLE: row(
    bool,
    true,
    "Adds flow.community.id, the Community ID of the flow: a hash of addresses, ports and protocol that many tools share.",
  ),
  SVC_PROCESSOR_ENRICH_COMMUNITYID_SEED: row(
    int(0, 65_535),
    0,
    "The seed of Community IDs. Tools must have the same one for the same IDs; most have 0.",
  ),
};
