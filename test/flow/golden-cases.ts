import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import {
  dataSet,
  exportSeconds,
  exportUptime,
  fields,
  hex,
  ipfix,
  ipfixTemplates,
  ipv4,
  netflow1,
  netflow5,
  netflow7,
  netflow9,
  netflow9Templates,
  packetSet,
  uint,
  uints,
  type PacketField,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import type { FlowPipelineOptions } from "../../src/flow/index.ts";
import { sflowGoldenCases } from "./sflow-golden-cases.ts";

export interface SentDatagram {
  readonly bytes: Buffer;
  readonly address?: string;
  readonly port?: number;
}

/** Datagrams that hold an oddity, in the order in which they are sent. */
export type GoldenCase = readonly [
  name: string,
  datagrams: readonly (Buffer | SentDatagram)[],
  options?: Pick<FlowPipelineOptions, "scaleCounters">,
];

const v4Source = ipv4("192.0.2.1");
const v4Destination = ipv4("198.51.100.2");
const v6Source = hex("20010db8000000000000000000000001");
const v6Destination = hex("20010db8ffff00000000000000000002");

/** Source, destination, bytes. */
const simple: PacketTemplate = { id: 256, fields: fields([8, 4], [12, 4], [1, 4]) };
const simpleRecord = (bytes: number): Buffer[] => [v4Source, v4Destination, uint(bytes, 4)];
const ipfixSimple = (...records: Buffer[][]): Buffer => ipfix([ipfixTemplates(simple), dataSet(simple, ...records)]);

/** The values of a record in order, some of them in groups. */
type Values = readonly (Buffer | Buffer[])[];

/** A message with one template and one record of it. */
const ipfixRecord = (template: PacketTemplate, record: Values): Buffer =>
  ipfix([ipfixTemplates(template), dataSet(template, record.flat())]);
const netflow9Record = (template: PacketTemplate, record: Values): Buffer =>
  netflow9([netflow9Templates(template), dataSet(template, record.flat())]);

const ntp = (seconds: number, fraction: number): Buffer => uints([seconds + 2_208_988_800, 4], [fraction, 4]);

const everyday: PacketTemplate = {
  id: 300,
  fields: fields(
    [8, 4],
    [12, 4],
    [15, 4],
    [10, 4],
    [14, 4],
    [2, 4],
    [1, 4],
    [22, 4],
    [21, 4],
    [7, 2],
    [11, 2],
    [6, 1],
    [4, 1],
    [5, 1],
    [16, 4],
    [17, 4],
    [9, 1],
    [13, 1],
    [61, 1],
    [58, 2],
    [56, 6],
    [80, 6],
    [60, 1],
    [136, 1],
  ),
};
const everydayRecord: Values = [
  v4Source,
  v4Destination,
  ipv4("203.0.113.9"),
  [uint(7, 4), uint(8, 4), uint(10, 4), uint(1500, 4), uint(exportUptime - 5000, 4), uint(exportUptime - 1000, 4)],
  [uint(40_000, 2), uint(443, 2), uint(0x1b, 1), uint(6, 1), uint(0xb9, 1), uint(64_496, 4), uint(64_511, 4)],
  [uint(24, 1), uint(25, 1), uint(1, 1), uint(100, 2), hex("00:00:5e:00:53:01"), hex("00:00:5e:00:53:ff")],
  [uint(4, 1), uint(3, 1)],
];

const netifOptions: PacketTemplate = { id: 412, scopeCount: 1, fields: fields([10, 4], [82, 4], [83, 4], [300, 4]) };
const namedFlow: PacketTemplate = { id: 413, fields: fields([44, 4], [45, 4], [10, 4], [14, 4]) };
const vrfOptions: PacketTemplate = { id: 410, scopeCount: 1, fields: fields([234, 4], [236, 3], [90, 8]) };
const vrfFlow: PacketTemplate = { id: 411, fields: fields([8, 4], [12, 4], [234, 4], [235, 4]) };

/** What Cisco's AVC has found in a flow. */
const subApplication = (engine: number, selector: number, part: number, text: string): Buffer =>
  Buffer.concat([uints([engine, 1], [selector, 3], [part, 2]), Buffer.from(text)]);

const underlay = [ipv4("203.0.113.1"), ipv4("203.0.113.2")];
const overlay = [ipv4("10.0.0.1"), ipv4("10.0.0.2")];
/** Source, destination, TCP, source and destination port, flags of IPv4 within something else. */
const inner4 = [v4Source, v4Destination, uint(6, 1), uint(1024, 2), uint(443, 2), uint(0x12, 1)];
const inner4Fields = [
  [8, 4],
  [12, 4],
  [4, 1],
  [7, 2],
  [11, 2],
  [6, 1],
] as const;
const zeros = (bytes: Buffer): Buffer => Buffer.alloc(bytes.length);
const ipInIp: PacketTemplate = { id: 256, fields: fields([8, 4], [12, 4], [4, 1], [5, 1], ...inner4Fields, [1, 4]) };
const srv6: PacketTemplate = { id: 256, fields: fields([27, 16], [28, 16], [4, 1], ...inner4Fields) };
const threeHeaders: PacketTemplate = {
  id: 256,
  fields: fields([8, 4], [12, 4], [4, 1], [8, 4], [12, 4], [4, 1], ...inner4Fields),
};

const basicList: PacketField = { id: 291, length: "variable" };
const macs: PacketTemplate = { id: 257, fields: fields([56, 6], [80, 6]) };
const listed: PacketTemplate = { id: 300, fields: fields([8, 4], [292, "variable"], [293, "variable"]) };

/** Ethernet with a VLAN tag, IPv4, TCP with SYN; some bytes of payload follow. */
const frame = hex(
  `00005e0053ff 00005e005301 8100 2064 0800
   45b80034 00014000 4006 0000 c0000201 c6336402
   9c40 01bb 00000001 00000000 50 02 ffff 0000 0000 6869`,
);
const ipv6Packet = hex(
  "6000 0000 0008 11 40 20010db8000000000000000000000001 20010db8ffff00000000000000000002 0035 d431 0008 0000",
);

const options: PacketTemplate = { id: 400, scopeCount: 1, fields: fields([1, 4], [48, 1], [49, 1], [50, 4]) };
const samplerFlow: PacketTemplate = { id: 401, fields: fields([8, 4], [12, 4], [1, 4], [2, 4], [48, 1]) };

/**
 * Datagrams of real exporters, one a line in hex: softflowd 1.1.0 for a small capture of UDP over IPv4 and IPv6, and
 * softflowd, pmacctd 1.7.7 (nfprobe) and Open vSwitch 3.1 for one of many protocols, with VLAN tags, MPLS labels and tunnels.
 */
const sentBy = (exporter: string): Buffer[] => {
  const path = resolve(import.meta.dirname, "../../../test/flow/fixtures", `${exporter}.hex`);
  return readFileSync(path, "utf8").trim().split("\n").map(hex);
};

/** What dashboards ask for beyond the usual fields. */
const manyNames: PacketTemplate = {
  id: 414,
  fields: fields([8, 4], [12, 4], [4, 1], [6, 2], [209, 8], [58, 2], [59, 2], [81, 6], [57, 6], [129, 4], [128, 4]),
};

export const goldenCases: readonly GoldenCase[] = [
  [
    "ipfix-options-of-tcp-and-both-ways",
    [
      ipfixRecord(manyNames, [
        [v4Source, v4Destination, uint(6, 1), uint(0x10, 2), uint(0x4000_011c, 8), uint(100, 2), uint(200, 2)],
        [hex("00:00:5e:00:53:02"), hex("00:00:5e:00:53:fe"), uint(64_500, 4), uint(64_501, 4)],
      ]),
      ipfixRecord(manyNames, [
        [v4Source, v4Destination, uint(6, 1), uint(0x12, 2), uint(0, 8), uint(100, 2), uint(100, 2)],
        [hex("00:00:5e:00:53:02"), hex("00:00:5e:00:53:fe"), uint(0, 4), uint(0, 4)],
      ]),
    ],
  ],
  ...[
    "softflowd-netflow5",
    "softflowd-netflow9",
    "softflowd-ipfix",
    "softflowd-ipfix-biflow",
    "pmacct-netflow9",
    "openvswitch-ipfix",
    "openvswitch-sflow",
  ].map((exporter): GoldenCase => [exporter, sentBy(exporter)]),

  ["netflow5-two-records", [netflow5([{}, { source: "192.0.2.77", protocol: 17, tcpFlags: 0, tos: 0xb8 }])]],
  ["netflow5-nanoseconds-in-header", [netflow5([{}], { nanoseconds: 123_456_789 })]],
  ["netflow5-sampled-by-header", [netflow5([{}], { sampling: 0x4000 + 1000 })]],
  ["netflow5-uptime-wrapped-since-start", [netflow5([{ start: 0xffff_f000, end: 500 }], { uptime: 2000 })]],
  ["netflow5-count-claims-more-than-is-there", [netflow5([{}, {}], { count: 5 })]],
  ["netflow5-count-beyond-all-sense", [netflow5([{}, {}], { count: 55_582 })]],
  ["netflow5-no-records", [netflow5([])]],
  ["netflow5-bytes-behind-the-records", [Buffer.concat([netflow5([{}]), hex("deadbeef")])]],
  ["netflow5-header-cut", [netflow5([]).subarray(0, 23)]],

  [
    "netflow5-icmp-as-destination-port",
    [
      netflow5([
        { protocol: 1, ports: [0, 0x0303] },
        { protocol: 1, ports: [0, 0] },
        { protocol: 1, ports: [8, 0x0303] },
        { protocol: 17, ports: [0, 0x0303] },
      ]),
    ],
  ],
  ["netflow7-icmp-as-destination-port", [netflow7([{ protocol: 1, ports: [0, 0x0800] }])]],
  [
    "netflow9-icmp-as-destination-port",
    [
      netflow9Record({ id: 256, fields: fields([27, 16], [28, 16], [11, 2], [4, 1]) }, [
        [v6Source, v6Destination, uint(0x8000, 2), uint(58, 1)],
      ]),
      netflow9Record({ id: 257, fields: fields([8, 4], [12, 4], [7, 2], [11, 2], [4, 1], [32, 2]) }, [
        [v4Source, v4Destination, uint(0, 2), uint(17_549, 2), uint(1, 1), uint(0, 2)],
      ]),
    ],
  ],
  ["netflow1-two-records", [netflow1([{}, { source: "192.0.2.77", protocol: 17, tcpFlags: 0, tos: 0xb8 }])]],
  ["netflow1-records-of-52-bytes", [netflow1([{}, { protocol: 17 }], {}, 52)]],
  ["netflow1-count-claims-more-than-is-there", [netflow1([{}], { count: 3 })]],
  ["netflow1-header-cut", [netflow1([]).subarray(0, 15)]],

  ["netflow7-two-records", [netflow7([{}, { flags: [0x03, 0x8001], router: "0.0.0.0" }])]],
  ["netflow7-flows-missing", [netflow7([{}, {}], { sequence: 10 }), netflow7([{}], { sequence: 15 })]],
  ["netflow7-record-cut", [netflow7([{}, {}]).subarray(0, 24 + 52 + 51)]],

  ["netflow9-everyday-fields", [netflow9Record(everyday, everydayRecord)]],
  [
    "netflow9-set-padded-to-four-bytes",
    [netflow9Record({ id: 256, fields: fields([7, 2], [4, 1]) }, [uint(53, 2), uint(17, 1)])],
  ],
  ["netflow9-records-of-two-bytes-and-padding", [netflow9Record({ id: 256, fields: fields([7, 2]) }, [uint(53, 2)])]],
  [
    "netflow9-several-templates-in-one-set",
    [
      netflow9([
        netflow9Templates(simple, { id: 257, fields: fields([27, 16], [28, 16], [1, 8]) }),
        dataSet(simple, simpleRecord(1), simpleRecord(2)),
        dataSet({ id: 257, fields: fields([27, 16], [28, 16], [1, 8]) }, [v6Source, v6Destination, uint(3, 8)]),
      ]),
    ],
  ],
  [
    "netflow9-header-count-lies",
    [netflow9([netflow9Templates(simple), dataSet(simple, simpleRecord(1))], { count: 99 })],
  ],
  [
    "netflow9-zeros-to-the-end-of-the-datagram",
    [Buffer.concat([netflow9([netflow9Templates(simple), dataSet(simple, simpleRecord(1))]), Buffer.alloc(50)])],
  ],
  [
    "netflow9-field-types-without-enterprise-bit",
    [
      netflow9Record(
        {
          id: 256,
          fields: fields(
            [8, 4],
            [40_001, 4],
            [40_003, 2],
            [33_002, 2],
            [33_000, 12],
            [40_000, 8],
            [40_005, 1],
            [50_000, 3],
          ),
        },
        [
          [v4Source, ipv4("203.0.113.7"), uint(61_000, 2), uint(2025, 2), hex("0f8e7ff3fc1a030f00000000")],
          [Buffer.from("alice\0\0\0"), uint(2, 1), hex("c0ffee")],
        ],
      ),
    ],
  ],
  [
    "netflow9-options-with-scopes",
    [
      netflow9Record({ id: 256, scopeCount: 3, fields: fields([1, 4], [2, 4], [9, 2], [82, 8], [34, 4], [35, 1]) }, [
        [ipv4("192.0.2.254"), uint(7, 4), uint(5, 2)],
        Buffer.from("Te0/0/1\0"),
        uint(100, 4),
        uint(2, 1),
      ]),
    ],
  ],
  [
    "netflow9-rate-by-sampler-of-options",
    [
      netflow9Record(options, [uint(0, 4), uint(3, 1), uint(2, 1), uint(500, 4)]),
      netflow9Record(samplerFlow, [v4Source, v4Destination, uint(1500, 4), uint(2, 4), uint(3, 1)]),
    ],
  ],
  [
    "netflow9-template-defined-again-with-other-fields",
    [
      netflow9([netflow9Templates(simple), dataSet(simple, simpleRecord(1))]),
      netflow9Record({ id: 256, fields: fields([12, 4], [8, 4], [2, 4]) }, [v4Destination, v4Source, uint(9, 4)]),
    ],
  ],
  [
    "netflow9-one-template-id-in-two-source-ids",
    [
      netflow9([netflow9Templates(simple)], { domain: 1 }),
      netflow9([netflow9Templates({ id: 256, fields: fields([12, 4], [8, 4], [2, 4]) })], { domain: 2 }),
      netflow9([dataSet(simple, simpleRecord(1))], { domain: 1 }),
      netflow9([dataSet(simple, simpleRecord(1))], { domain: 2 }),
    ],
  ],
  [
    "netflow9-template-used-from-another-port",
    [
      { bytes: netflow9([netflow9Templates(simple)]), port: 1000 },
      { bytes: netflow9([dataSet(simple, simpleRecord(1))], { sequence: 1 }), port: 2000 },
    ],
  ],
  [
    "netflow9-data-before-its-template",
    [
      netflow9([dataSet(simple, simpleRecord(1), simpleRecord(2))], { seconds: exportSeconds - 60 }),
      netflow9([netflow9Templates(simple), dataSet(simple, simpleRecord(3))], { sequence: 1 }),
    ],
  ],
  [
    "netflow9-set-longer-than-the-datagram",
    [netflow9([netflow9Templates(simple), dataSet(simple, simpleRecord(1), simpleRecord(2)).subarray(0, 20)])],
  ],
  [
    "netflow9-set-shorter-than-its-header",
    [netflow9([netflow9Templates(simple), dataSet(simple, simpleRecord(1)), hex("01000003"), hex("01020304")])],
  ],
  [
    "netflow9-reserved-set",
    [netflow9([packetSet(17, hex("01020304")), netflow9Templates(simple), dataSet(simple, simpleRecord(1))])],
  ],
  [
    "netflow9-template-runs-past-its-set",
    [netflow9([packetSet(0, hex("0100 0005 0008 0004")), netflow9Templates(simple), dataSet(simple, simpleRecord(1))])],
  ],
  ["netflow9-template-with-reserved-id", [netflow9([packetSet(0, hex("0005 0001 0008 0004"))])]],
  ["netflow9-template-without-fields", [netflow9([packetSet(0, hex("0100 0000"))])]],
  ["netflow9-template-of-no-bytes", [netflow9([packetSet(0, hex("0100 0002 0008 0000 000c 0000"))])]],
  ["netflow9-options-template-of-half-fields", [netflow9([packetSet(1, hex("0100 0003 0004 0001 0004 0022 0004"))])]],
  ["netflow9-header-cut", [netflow9([]).subarray(0, 19)]],

  [
    "netflow9-variable-lengths",
    [
      netflow9([
        netflow9Templates({ id: 256, fields: fields([7, 2], [96, "variable"], [4, 1]) }),
        dataSet({ id: 256, fields: fields([7, 2], [96, "variable"], [4, 1]) }, [
          uint(53, 2),
          Buffer.from("dns"),
          uint(17, 1),
        ]),
      ]),
    ],
  ],
  [
    "netflow9-firewall-denies",
    [
      netflow9Record(
        {
          id: 263,
          fields: fields([148, 4], [8, 4], [7, 2], [12, 4], [11, 2], [4, 1], [233, 1], [33_002, 2], [323, 8]),
        },
        [
          [uint(99, 4), v4Source, uint(1024, 2), v4Destination, uint(23, 2), uint(6, 1), uint(3, 1), uint(1001, 2)],
          uint(1_699_999_990_007, 8),
        ],
      ),
    ],
  ],
  [
    "netflow9-firewall-initiator-and-responder",
    [
      netflow9Record({ id: 263, fields: fields([8, 4], [12, 4], [231, 4], [232, 4], [298, 4], [299, 4], [233, 1]) }, [
        [v4Source, v4Destination, uint(1500, 4), uint(9000, 4), uint(3, 4), uint(7, 4), uint(2, 1)],
      ]),
    ],
  ],
  [
    "netflow9-initiator-and-responder-not-scaled",
    [
      netflow9Record({ id: 263, fields: fields([8, 4], [12, 4], [231, 4], [232, 4], [298, 4], [299, 4], [34, 4]) }, [
        [v4Source, v4Destination, uint(1500, 4), uint(9000, 4), uint(3, 4), uint(7, 4), uint(100, 4)],
      ]),
    ],
    { scaleCounters: false },
  ],
  [
    "netflow9-forwarding-status",
    [
      netflow9([
        netflow9Templates({ id: 256, fields: fields([89, 1]) }, { id: 257, fields: fields([89, 4]) }),
        dataSet({ id: 257, fields: fields([89, 4]) }, [uint(0x40, 4)], [uint(0x1000, 4)]),
        packetSet(256, hex("4081c2ff")),
      ]),
    ],
  ],

  ["ipfix-everyday-fields", [ipfixRecord(everyday, everydayRecord)]],
  [
    "ipfix-uptimes-with-init-time-in-the-record",
    [
      ipfixRecord({ id: 256, fields: fields([22, 4], [21, 4], [160, 8]) }, [
        [uint(90_000, 4), uint(95_500, 4), uint((exportSeconds - 100) * 1000, 8)],
      ]),
    ],
  ],
  [
    "ipfix-uptimes-with-init-time-in-options",
    [
      ipfixRecord({ id: 257, scopeCount: 1, fields: fields([149, 4], [160, 8]) }, [
        [uint(1, 4), uint((exportSeconds - 100) * 1000, 8)],
      ]),
      ipfixRecord({ id: 256, fields: fields([22, 4], [21, 4]) }, [uint(90_000, 4), uint(95_500, 4)]),
    ],
  ],
  ["ipfix-uptimes-without-init-time", [ipfixRecord({ id: 256, fields: fields([22, 4]) }, [uint(90_000, 4)])]],
  [
    "ipfix-seconds",
    [ipfixRecord({ id: 256, fields: fields([150, 4], [151, 4]) }, [uint(1_699_999_990, 4), uint(1_699_999_995, 4)])],
  ],
  [
    "ipfix-milliseconds",
    [
      ipfixRecord({ id: 256, fields: fields([152, 8], [153, 8]) }, [
        [uint(1_699_999_990_007, 8), uint(1_699_999_995_000, 8)],
      ]),
    ],
  ],
  [
    "ipfix-microseconds",
    [
      ipfixRecord({ id: 256, fields: fields([154, 8], [155, 8]) }, [
        [ntp(1_699_999_990, 0x8000_0000), ntp(1_699_999_995, 0x0000_10c6)],
      ]),
    ],
  ],
  [
    "ipfix-nanoseconds-that-round-up-to-a-second",
    [
      ipfixRecord({ id: 256, fields: fields([156, 8], [157, 8]) }, [
        [ntp(1_699_999_990, 0x4000_0000), ntp(1_699_999_994, 0xffff_ffff)],
      ]),
    ],
  ],
  ["ipfix-microseconds-unknown", [ipfixRecord({ id: 256, fields: fields([154, 8]) }, [uint(0, 8)])]],
  [
    "ipfix-delta-microseconds",
    [ipfixRecord({ id: 256, fields: fields([158, 4], [159, 4]) }, [uint(2_500_001, 4), uint(0, 4)])],
  ],
  [
    "ipfix-start-in-three-units",
    [
      ipfixRecord({ id: 256, fields: fields([22, 4], [150, 4], [152, 8]) }, [
        [uint(90_000, 4), uint(1_699_999_990, 4), uint(1_699_999_990_007, 8)],
      ]),
    ],
  ],
  [
    "ipfix-milliseconds-beyond-any-calendar",
    [ipfixRecord({ id: 256, fields: fields([152, 8]) }, [uint(0xffff_ffff_ffff_ffffn, 8)])],
  ],
  [
    "ipfix-variable-lengths",
    [
      ipfixRecord({ id: 256, fields: fields([96, "variable"], [82, "variable"], [7, 2], [313, "variable"]) }, [
        [Buffer.from("dns"), Buffer.from("é".repeat(150)), uint(53, 2), Buffer.alloc(0)],
      ]),
    ],
  ],
  [
    "ipfix-variable-length-past-the-set",
    [
      ipfix([
        ipfixTemplates({ id: 256, fields: fields([7, 2], [96, "variable"]) }),
        packetSet(
          256,
          Buffer.concat([uint(53, 2), uint(3, 1), Buffer.from("dns"), uint(80, 2), uint(200, 1), Buffer.from("h")]),
        ),
      ]),
      ipfixSimple(simpleRecord(1)),
    ],
  ],
  [
    "ipfix-enterprise-elements",
    [
      ipfixRecord(
        {
          id: 256,
          fields: fields(
            [8, 4],
            [91, 2, 637],
            [93, "variable", 637],
            [881, 4, 6876],
            [40, 2, 6871],
            [16_424, 2, 6871],
            [9, 2, 64_512],
          ),
        },
        [
          [v4Source, uint(7, 2), Buffer.from("LSN-Host@10.10.10.101"), ipv4("10.1.2.3"), hex("0001"), hex("0102")],
          hex("0001"),
        ],
      ),
    ],
  ],
  [
    "netflow9-applications-by-engine",
    [
      ["0d0001c5", "13:453"],
      ["03 00000050 00000051", "by a vendor's number or not"],
      ["14 00000009 2710", "20:9:10000"],
      ["14 00003044 00003f43", "as FortiGate has it"],
      ["14 00003044", "too short for a selector behind the enterprise number"],
      ["14 00003044 0000000000003f43", "longer than any other engine's"],
      ["0d 00003044 0000000000003f43", "no number"],
    ].map(([id = ""]) =>
      netflow9Record({ id: 256, fields: fields([8, 4], [95, hex(id).length]) }, [[v4Source, hex(id)]]),
    ),
  ],
  [
    "ipfix-single-precision",
    [
      ipfixRecord({ id: 256, fields: fields([126, 4, 3054], [320, 4], [320, 8], [311, 4]) }, [
        [hex("41f4a40b"), hex("7f7fffff"), hex("3fb999999999999a"), hex("3a83126f")],
      ]),
    ],
  ],
  [
    "ipfix-physical-interfaces-and-octets-of-layer-2",
    [
      ipfixRecord({ id: 256, fields: fields([252, 4], [253, 4], [352, 8], [2, 4]) }, [
        [uint(7, 4), uint(8, 4), uint(1518, 8), uint(1, 4)],
      ]),
      ipfixRecord({ id: 257, fields: fields([10, 4], [252, 4], [352, 8], [1, 4]) }, [
        [uint(3, 4), uint(7, 4), uint(1518, 8), uint(1500, 4)],
      ]),
    ],
  ],
  [
    "netflow9-vendors-elements-behind-their-bases",
    [
      netflow9Record(
        {
          id: 256,
          fields: fields(
            [8, 4],
            [57_590, 2],
            [57_652, 16],
            [57_630, 4],
            [42_071, 4],
            [45_004, 4],
            [45_000, 8],
            [60_000, 2],
          ),
        },
        [
          [v4Source, uint(37, 2), Buffer.from("/a?b=%22c%22".padEnd(16, "\0")), uint(5, 4), uint(250, 4)],
          [ipv4("10.1.2.3"), Buffer.from("browsing"), hex("0001")],
        ],
      ),
    ],
  ],
  [
    "ipfix-both-directions-in-one-record",
    [
      ipfixRecord(
        {
          id: 256,
          fields: fields(
            [8, 4],
            [12, 4],
            [1, 8],
            [2, 8],
            [1, 8, 29_305],
            [2, 8, 29_305],
            [6, 1, 29_305],
            [184, 4, 29_305],
          ),
        },
        [v4Source, v4Destination, uint(1500, 8), uint(10, 8), uint(9000, 8), uint(12, 8), uint(0x12, 1), uint(77, 4)],
      ),
    ],
  ],
  [
    "ipfix-reduced-size-encoding",
    [
      ipfixRecord({ id: 256, fields: fields([1, 3], [2, 5], [85, 7], [10, 1], [311, 4], [434, 2]) }, [
        [uint(0xabcdef, 3), uint(0x01_0000_0001, 5), uint(0x7f_ffff_ffff_ffffn, 7), uint(200, 1)],
        [hex("3f000000"), hex("fffe")],
      ]),
    ],
  ],
  [
    "ipfix-counters-beyond-2-to-53",
    [
      ipfixRecord({ id: 256, fields: fields([1, 8], [2, 8], [34, 4]) }, [
        [uint(0xffff_ffff_ffff_ffffn, 8), uint(2n ** 53n, 8), uint(3, 4)],
      ]),
    ],
  ],
  [
    "ipfix-widths-that-no-type-has",
    [
      ipfixRecord({ id: 256, fields: fields([8, 3], [27, 4], [56, 8], [1, 9], [311, 3], [276, 2], [152, 9], [6, 9]) }, [
        [hex("c00002"), v4Source, hex("00005e0053010000"), uint(5, 9), hex("3f0000"), hex("0001")],
        [uint(1, 9), uint(2, 9)],
      ]),
    ],
  ],
  [
    "ipfix-fields-of-no-bytes",
    [
      ipfixRecord(
        { id: 256, fields: fields([150, 0], [8, 4], [96, 0], [1, 0]) },
        ["", v4Source, "", ""].map((v) => Buffer.from(v)),
      ),
    ],
  ],
  [
    "ipfix-padding-octets",
    [
      ipfixRecord({ id: 256, fields: fields([8, 4], [210, 3], [4, 1], [210, "variable"]) }, [
        v4Source,
        hex("aabbcc"),
        uint(6, 1),
        hex("dd"),
      ]),
    ],
  ],
  [
    "ipfix-element-repeated",
    [
      ipfixRecord({ id: 256, fields: fields([8, 4], [70, 3], [70, 3], [12, 4], [5, 1], [5, 1]) }, [
        [v4Source, hex("000641"), hex("000650"), v4Destination, uint(0xb8, 1), uint(0, 1)],
      ]),
    ],
  ],
  [
    "ipfix-ip-in-ip-header-after-header",
    [
      ipfixRecord(ipInIp, [underlay, [uint(4, 1), uint(0xb8, 1)], inner4, [uint(1500, 4)]]),
      ipfixRecord(ipInIp, [underlay, [uint(6, 1), uint(0xb8, 1)], inner4.map(zeros), [uint(1500, 4)]]),
    ],
  ],
  [
    "netflow9-headers-element-by-element",
    [
      netflow9Record(
        {
          id: 256,
          fields: fields(
            [8, 4],
            [8, 4],
            [12, 4],
            [12, 4],
            [4, 1],
            [4, 1],
            [7, 2],
            [7, 2],
            [11, 2],
            [11, 2],
            [6, 1],
            [192, 1],
            [192, 1],
          ),
        },
        [
          [underlay[0] as Buffer, v4Source, underlay[1] as Buffer, v4Destination, uint(17, 1), uint(6, 1)],
          [uint(40_000, 2), uint(1024, 2), uint(2152, 2), uint(443, 2), uint(0x12, 1), uint(64, 1), uint(63, 1)],
        ],
      ),
    ],
  ],
  [
    "ipfix-srv6-with-ipv4-inside",
    [
      ipfixRecord(srv6, [[v6Source, v6Destination, uint(43, 1)], inner4]),
      ipfixRecord(srv6, [[v6Source, v6Destination, uint(6, 1)], inner4.map(zeros)]),
      ipfixRecord(srv6, [[Buffer.alloc(16), Buffer.alloc(16), uint(0, 1)], inner4]),
    ],
  ],
  [
    "ipfix-ipv6-in-ipv4",
    [
      ipfixRecord(
        { id: 256, fields: fields([8, 4], [12, 4], [27, 16], [28, 16], [9, 1], [29, 1], [4, 1], [7, 2], [11, 2]) },
        [[...underlay, v6Source, v6Destination, uint(24, 1), uint(48, 1), uint(17, 1), uint(1024, 2), uint(53, 2)]],
      ),
    ],
  ],
  [
    "ipfix-three-headers",
    [
      ipfixRecord(threeHeaders, [underlay, [uint(47, 1)], overlay, [uint(4, 1)], inner4]),
      ipfixRecord(threeHeaders, [underlay, [uint(47, 1)], overlay, [uint(6, 1)], inner4.map(zeros)]),
    ],
  ],
  [
    "ipfix-headers-of-which-only-some-elements-are-repeated",
    [
      ipfixRecord(
        {
          id: 256,
          fields: fields([8, 4], [12, 4], [4, 1], [56, 6], [80, 6], [8, 4], [12, 4], [4, 1], [7, 2], [11, 2], [5, 1]),
        },
        [
          [...underlay, uint(47, 1), hex("00:00:5e:00:53:01"), hex("00:00:5e:00:53:ff"), v4Source, v4Destination],
          [uint(1, 1), uint(0, 2), uint(0x0303, 2), uint(0, 1)],
        ],
      ),
    ],
  ],
  [
    "ipfix-named-elements-repeated-outside-headers",
    [
      ipfixRecord({ id: 256, fields: fields([1, 4], [1, 8], [7, 2], [7, 2], [15, 4], [15, 4], [10, 4], [10, 4]) }, [
        [uint(10, 4), uint(11, 8), uint(1, 2), uint(2, 2), v4Source, v4Destination, uint(3, 4), uint(4, 4)],
      ]),
    ],
  ],
  [
    "ipfix-both-address-families-one-zero",
    [
      ipfixRecord({ id: 256, fields: fields([8, 4], [12, 4], [27, 16], [28, 16]) }, [
        [ipv4("0.0.0.0"), ipv4("0.0.0.0"), v6Source, v6Destination],
      ]),
      ipfixRecord({ id: 256, fields: fields([8, 4], [12, 4], [27, 16], [28, 16]) }, [
        [v4Source, v4Destination, Buffer.alloc(16), Buffer.alloc(16)],
      ]),
    ],
  ],
  [
    "ipfix-counters-of-both-sides",
    [
      ipfixRecord({ id: 256, fields: fields([23, 4], [1, 4], [231, 4], [232, 4]) }, [
        [uint(40, 4), uint(0, 4), uint(30, 4), uint(20, 4)],
      ]),
    ],
  ],
  [
    "ipfix-route-distinguishers-of-every-type",
    ["0000 fde8 00000064", "0001 c0000201 0005", "0002 0001e240 0007", "0003 000000000001"].map((rd) =>
      ipfixRecord({ id: 256, fields: fields([8, 4], [90, 8]) }, [[v4Source, hex(rd)]]),
    ),
  ],
  [
    "ipfix-vrfs-named-by-options",
    [
      ipfix([
        ipfixTemplates(vrfOptions),
        ipfixTemplates(vrfFlow),
        dataSet(
          vrfOptions,
          [uint(7, 4), Buffer.from("red"), hex("0000 fde8 00000064")],
          [uint(8, 4), Buffer.from("blu"), hex("0001 c0000201 0005")],
        ),
        dataSet(vrfFlow, [v4Source, v4Destination, uint(7, 4), uint(8, 4)]),
      ]),
    ],
  ],
  [
    "ipfix-packet-with-the-time-of-its-observation",
    [
      ipfixRecord({ id: 256, fields: fields([323, 8], [315, "variable"]) }, [[uint(1_700_000_000_250, 8), frame]]),
      ipfixRecord({ id: 257, fields: fields([322, 4], [152, 8], [315, "variable"]) }, [
        [uint(1_700_000_000, 4), uint(1_699_999_999_000, 8), frame],
      ]),
      ipfixRecord({ id: 258, fields: fields([323, 8], [8, 4]) }, [[uint(1_700_000_000_250, 8), v4Source]]),
    ],
  ],
  [
    "ipfix-applications-values-that-say-what-they-are",
    [
      ipfixRecord({ id: 256, fields: fields(...[1, 2, 3].map(() => [12_235, "variable", 9] as const), [8, 4]) }, [
        [subApplication(3, 80, 13_314, "www.example.com"), subApplication(3, 80, 13_313, "/a?b=c")],
        [subApplication(3, 80, 13_315, ""), v4Source],
      ]),
      netflow9Record({ id: 256, fields: fields([45_003, 21], [8, 4]) }, [
        [subApplication(13, 453, 13_313, "www.example.com"), v4Source],
      ]),
      ...[
        [3, 80, 13_315, "curl/8.5.0"],
        [3, 80, 13_316, "http://example.com/"],
        [3, 554, 13_313, "media.example.com"],
        [3, 25, 13_313, "mail.example.com"],
        [3, 25, 13_314, "alice@example.com"],
        [3, 110, 13_313, "pop.example.com"],
        [3, 119, 13_313, "comp.protocols"],
        [3, 5060, 13_313, "example.net"],
        [3, 5060, 13_314, "example.com"],
        [3, 5060, 13_399, "of another kind"],
      ].map(([engine, selector, part, text]) =>
        ipfixRecord({ id: 258, fields: fields([12_235, "variable", 9]) }, [
          subApplication(Number(engine), Number(selector), Number(part), String(text)),
        ]),
      ),
    ],
  ],
  [
    "ipfix-juniper-properties-of-a-dropped-packet",
    [0x0842, 0x0800, 0x0442].map((exception) =>
      ipfixRecord({ id: 256, fields: fields([137, 4, 2636], [137, 2, 2636], [315, "variable"]) }, [
        [uint(0x0400_0001, 4), uint(exception, 2), frame],
      ]),
    ),
  ],
  [
    "ipfix-vendors-elements-by-name",
    [
      ipfixRecord({ id: 256, fields: fields([4321, 4, 41_916], [91, 2, 637], [93, "variable", 637], [1, 2, 2011]) }, [
        [uint(10, 4), uint(7, 2), Buffer.from("subscriber"), uint(3, 2)],
      ]),
    ],
  ],
  [
    "ipfix-prefixes-and-names-by-options",
    [
      ipfix([
        ipfixTemplates(netifOptions),
        ipfixTemplates(namedFlow),
        dataSet(netifOptions, [uint(7, 4), Buffer.from("eth7"), Buffer.from("to 8"), Buffer.from("core")]),
        dataSet(netifOptions, [uint(8, 4), Buffer.from("eth8"), Buffer.from("to 7"), Buffer.from("core")]),
        dataSet(namedFlow, [ipv4("192.0.2.0"), ipv4("198.51.100.0"), uint(7, 4), uint(8, 4)]),
      ]),
    ],
  ],
  [
    "netflow9-access-lists-of-both-sides",
    [
      netflow9Record({ id: 256, fields: fields([33_000, 12], [33_001, 12]) }, [
        [hex("0badc0de 00000001 00000002"), hex("0badc0de 00000003 00000004")],
      ]),
    ],
  ],
  [
    "ipfix-delta-of-zero-beside-a-total",
    [
      ipfixRecord({ id: 256, fields: fields([85, 8], [86, 8], [1, 8], [2, 8]) }, [
        [uint(123_456, 8), uint(78, 8), uint(0, 8), uint(0, 8)],
      ]),
      ipfixRecord({ id: 257, fields: fields([85, 8], [172, 8], [23, 8], [298, 8]) }, [
        [uint(123_456, 8), uint(78, 8), uint(0, 8), uint(0, 8)],
      ]),
    ],
  ],
  [
    "ipfix-texts-that-are-not-utf-8",
    [
      ipfixRecord({ id: 256, fields: fields([82, 8], [83, "variable"], [96, "variable"]) }, [
        [Buffer.from("eth0\0\0\0\0"), hex("42fc726f"), Buffer.from('a"\\\n\u{1f600}')],
      ]),
    ],
  ],
  [
    "ipfix-boolean",
    [ipfixRecord({ id: 256, fields: fields([276, 1], [277, 1], [278, 1]) }, [uint(1, 1), uint(2, 1), uint(3, 1)])],
  ],
  [
    // Of two bytes the flags are the lower twelve bits, in the reverse direction and in three bytes, too.
    "ipfix-tcp-flags-with-the-data-offset",
    [
      ipfixRecord({ id: 256, fields: fields([4, 1], [6, 2], [6, 2, 29_305]) }, [
        [uint(6, 1), uint(0x5112, 2), uint(0x8012, 2)],
      ]),
      ipfixRecord({ id: 257, fields: fields([4, 1], [6, "variable"]) }, [[uint(6, 1), uint(0x5f_50_02, 3)]]),
      netflow9Record({ id: 256, fields: fields([6, 2]) }, [uint(0x5002, 2)]),
    ],
  ],
  [
    "ipfix-direction-that-is-neither",
    [ipfixRecord({ id: 256, fields: fields([61, 1], [4, 1], [7, 2]) }, [uint(2, 1), uint(6, 1), uint(53, 2)])],
  ],
  [
    "ipfix-records-of-one-byte-are-not-padding",
    [ipfix([ipfixTemplates({ id: 256, fields: fields([4, 1]) }), packetSet(256, hex("0611000000"), { pad: false })])],
  ],
  [
    "ipfix-icmp-type-and-code",
    [
      ipfixRecord({ id: 256, fields: fields([8, 4], [12, 4], [4, 1], [32, 2], [139, 2]) }, [
        [v4Source, v4Destination, uint(1, 1), uint(0x0803, 2), uint(0, 2)],
      ]),
    ],
  ],
  [
    "ipfix-nat-event",
    [
      ipfixRecord(
        {
          id: 256,
          fields: fields([8, 4], [225, 4], [227, 2], [226, 4], [228, 2], [230, 1], [234, 4], [235, 4], [95, 4]),
        },
        [
          [
            v4Source,
            ipv4("203.0.113.7"),
            uint(1024, 2),
            v4Destination,
            uint(443, 2),
            uint(4, 1),
            uint(10, 4),
            uint(20, 4),
          ],
          hex("0d0001c5"),
        ],
      ),
    ],
  ],
  [
    "ipfix-basic-lists-with-every-semantic",
    [
      ipfixRecord({ id: 256, fields: [{ id: 8, length: 4 }, ...Array.from({ length: 7 }, () => basicList)] }, [
        v4Source,
        [
          hex("03 0007 0002 0035 01bb"),
          hex("04 0053 ffff 02 6131 ff0002 6232 00"),
          hex("00 000e 0004 00000007"),
          hex("01 000e 0004 00000001 00000004"),
          hex("02 8028 0002 00001ad7 0001 0002"),
          hex("ff 0004 0001 06 11"),
          hex("07 0002 0001"),
        ],
      ]),
    ],
  ],
  [
    "ipfix-lists-of-elements-that-the-record-has-too",
    [
      ipfixRecord({ id: 256, fields: fields([8, 4], [291, "variable"], [7, 2], [292, "variable"]) }, [
        [v4Source, hex("03 0008 0004 c0000209 c000020a"), uint(53, 2), hex("03 0100")],
      ]),
    ],
  ],
  [
    "ipfix-list-whose-element-says-what-it-holds",
    [
      ipfixRecord({ id: 256, fields: fields([484, "variable"], [487, "variable"]) }, [
        [hex("03 01e3 0004 fbf00064 fbf000c8"), hex("00 01e6 0003 010203")],
      ]),
    ],
  ],
  [
    "ipfix-lists-of-templates",
    [
      ipfix([
        ipfixTemplates(simple, macs, listed),
        dataSet(listed, [
          v4Source,
          Buffer.concat([hex("03 0100"), ...simpleRecord(10), ...simpleRecord(20)]),
          Buffer.concat([hex("03 0101 0010"), hex("00005e005301 00005e0053ff"), hex("0100 0010"), ...simpleRecord(7)]),
        ]),
      ]),
    ],
  ],
  [
    "ipfix-lists-within-lists",
    [
      ipfix([
        ipfixTemplates({ id: 256, fields: [{ id: 4, length: 1 }, basicList] }, { id: 257, fields: fields([292, 23]) }),
        packetSet(257, hex("04 0100 06 09 03 0007 0002 0035 01bb 11 07 00 0007 0002 0045")),
      ]),
    ],
  ],
  [
    "ipfix-lists-of-unknown-templates-stay-bytes",
    [
      ipfix([
        ipfixTemplates(macs, listed),
        dataSet(listed, [
          v4Source,
          hex("03 0999 01020304"),
          hex("03 0998 0006 aabb 0101 0010 00005e005301 00005e0053ff 0997 0004"),
        ]),
      ]),
    ],
  ],
  [
    "ipfix-malformed-lists-stay-bytes",
    [
      ipfix([
        ipfixTemplates(macs, { id: 300, fields: [...Array.from({ length: 4 }, () => basicList), ...listed.fields] }),
        dataSet({ id: 300, fields: [...Array.from({ length: 4 }, () => basicList), ...listed.fields] }, [
          hex("03"),
          hex("03 0007 0002 0035 01"),
          hex("03 0007 0000 0035"),
          hex("03 0053 ffff ff ffff 61"),
          v4Source,
          hex("03 0101 00005e005301"),
          hex("03 0101 ffff 00005e005301"),
        ]),
      ]),
    ],
  ],
  [
    "ipfix-list-that-holds-itself",
    [
      ipfix([
        ipfixTemplates({ id: 256, fields: fields([292, "variable"]) }),
        dataSet({ id: 256, fields: fields([292, "variable"]) }, [
          hex("1b 030100 17 030100 13 030100 0f 030100 0b 030100 07 030100 03 030100").subarray(1),
        ]),
      ]),
    ],
  ],
  [
    "ipfix-list-in-reverse-stays-bytes",
    [ipfixRecord({ id: 256, fields: fields([291, "variable", 29_305]) }, [hex("03 0007 0002 0035 01bb")])],
  ],
  [
    "ipfix-label-stack",
    [
      ipfixRecord({ id: 256, fields: fields([71, 3], [8, 4], [70, 3], [72, 3], [73, 3], [46, 1], [47, 4]) }, [
        [hex("000650"), v4Source, hex("186a0a"), hex("00000f"), hex("000000"), uint(3, 1), v4Destination],
      ]),
    ],
  ],
  [
    "netflow9-label-stack-of-odd-widths",
    [
      netflow9Record({ id: 256, fields: fields([70, 4], [71, 2], [72, 3], [74, 2]) }, [
        [hex("186a0140"), hex("0102"), hex("000000"), hex("0304")],
      ]),
      netflow9Record({ id: 257, fields: fields([70, 3], [4, 1]) }, [hex("000000"), uint(6, 1)]),
    ],
  ],
  [
    "ipfix-frame-of-a-packet",
    [
      ipfixRecord({ id: 256, fields: fields([10, 4], [312, 2], [315, "variable"]) }, [
        [uint(7, 4), uint(70, 2)],
        frame,
      ]),
    ],
  ],
  [
    "ipfix-record-says-more-than-its-frame",
    [
      ipfixRecord({ id: 256, fields: fields([1, 4], [2, 4], [58, 2], [8, 4], [315, "variable"], [34, 4]) }, [
        [uint(1500, 4), uint(3, 4), uint(200, 2), ipv4("203.0.113.9"), frame, uint(10, 4)],
      ]),
    ],
  ],
  [
    "netflow9-frame-of-fixed-length-cut-off",
    [netflow9Record({ id: 256, fields: fields([103, 2], [104, 40]) }, [uint(40, 2), frame.subarray(0, 40)])],
  ],
  [
    "ipfix-ip-packets-and-labels-without-a-frame",
    [
      ipfixRecord({ id: 256, fields: fields([313, "variable"]) }, [ipv6Packet]),
      ipfixRecord({ id: 257, fields: fields([316, "variable"]) }, [hex("186a0a40 00065140")]),
      ipfixRecord({ id: 258, fields: fields([313, "variable"], [315, "variable"]) }, [hex("0102"), hex("00005e")]),
      ipfixRecord({ id: 259, fields: fields([408, 2], [315, "variable"], [314, 2]) }, [uint(2, 2), frame, hex("6869")]),
    ],
  ],
  [
    // Where a section does not begin with its packet it stays bytes; what fills it up is not of the packet (RFC 7133).
    "ipfix-sections-with-an-offset-and-filled-up",
    [
      ipfixRecord({ id: 256, fields: fields([409, 2], [315, "variable"]) }, [uint(14, 2), frame.subarray(14)]),
      ipfixRecord({ id: 257, fields: fields([409, 2], [410, 2], [315, 64]) }, [
        uint(0, 2),
        uint(34, 2),
        Buffer.concat([frame.subarray(0, 34), Buffer.alloc(30)]),
      ]),
      ipfixRecord({ id: 258, fields: fields([314, 4], [313, "variable"], [409, 1], [409, 1], [410, 2]) }, [
        Buffer.from("data"),
        ipv6Packet,
        uint(20, 1),
        uint(0, 1),
        uint(2, 2),
      ]),
      netflow9Record({ id: 256, fields: fields([103, 2], [102, 2], [104, 40]) }, [
        uint(64, 2),
        uint(4, 2),
        frame.subarray(4, 44),
      ]),
    ],
  ],
  [
    "ipfix-frame-of-802-11",
    [
      ipfixRecord({ id: 256, fields: fields([408, 2], [315, "variable"]) }, [
        uint(2, 2),
        Buffer.concat([hex("0801 0000 00005e005301 00005e005302 00005e0053ff 0000 aaaa03 000000 86dd"), ipv6Packet]),
      ]),
    ],
  ],
  [
    "ipfix-frame-with-a-packet-in-a-tunnel",
    [
      ipfixRecord({ id: 256, fields: fields([315, "variable"]) }, [
        hex(`00005e0053ff 00005e005301 0800 45000066 00000000 4011 0000 c0000201 c6336402 c350 12b5 0052 0000
             08000000 00002a00 ${frame.toString("hex")}`),
      ]),
    ],
  ],
  [
    "ipfix-exporters-behind-a-relay",
    [
      {
        bytes: ipfixRecord({ id: 256, fields: fields([130, 4], [8, 4], [12, 4], [1, 4]) }, [
          ipv4("203.0.113.1"),
          ...simpleRecord(40),
        ]),
        address: "198.51.100.9",
      },
    ],
  ],
  [
    "ipfix-exporter-claimed-by-no-relay",
    [
      ipfixRecord({ id: 256, fields: fields([130, 4], [8, 4], [12, 4], [1, 4]) }, [
        ipv4("203.0.113.1"),
        ...simpleRecord(40),
      ]),
    ],
  ],
  [
    "ipfix-mapped-address",
    [ipfixRecord({ id: 256, fields: fields([27, 16]) }, [hex("00000000000000000000ffffc0000201")])],
  ],
  [
    "ipfix-template-withdrawn",
    [
      ipfixSimple(simpleRecord(1)),
      ipfix([packetSet(2, hex("0100 0000"))]),
      ipfix([dataSet(simple, simpleRecord(2))], { sequence: 1 }),
    ],
  ],
  [
    "ipfix-all-templates-withdrawn",
    [
      ipfix([ipfixTemplates(simple, { id: 257, fields: fields([7, 2]) })]),
      ipfixRecord({ id: 258, scopeCount: 1, fields: fields([149, 4], [34, 4]) }, [uint(1, 4), uint(10, 4)]),
      ipfix([packetSet(2, hex("0002 0000"))], { sequence: 1 }),
      ipfix([dataSet(simple, simpleRecord(2))], { sequence: 1 }),
    ],
  ],
  [
    "ipfix-options-template-withdrawn-and-others-stay",
    [
      ipfix([ipfixTemplates(simple), ipfixTemplates({ id: 258, scopeCount: 1, fields: fields([149, 4], [34, 4]) })]),
      ipfix([packetSet(3, hex("0102 0000"))]),
      ipfix([
        dataSet(simple, simpleRecord(2)),
        dataSet({ id: 258, fields: fields([149, 4], [34, 4]) }, [uint(1, 4), uint(9, 4)]),
      ]),
    ],
  ],
  [
    "ipfix-all-options-templates-withdrawn",
    [
      ipfix([
        ipfixTemplates(simple),
        ipfixTemplates(
          { id: 258, scopeCount: 1, fields: fields([149, 4], [34, 4]) },
          { id: 259, scopeCount: 1, fields: fields([149, 4], [41, 4]) },
        ),
      ]),
      ipfix([packetSet(3, hex("0003 0000"))]),
      ipfix([dataSet(simple, simpleRecord(2))]),
    ],
  ],
  [
    "ipfix-enumerated-values",
    [
      ipfixRecord({ id: 256, fields: fields([230, 1], [297, 1], [466, 4], [467, 4], [233, 1], [239, 1], [46, 1]) }, [
        [uint(16, 1), uint(5, 1), uint(3, 4), uint(2, 4), uint(4, 1), uint(2, 1), uint(3, 1)],
      ]),
      ipfixRecord({ id: 256, fields: fields([230, 1], [297, 1], [136, 1], [239, 1]) }, [
        [uint(200, 1), uint(200, 1), uint(4, 1), uint(200, 1)],
      ]),
    ],
  ],
  [
    "ipfix-template-known-from-another-port",
    [
      { bytes: ipfix([ipfixTemplates(simple)]), port: 1000 },
      { bytes: ipfix([dataSet(simple, simpleRecord(1))]), port: 2000 },
    ],
  ],
  [
    "ipfix-two-ports-disagree-on-a-template",
    [
      { bytes: ipfix([ipfixTemplates(simple)]), port: 1000 },
      { bytes: ipfix([ipfixTemplates({ id: 256, fields: fields([12, 4], [8, 4], [2, 4]) })]), port: 2000 },
      { bytes: ipfix([dataSet(simple, simpleRecord(1))]), port: 3000 },
      { bytes: ipfix([dataSet(simple, simpleRecord(1))]), port: 2000 },
    ],
  ],
  [
    "ipfix-length-longer-than-the-datagram",
    [ipfix([ipfixTemplates(simple), dataSet(simple, simpleRecord(1))], { length: 500 })],
  ],
  [
    "ipfix-length-forgets-the-padding-of-the-last-set",
    [
      ipfix([ipfixTemplates({ id: 256, fields: fields([7, 2], [4, 1]) }), packetSet(256, uints([53, 2], [17, 1]))], {
        length: 16 + 16 + 7,
      }),
    ],
  ],
  ["ipfix-zeros-behind-the-message", [Buffer.concat([ipfixSimple(simpleRecord(1)), Buffer.alloc(2)])]],
  ["ipfix-bytes-behind-the-message", [Buffer.concat([ipfixSimple(simpleRecord(1)), hex("00ff")])]],
  [
    "ipfix-template-cut-within-an-enterprise-number",
    [ipfix([packetSet(2, hex("0100 0001 8028 0002 0000"), { pad: false })])],
  ],
  ["ipfix-options-template-with-more-scopes-than-fields", [ipfix([packetSet(3, hex("0100 0001 0002 0095 0004"))])]],
  [
    "ipfix-options-template-without-scopes",
    [
      ipfixRecord({ id: 256, scopeCount: 0, fields: fields([34, 4]) }, [uint(64, 4)]),
      ipfixRecord({ ...simple, id: 257 }, simpleRecord(10)),
    ],
  ],
  ["ipfix-empty-message", [ipfix([])]],
  ["ipfix-header-cut", [ipfix([]).subarray(0, 15)]],

  ...sflowGoldenCases,

  ["datagram-of-sflow", [hex("00000005 00000001 c0a877b8 00000000 00000000 00000000 00000000")]],
  ["datagram-of-netflow-8", [uint(8, 2)]],
  ["datagram-of-one-byte", [hex("00")]],
  ["datagram-of-no-bytes", [Buffer.alloc(0)]],
  ["exporter-on-a-dual-stack-socket", [{ bytes: netflow5([{}]), address: "::ffff:192.0.2.9" }]],
  ["exporter-with-a-zone", [{ bytes: netflow5([{}]), address: "fe80::1%eth0" }]],
];
