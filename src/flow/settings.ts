import {
  addressOrCidr,
  addressOrPrefix,
  bool,
  GiB,
  int,
  list,
  listenAddress,
  MiB,
  orEmpty,
  orWord,
  partsOf,
  path,
  row,
  type SettingType,
  type ValuesOf,
  size,
} from "../base/settings/index.ts";

/** Sampling rates by address or CIDR in canonical text: `192.0.2.1=1000,2001:db8::/32=512`. */
const samplingRates: SettingType<ReadonlyMap<string, number>> = {
  expected:
    "a list separated by commas, nothing twice, each <IP address>=<rate> or <CIDR>=<rate>, the rate an integer from 1 to 4294967295",
  parse(value) {
    const rate = int(1, 0xffff_ffff);
    const pairs = partsOf(value).map((pair) => pair.split("="));
    const rates = new Map<string, number>();
    for (const [exporter = "", rateText = "", ...rest] of pairs) {
      const key = addressOrCidr(exporter);
      const each = rate.parse(rateText);
      if (key === undefined || each === undefined || rest.length > 0) return undefined;
      rates.set(key, each);
    }
    return rates.size === pairs.length ? rates : undefined;
  },
  format: (rates) => [...rates].map(([exporter, rate]) => `${exporter}=${rate}`).join(","),
};

/** Receiving and decoding flows. */
export const flowSettings = {
  SVC_FLOW_SERVER_UDP_ENABLE: row(bool, false, "Receives flow records by UDP."),
  SVC_FLOW_SERVER_UDP_IP: row(
    orEmpty(listenAddress),
    "",
    "The address on which flows are received. Empty is all addresses: `::` for IPv4 and IPv6, `0.0.0.0` on a host without IPv6.",
    "192.0.2.10",
  ),
  SVC_FLOW_SERVER_UDP_PORT: row(
    list(int(0, 65_535)),
    [2055, 4739, 6343, 9995],
    "The ports on which flows are received. Each takes every protocol. 0 lets the system choose.",
  ),
  SVC_FLOW_SERVER_UDP_READ_BUFFER_MAX_SIZE: row(
    size(4096, GiB),
    32 * MiB,
    "The receive buffer that is requested for each port. When the kernel grants less, the log says how to raise its limit.",
  ),
  SVC_FLOW_SERVER_TCP_ENABLE: row(bool, false, "Receives IPFIX by TCP."),
  SVC_FLOW_SERVER_TCP_IP: row(
    orEmpty(listenAddress),
    "",
    "The address on which IPFIX is received by TCP. Empty is all addresses.",
    "192.0.2.10",
  ),
  SVC_FLOW_SERVER_TCP_PORT: row(
    int(0, 65_535),
    4739,
    "The port on which IPFIX is received by TCP. 0 lets the system choose.",
  ),
  SVC_FLOW_SERVER_TCP_MAX_CONNECTIONS: row(
    int(1, 60_000, "connections"),
    1000,
    "The most connections of exporters, of TCP and TLS together. Further ones are refused and counted.",
  ),
  SVC_FLOW_SERVER_TCP_MAX_CONNECTIONS_PER_HOST: row(
    int(1, 60_000, "connections"),
    100,
    "The most connections of one host, of TCP and TLS together. Further ones are refused and counted.",
  ),
  SVC_FLOW_SERVER_TCP_IDLE_TIMEOUT: row(
    int(1, 1_000_000, "seconds"),
    3600,
    "A connection of TCP or TLS on which nothing comes for this time is closed.",
  ),
  SVC_FLOW_SERVER_TLS_ENABLE: row(bool, false, "Receives IPFIX by TLS, on a port of its own.", {
    needs: [{ must: { SVC_FLOW_SERVER_TLS_CERT_FILEPATH: "set", SVC_FLOW_SERVER_TLS_KEY_FILEPATH: "set" } }],
  }),
  SVC_FLOW_SERVER_TLS_IP: row(
    orEmpty(listenAddress),
    "",
    "The address on which IPFIX is received by TLS. Empty is all addresses.",
    "192.0.2.10",
  ),
  SVC_FLOW_SERVER_TLS_PORT: row(
    int(0, 65_535),
    4740,
    "The port on which IPFIX is received by TLS. 0 lets the system choose.",
    {
      fault(port, valueOf) {
        if (port === 0 || port !== valueOf("SVC_FLOW_SERVER_TCP_PORT")) return undefined;
        const areBothOn =
          valueOf("SVC_FLOW_SERVER_TCP_ENABLE") === true && valueOf("SVC_FLOW_SERVER_TLS_ENABLE") === true;
        const areOneAddress = valueOf("SVC_FLOW_SERVER_TCP_IP") === valueOf("SVC_FLOW_SERVER_TLS_IP");
        return areBothOn && areOneAddress ? "must not be SVC_FLOW_SERVER_TCP_PORT" : undefined;
      },
    },
  ),
  SVC_FLOW_SERVER_TLS_CERT_FILEPATH: row(
    path,
    "",
    "The certificate chain for flows in PEM. SIGHUP reads it, the key and the authorities again.",
    "/etc/netgloss/tls/cert.pem",
  ),
  SVC_FLOW_SERVER_TLS_KEY_FILEPATH: row(path, "", "The private key in PEM.", "/etc/netgloss/tls/key.pem"),
  SVC_FLOW_SERVER_TLS_CA_CERT_FILEPATH: row(
    path,
    "",
    "Authorities in PEM: exporters need a certificate of one of them. Empty: exporters need none.",
    "/etc/netgloss/tls/exporters.pem",
  ),
  SVC_PROCESSOR_POOL_SIZE: row(
    orWord("auto", orWord("main", int(0, 64, "threads"))),
    "auto",
    "Threads that decode flows. Each exporter belongs to one of them. `auto` and 0 are one for each core of the host, 8 at most. With `main` the main thread decodes.",
  ),
  SVC_PROCESSOR_DECODE_IPFIX_ENABLE: row(
    bool,
    true,
    "Decodes IPFIX. With false its datagrams are counted and dropped.",
  ),
  SVC_PROCESSOR_DECODE_NETFLOW1_ENABLE: row(
    bool,
    true,
    "Decodes NetFlow v1. With false its datagrams are counted and dropped.",
  ),
  SVC_PROCESSOR_DECODE_NETFLOW5_ENABLE: row(
    bool,
    true,
    "Decodes NetFlow v5. With false its datagrams are counted and dropped.",
  ),
  SVC_PROCESSOR_DECODE_NETFLOW7_ENABLE: row(
    bool,
    true,
    "Decodes NetFlow v7. With false its datagrams are counted and dropped.",
  ),
  SVC_PROCESSOR_DECODE_NETFLOW9_ENABLE: row(
    bool,
    true,
    "Decodes NetFlow v9. With false its datagrams are counted and dropped.",
  ),
  SVC_PROCESSOR_DECODE_SFLOW5_ENABLE: row(
    bool,
    true,
    "Decodes sFlow v5. With false its datagrams are counted and dropped.",
  ),
  SVC_PROCESSOR_DECODE_SFLOW_FLOWS_ENABLE: row(bool, true, "Makes records of the packet samples of sFlow."),
  SVC_PROCESSOR_DECODE_SFLOW_FLOWS_KEEP_SAMPLES: row(
    bool,
    false,
    "Keeps the bytes of each sampled header, in hex (flow.ie.dataLinkFrameSection). Records become longer, and decoding of sFlow takes more time.",
  ),
  SVC_PROCESSOR_DECODE_SFLOW_COUNTERS_ENABLE: row(bool, true, "Makes records of the counters of sFlow."),
  SVC_FLOW_DECODER_OPTIONS_RECORDS_ENABLE: row(
    bool,
    false,
    "Writes what exporters report in options data (interface names, sampling) as records, too.",
  ),
  SVC_FLOW_DECODER_ELEMENTS_PATH: row(
    list(path),
    [],
    "YAML files of further information elements, see docs/reference/records.md.",
    "/etc/netgloss/elements.yml",
  ),
  SVC_FLOW_DECODER_BIFLOW_SPLIT_ENABLE: row(
    bool,
    false,
    "Splits a record with both directions of a flow into two records.",
  ),
  SVC_FLOW_DECODER_RELAYS: row(
    list(addressOrPrefix),
    [],
    "Addresses and CIDRs of relays: their NetFlow v9 and IPFIX records may name the exporter (exporterIPv4Address, exporterIPv6Address), their sFlow datagrams the agent. Anybody else's are taken as the sender's own.",
    "192.0.2.9,198.51.100.0/28",
  ),
  SVC_FLOW_DECODER_TEMPLATE_TTL: row(
    int(0, 525_600, "minutes"),
    0,
    "Forgets templates that were not sent again within this time. Use at least three times the interval in which exporters resend them. 0 is never.",
  ),
  SVC_FLOW_DECODER_MEMORY_MAX_SIZE: row(
    size(MiB, 64 * GiB),
    256 * MiB,
    "Memory for templates, options, and data sets that wait for their template, of all exporters. When it is full, the exporters that use most lose their oldest state. An exporter that was silent for an hour keeps at most 1/256 of it.",
  ),
  SVC_STATE_DIRECTORY_PATH: row(
    path,
    "",
    "The directory for state that is kept over a restart: templates, sampling rates and names of exporters, the spool and dead letters of outputs. A metadata file that is mounted on its own is saved through it. Each collector needs its own. Empty keeps no state.",
    "/var/lib/netgloss",
  ),
  SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF: row(
    samplingRates,
    new Map(),
    "Sampling rates by exporter address or CIDR, for exporters that report none or a wrong one. They replace reported rates. The most specific one counts.",
    "192.0.2.1=1000,2001:db8::/32=512",
  ),
  SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_ENABLE: row(
    bool,
    false,
    "Reads sampling rates from a file, for exporters that report none.",
    { needs: [{ must: { SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_PATH: "set" } }] },
  ),
  SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_OVERRIDE: row(
    bool,
    false,
    "The file's rates replace those that exporters report.",
  ),
  SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_PATH: row(
    path,
    "",
    "The YAML file of sampling rates, see docs/enrichment.md.",
    "/etc/netgloss/sample_rate.yml",
  ),
};

export type FlowSettings = ValuesOf<typeof flowSettings>;

/** Returns whether flow records are received, by whatever transport. */
export function receivesFlows(settings: FlowSettings): boolean {
  return (
    settings.SVC_FLOW_SERVER_UDP_ENABLE || settings.SVC_FLOW_SERVER_TCP_ENABLE || settings.SVC_FLOW_SERVER_TLS_ENABLE
  );
}
