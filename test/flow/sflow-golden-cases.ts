import {
  hex,
  ipv4,
  uint,
  address,
  counterSample,
  discardSample,
  ethernet,
  expandedCounterSample,
  expandedFlowSample,
  flowSample,
  ipv4Packet,
  ipv6Packet,
  opaque,
  sampledHeader,
  sflow,
  structure,
  tcp,
  udp,
  words,
} from "../../packages/testkit/index.ts";
import type { GoldenCase } from "./golden-cases.ts";

const v6 = hex("20010db8000000000000000000000009");
const web = ethernet(0x0800, ipv4Packet(tcp(0x18)));
const webHeader = sampledHeader(web);
const etherIpv4 = 0x0800;
const etherIpv6 = 0x86dd;
const etherMpls = 0x8847;

/** One flow sample with the header of one packet. */
const ofPacket = (frame: Buffer, protocol = 1): Buffer => sflow([flowSample([sampledHeader(frame, 1000, protocol)])]);
const ofRecords = (...records: Buffer[]): Buffer => sflow([flowSample(records)]);
const ofUdp = (port: number, payload: Buffer): Buffer =>
  ofPacket(ethernet(etherIpv4, ipv4Packet(udp(port, payload), { protocol: 17 })));

/** A structure of increasing numbers: `32` for an integer, `64` for a hyper. */
const counting = (format: number, widths: readonly (32 | 64)[]): Buffer =>
  structure(format, Buffer.concat(widths.map((width, i) => uint(format * 100 + i, width / 8))));
const integers = (count: number): 32[] => Array.from({ length: count }, () => 32);

const integersFrom = (first: number, count: number): number[] => Array.from({ length: count }, (_, i) => first + i);
/** An address, padded as XDR has it. */
const mac = (last: number): Buffer => Buffer.from([0, 0, 0x5e, 0, 0x53, last, 0, 0]);

const netif = structure(
  1,
  Buffer.concat([
    words(3, 6),
    uint(10_000_000_000, 8),
    words(1, 3),
    uint(2n ** 63n, 8),
    words(1, 2, 0xffff_ffff, 4, 5, 0xffff_ffff),
    uint(0xffff_ffff_ffff_ffffn, 8),
    words(7, 8, 9, 10, 11, 2),
  ]),
);

const path = words(2, 2, 2, 64_500, 64_501, 1, 2, 64_502, 64_503);
const gateway = structure(
  1003,
  Buffer.concat([
    address("203.0.113.1"),
    words(64_496, 64_497, 64_498),
    path,
    words(2, 64_496 * 65_536 + 100, 0xffff_ff01),
    words(150),
  ]),
);

const aFloat = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatBE(value);
  return bytes;
};

const ofIp = (protocol: number, payload: Buffer): Buffer =>
  ofPacket(ethernet(etherIpv4, ipv4Packet(payload, { protocol })));
const join = (...parts: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? hex(part) : part)));
const dns4 = ipv4Packet(udp(53), { protocol: 17 });
const dns6 = ipv6Packet(17, udp(53));
const arp = ethernet(0x0806, hex("0001 0800 0604 0001"));
/** A frame of IEEE 802.11 from a station to its access point: data with quality of service, LLC, SNAP, IPv4. */
const toAccessPoint = join("8801 0000 00005e005302 00005e0053ff 00005e005301 1000 0000", "aaaa03000000 0800", dns4);

/** Tunnels of sampled packets, by the documents that describe them, whole, cut and wrong. */
const tunnelCases: readonly GoldenCase[] = [
  ["sflow-eompls-with-control-word", [ofPacket(ethernet(etherMpls, join("0006 4040 000c 8140 00000001", web)))]],
  ["sflow-eompls-without-control-word", [ofPacket(ethernet(etherMpls, join("0006 4140", web)))]],
  [
    "sflow-eompls-tagged-frame",
    [ofPacket(ethernet(etherMpls, join("0006 4140 00000000", ethernet(etherIpv6, dns6, "8100 0064"))))],
  ],
  ["sflow-eompls-later-fragment", [ofPacket(ethernet(etherMpls, join("0006 4140 00c00001", web)))]],
  ["sflow-eompls-associated-channel", [ofPacket(ethernet(etherMpls, join("0006 4140 10000021", dns4, dns4)))]],
  ["sflow-eompls-cut-in-its-frame", [ofPacket(ethernet(etherMpls, join("0006 4140 00000000", web.subarray(0, 13))))]],
  ["sflow-teredo", [ofUdp(3544, dns6)]],
  [
    "sflow-teredo-with-authentication-and-origin",
    [ofUdp(3544, join("0001 0402 aabbccdd eeff 0011223344556677 00", "0000 1234 3ffffdfe", dns6))],
  ],
  ["sflow-teredo-from-its-server", [ofIp(17, join("0dd8 c001 0040 0000", "0000 1234 3ffffdfe", dns6))]],
  ["sflow-teredo-authentication-longer-than-the-packet", [ofUdp(3544, join("0001 ffff", dns6))]],
  ["sflow-teredo-port-of-something-else", [ofUdp(3544, hex("16030100c8010000c40303"))]],
  ["sflow-mpls-in-udp", [ofUdp(6635, join("0006 4040 000c 8140", dns4))]],
  ["sflow-mpls-in-udp-with-a-frame", [ofUdp(6635, join("0006 4140 00000000", web))]],
  ["sflow-mpls-in-udp-without-bottom", [ofUdp(6635, join("0006 4040 000c 8040"))]],
  ["sflow-vxlan-gpe-of-ipv6", [ofUdp(4790, join("0c000002 00112200", dns6))]],
  [
    "sflow-vxlan-gpe-with-nsh",
    [ofUdp(4790, join("0c000004 00112200", "0fc60103 00002afe 00000000 00000000 00000000 00000000", web))],
  ],
  ["sflow-vxlan-gpe-of-oam", [ofUdp(4790, join("0d000003 00112200", web))]],
  ["sflow-vxlan-gpe-of-another-version", [ofUdp(4790, join("1c000003 00112200", web))]],
  ["sflow-nsh-over-ethernet", [ofPacket(ethernet(0x894f, join("0fc20201 00002aff", dns4)))]],
  ["sflow-nsh-with-a-length-of-nothing", [ofPacket(ethernet(0x894f, join("0fc00201 00002aff", dns4)))]],
  ["sflow-capwap-of-ethernet", [ofUdp(5247, join("0010 8000 00000000", web))]],
  ["sflow-capwap-of-a-radio", [ofUdp(5247, join("0010 4300 00000000", toAccessPoint))]],
  [
    "sflow-capwap-with-radio-address-and-wireless-information",
    [
      ofIp(
        17,
        join("147f 2710 0080 0000", "0030 4330 00000000", "06 00005e005302 00", "04 d2280024 000000", toAccessPoint),
      ),
    ],
  ],
  ["sflow-capwap-encrypted-by-dtls", [ofUdp(5247, hex("01000000 16fefd0000000000000000"))]],
  ["sflow-capwap-keep-alive", [ofUdp(5247, hex("0010 0008 00000000 0016000a"))]],
  ["sflow-capwap-later-fragment", [ofUdp(5247, join("0010 4380 00010040", dns4))]],
  [
    "sflow-capwap-frame-that-is-encrypted",
    [
      ofUdp(
        5247,
        join("0010 4300 00000000", "0841 0000 00005e005302 00005e0053ff 00005e005301 1000", "0102030405060708"),
      ),
    ],
  ],
  [
    "sflow-capwap-aggregated-frames",
    [
      ofUdp(
        5247,
        join(
          "0010 4300 00000000",
          "8802 0000 00005e005301 00005e005302 00005e0053ff 1000 8000",
          ethernet(46, join("aaaa03000000 0800", dns4)),
        ),
      ),
    ],
  ],
  ["sflow-header-of-802-11", [ofPacket(toAccessPoint, 15)]],
  ["sflow-wccp-with-redirect-header", [ofIp(47, join("0000 883e 80 3d 0000", dns4))]],
  ["sflow-wccp-without-redirect-header", [ofIp(47, join("0000 883e", dns4))]],
  ["sflow-wccp-cut-in-its-header", [ofIp(47, hex("0000 883e 803d"))]],
  ["sflow-ethernet-in-srv6", [ofPacket(ethernet(0x86dd, ipv6Packet(143, web)))]],
  ["sflow-ethernet-in-srv6-cut", [ofPacket(ethernet(0x86dd, ipv6Packet(143, web.subarray(0, 13))))]],
  ["sflow-backbone-bridge", [ofPacket(ethernet(0x88e7, join("20 00abcd", web), "88a8 0007"))]],
  ["sflow-backbone-bridge-of-arp", [ofPacket(ethernet(0x88e7, join("00 00abcd", arp)))]],
  ["sflow-backbone-bridge-cut-in-its-tag", [ofPacket(ethernet(0x88e7, hex("0000ab")))]],
  [
    "sflow-three-packets-around-one-another",
    [
      ofIp(
        47,
        join(
          "1000 88be 00000001 1064 0005 00000000",
          ethernet(etherIpv4, ipv4Packet(udp(2152, join("30ff 0028 0000abcd", dns4)), { protocol: 17 })),
        ),
      ),
    ],
  ],
  [
    "sflow-sampled-ipv4-beside-a-packet-in-a-tunnel",
    [
      ofRecords(
        structure(3, Buffer.concat([words(1500, 17), ipv4("192.0.2.1"), ipv4("198.51.100.2"), words(1, 2, 0, 0)])),
        sampledHeader(ethernet(etherIpv4, ipv4Packet(dns6, { protocol: 41 }))),
      ),
    ],
  ],
];

export const sflowGoldenCases: readonly GoldenCase[] = [
  ...tunnelCases,
  ["sflow-tcp-over-ethernet", [ofPacket(web)]],
  ["sflow-agent-of-ipv6-and-sub-agent", [sflow([flowSample([webHeader])], { agent: v6, subAgent: 7 })]],
  ["sflow-agent-without-address", [sflow([flowSample([webHeader])], { withoutAgent: true })]],
  ["sflow-sampled-at-the-way-out", [sflow([flowSample([webHeader], { source: 4 })])]],
  ["sflow-in-and-out-the-same", [sflow([flowSample([webHeader], { input: 3, output: 3 })])]],
  ["sflow-rate-of-zero", [sflow([flowSample([webHeader], { rate: 0 })])]],
  ["sflow-discarded-by-ttl", [sflow([flowSample([webHeader], { output: 0x4000_0101 })])]],
  ["sflow-to-several-interfaces", [sflow([flowSample([webHeader], { output: 0x8000_000a })])]],
  ["sflow-sampled-at-one-of-several-ways-out", [sflow([flowSample([webHeader], { source: 9, output: 0x8000_000a })])]],
  ["sflow-from-the-device-itself", [sflow([flowSample([webHeader], { input: 0x3fff_ffff, source: 4 })])]],
  ["sflow-interface-of-no-known-format", [sflow([flowSample([webHeader], { output: 0xc000_0005 })])]],
  [
    "sflow-expanded-samples",
    [
      sflow([
        expandedFlowSample([webHeader], [0, 0x1234_5678, 1, 258]),
        expandedFlowSample([webHeader], [0, 3, 2, 0], { sequence: 2, sourceType: 1, source: 0x1234_5678 }),
        expandedCounterSample([netif], 0, 0x1234_5678),
      ]),
    ],
  ],
  ["sflow-vlan-tag", [ofPacket(Buffer.concat([web.subarray(0, 12), hex("8100 6064"), web.subarray(12)]))]],
  ["sflow-two-vlan-tags", [ofPacket(ethernet(etherIpv4, ipv4Packet(tcp(2)), "88a8 2064 8100 e0c8"))]],
  [
    "sflow-vlan-of-the-switch-and-of-the-tag",
    [
      ofRecords(
        sampledHeader(ethernet(etherIpv4, ipv4Packet(tcp(2)), "8100 0064")),
        structure(1001, words(200, 0xffff_ffff, 300, 5)),
      ),
    ],
  ],
  ["sflow-llc-snap", [ofPacket(ethernet(60, Buffer.concat([hex("aaaa03000000 0800"), ipv4Packet(tcp(16))])))]],
  ["sflow-llc-without-snap", [ofPacket(ethernet(38, hex("424203 0000000000")))]],
  ["sflow-arp", [ofPacket(ethernet(0x0806, hex("0001 0800 0604 0001")))]],
  ["sflow-pppoe", [ofPacket(ethernet(0x8864, Buffer.concat([hex("1100 0007 0030 0021"), ipv4Packet(tcp(16))])))]],
  [
    "sflow-mpls-stack",
    [ofPacket(ethernet(etherMpls, Buffer.concat([hex("0006 4440 00c8 0b40"), ipv4Packet(tcp(16))])))],
  ],
  ["sflow-mpls-pseudowire", [ofPacket(ethernet(etherMpls, Buffer.concat([hex("0006 4140"), hex("00000000"), web])))]],
  ["sflow-ipv4-with-options", [ofPacket(ethernet(etherIpv4, ipv4Packet(tcp(0x12), { options: hex("94040000") })))]],
  [
    "sflow-ipv4-first-fragment",
    [ofPacket(ethernet(etherIpv4, ipv4Packet(udp(53), { protocol: 17, fragment: 0x2000 })))],
  ],
  [
    "sflow-ipv4-later-fragment",
    [ofPacket(ethernet(etherIpv4, ipv4Packet(udp(53), { protocol: 17, fragment: 0x20b9 })))],
  ],
  [
    "sflow-ipv4-padded-frame",
    [ofPacket(ethernet(etherIpv4, ipv4Packet(Buffer.alloc(26), { protocol: 17, length: 20 })))],
  ],
  ["sflow-ipv4-length-zero", [ofPacket(ethernet(etherIpv4, ipv4Packet(tcp(16), { length: 0 })))]],
  ["sflow-ipv4-cut-in-its-addresses", [ofPacket(web.subarray(0, 30))]],
  ["sflow-tcp-cut-before-its-flags", [ofPacket(web.subarray(0, 40))]],
  ["sflow-icmp", [ofPacket(ethernet(etherIpv4, ipv4Packet(hex("0301 0000"), { protocol: 1 })))]],
  ["sflow-igmp", [ofPacket(ethernet(etherIpv4, ipv4Packet(hex("1600 0000"), { protocol: 2 })))]],
  ["sflow-sctp", [ofPacket(ethernet(etherIpv4, ipv4Packet(hex("0b59 0b5a 0000 0000"), { protocol: 132 })))]],
  ["sflow-ipv6", [ofPacket(ethernet(etherIpv6, ipv6Packet(6, tcp(0x11))))]],
  [
    "sflow-ipv6-extension-headers",
    [
      ofPacket(
        ethernet(
          etherIpv6,
          ipv6Packet(0, Buffer.concat([hex("3c00050200000100 3a01050200000100 0000000000000000"), hex("8f000000")])),
        ),
      ),
    ],
  ],
  [
    "sflow-ipv6-fragments",
    [
      ofPacket(ethernet(etherIpv6, ipv6Packet(44, Buffer.concat([hex("1100 0001 89abcdef"), udp(53)])))),
      ofPacket(ethernet(etherIpv6, ipv6Packet(44, Buffer.concat([hex("1100 05c8 89abcdef"), udp(53)])))),
    ],
  ],
  ["sflow-ipv6-cut-in-an-extension", [ofPacket(ethernet(etherIpv6, ipv6Packet(0, hex("3a07 0502"), 400)))]],
  ["sflow-header-of-ipv4-alone", [ofPacket(ipv4Packet(udp(53), { protocol: 17 }), 11)]],
  ["sflow-header-of-ipv6-alone", [ofPacket(ipv6Packet(17, udp(53)), 12)]],
  ["sflow-header-of-ppp-without-a-packet", [ofPacket(hex("ff03 c021 0901 0008 12345678"), 7)]],
  ["sflow-header-of-802-11-without-data", [ofPacket(hex("8000 0000 ffffffffffff 00005e005301 00005e005301 0010"), 15)]],
  ["sflow-header-cut-in-its-addresses", [ofPacket(hex("00005e0053ff 00005e00"))]],
  ["sflow-header-of-ppp", [ofPacket(Buffer.concat([hex("ff03 0057"), ipv6Packet(17, udp(53))]), 7)]],
  ["sflow-header-of-token-ring", [ofPacket(hex("1040 0011223344"), 3)]],
  [
    "sflow-gre-with-key",
    [
      ofPacket(
        ethernet(
          etherIpv4,
          ipv4Packet(Buffer.concat([hex("2000 0800 0000002a"), ipv4Packet(tcp(2))]), { protocol: 47 }),
        ),
      ),
    ],
  ],
  [
    "sflow-gre-of-ethernet",
    [
      ofPacket(
        ethernet(
          etherIpv4,
          ipv4Packet(Buffer.concat([hex("0000 6558"), ethernet(etherIpv6, ipv6Packet(6, tcp(2)), "8100 0009")]), {
            protocol: 47,
          }),
        ),
      ),
    ],
  ],
  [
    "sflow-erspan",
    [
      ofPacket(
        ethernet(
          etherIpv4,
          ipv4Packet(Buffer.concat([hex("1000 88be 00000001 1064 0005 00000000"), web]), { protocol: 47 }),
        ),
      ),
    ],
  ],
  ["sflow-ip-in-ip", [ofPacket(ethernet(etherIpv4, ipv4Packet(ipv6Packet(17, udp(53)), { protocol: 41 })))]],
  ["sflow-vxlan", [ofUdp(4789, Buffer.concat([hex("08000000 00112200"), web]))]],
  ["sflow-l2tp", [ofUdp(1701, join("0002 0001 0002", "ff03 0021", dns4))]],
  ["sflow-l2tp-with-everything-optional", [ofUdp(1701, join("4b02 0100 0001 0002 0005 0006 0002 0000", "57", dns6))]],
  ["sflow-l2tp-control-message", [ofUdp(1701, hex("c802 000c 0001 0000 0000 0000"))]],
  ["sflow-l2tp-of-another-version", [ofUdp(1701, join("0003 0000 00000001", "ff03 0021", dns4))]],
  ["sflow-l2tp-cut-in-its-offset", [ofUdp(1701, hex("0202 0001 0002 00ff 0000"))]],
  ["sflow-pptp", [ofIp(47, join("3081 880b 0020 0007 00000001 00000009", "ff03 0021", dns4))]],
  ["sflow-pptp-acknowledgement", [ofIp(47, hex("2081 880b 0000 0007 00000009"))]],
  ["sflow-pptp-without-key", [ofIp(47, hex("1001 880b 00000001 ff030021"))]],
  ["sflow-vxlan-of-a-group", [ofUdp(4789, Buffer.concat([hex("88000064 00112200"), web]))]],
  ["sflow-vxlan-with-a-next-protocol", [ofUdp(4789, Buffer.concat([hex("0c000003 00112200"), web]))]],
  ["sflow-vxlan-with-reserved-bits", [ofUdp(4789, Buffer.concat([hex("7bffffff 001122ff"), web]))]],
  ["sflow-gre-in-udp", [ofUdp(4754, join("2000 0800 00000007", dns4))]],
  ["sflow-fabricpath", [ofPacket(ethernet(0x8903, join("0060", web)))]],
  ["sflow-vxlan-port-of-something-else", [ofUdp(4789, hex("c0ffee00 11223344 55667788"))]],
  ["sflow-geneve-with-options", [ofUdp(6081, Buffer.concat([hex("0200 6558 00112200 0102800100000000"), web]))]],
  [
    "sflow-gtp-u-with-extension",
    [ofUdp(2152, Buffer.concat([hex("34ff 0030 0000abcd 0000 0085 01100500"), ipv4Packet(tcp(16))]))],
  ],
  [
    "sflow-sampled-ethernet-and-ipv4",
    [
      ofRecords(
        structure(2, Buffer.concat([words(1514), hex("00005e005301 0000 00005e0053ff 0000"), words(0x0800)])),
        structure(
          3,
          Buffer.concat([words(1500, 6), ipv4("192.0.2.1"), ipv4("198.51.100.2"), words(40_000, 443, 0x12, 0xb9)]),
        ),
      ),
    ],
  ],
  [
    "sflow-sampled-ipv4-with-the-data-offset",
    [
      ofRecords(
        structure(3, Buffer.concat([words(40, 6), ipv4("192.0.2.1"), ipv4("198.51.100.2"), words(1, 2, 0x5012, 0)])),
      ),
    ],
  ],
  ["sflow-sampled-ipv6", [ofRecords(structure(4, Buffer.concat([words(1400, 17), v6, v6, words(53, 5353, 0, 0x20)])))]],
  [
    "sflow-header-beside-sampled-ipv4",
    [
      ofRecords(
        structure(3, Buffer.concat([words(1500, 17), ipv4("192.0.2.77"), ipv4("192.0.2.78"), words(1, 2, 0, 0)])),
        webHeader,
      ),
    ],
  ],
  [
    "sflow-router-and-gateway",
    [ofRecords(webHeader, structure(1002, Buffer.concat([address(v6), words(24, 16)])), gateway)],
  ],
  [
    "sflow-gateway-with-an-empty-path",
    [ofRecords(webHeader, structure(1003, Buffer.concat([address("203.0.113.1"), words(64_496, 0, 0, 0, 0, 100)])))],
  ],
  [
    "sflow-gateway-between-peers",
    [
      ofRecords(
        webHeader,
        structure(
          1003,
          Buffer.concat([address("203.0.113.1"), words(64_496, 64_500, 64_500, 1, 2, 1, 64_501, 0, 100)]),
        ),
      ),
    ],
  ],
  [
    "sflow-gateway-of-no-system",
    [ofRecords(webHeader, structure(1003, Buffer.concat([address(undefined), words(0, 0, 0, 0, 0, 0)])))],
  ],
  [
    "sflow-user-url-and-nat",
    [
      ofRecords(
        webHeader,
        structure(1004, Buffer.concat([words(106), opaque("alice"), words(106), opaque("")])),
        structure(1005, Buffer.concat([words(1), opaque("/index.html"), opaque("www.example.org")])),
        structure(1007, Buffer.concat([address("203.0.113.7"), address("203.0.113.8")])),
        structure(1020, words(61_000, 8443)),
      ),
    ],
  ],
  [
    "sflow-mpls-records",
    [
      ofRecords(
        structure(1006, Buffer.concat([address("203.0.113.1"), words(2, 0x0006_4440, 0x00c8_0b40, 0)])),
        structure(1008, Buffer.concat([opaque("lsp-1"), words(5, 6)])),
        structure(1009, Buffer.concat([opaque("vc-1"), words(7, 8)])),
        structure(1010, Buffer.concat([opaque("ftn"), words(9)])),
        structure(1011, words(24)),
        structure(1012, words(2, 0x8100_0064, 0x88a8_00c8)),
      ),
    ],
  ],
  [
    "sflow-tunnel-records",
    [
      ofRecords(
        structure(1021, Buffer.concat([words(100), hex("00005e005301 0000 00005e0053ff 0000"), words(0x0800)])),
        structure(1024, Buffer.concat([words(1500, 47), ipv4("192.0.2.1"), ipv4("192.0.2.2"), words(0, 0, 0, 0)])),
        structure(1025, Buffer.concat([words(1500, 17), v6, v6, words(1, 4789, 0, 0)])),
        structure(1028, words(50)),
        structure(1029, words(5001)),
        structure(1030, words(5002)),
      ),
    ],
  ],
  [
    "sflow-tunnels-on-the-way-in-and-tags",
    [
      ofRecords(
        structure(1022, Buffer.concat([words(100), hex("00005e005301 0000 00005e0053ff 0000"), words(0x0800)])),
        structure(1027, words(50)),
        structure(1034, words(2, 0x8100_0064, 0x8100_00c8)),
        structure(1035, words(1, 0x8100_012c)),
      ),
    ],
  ],
  ["sflow-to-the-device-itself", [sflow([flowSample([webHeader], { output: 0x3fff_ffff })])]],
  ["sflow-from-an-interface-of-no-known-format", [sflow([flowSample([webHeader], { input: 0xc000_0005 })])]],
  [
    "sflow-counters-all-known",
    [
      sflow([
        counterSample([
          counting(1, [32, 32, 64, 32, 32, 64, 32, 32, 32, 32, 32, 32, 64, 32, 32, 32, 32, 32, 32]),
          counting(1001, [32, 32, 32, 64, 64]),
        ]),
      ]),
    ],
  ],
  [
    "sflow-queue-transit-and-socket",
    [
      ofRecords(
        structure(1036, words(3)),
        structure(1039, words(1500)),
        structure(1040, words(9000)),
        structure(2100, Buffer.concat([words(6), ipv4("192.0.2.1"), ipv4("192.0.2.2"), words(22, 50_000)])),
        structure(2209, words(1, 1448, 1448, 0, 1, 2, 1500, 250, 30, 10, 3, 200)),
      ),
    ],
  ],
  [
    "sflow-requests-of-http-and-of-an-application",
    [
      ofRecords(
        structure(2100, Buffer.concat([words(6), ipv4("192.0.2.1"), ipv4("192.0.2.2"), words(80, 50_000)])),
        structure(2102, Buffer.concat([words(6), ipv4("192.0.2.1"), ipv4("192.0.2.3"), words(50_001, 8080)])),
        structure(
          2206,
          Buffer.concat([
            words(2, 1001),
            ...["/a?b=c", "www.example.com", "", "curl/8.5.0", "192.0.2.9", "alice", "text/html"].map(opaque),
            words(0, 120, 1, 5, 800, 200),
          ]),
        ),
        structure(2207, Buffer.concat([opaque("/a"), opaque("app-1.example.com")])),
      ),
      ofRecords(
        structure(2103, Buffer.concat([words(6), v6, v6, words(50_001, 8080)])),
        structure(
          2202,
          Buffer.concat([
            ...["shop", "payment", "cc=visa", "unknown client"].map(opaque),
            words(0, 120, 0, 5400, 800, 4),
          ]),
        ),
        structure(2203, Buffer.concat(["portal", "checkout", ""].map(opaque))),
        structure(2204, opaque("alice")),
        structure(2205, opaque("bob")),
      ),
    ],
  ],
  [
    "sflow-discarded-packet",
    [
      sflow([
        discardSample(
          [
            webHeader,
            structure(1037, Buffer.concat([words(7), opaque("acl-in"), words(1)])),
            structure(1038, opaque("ip_forward")),
            structure(1041, Buffer.concat([opaque("l3_drops"), opaque("ttl_value_is_too_small")])),
            structure(1042, opaque("IP_INHDR")),
          ],
          258,
        ),
      ]),
    ],
  ],
  ["sflow-discarded-for-a-reason-without-a-name", [sflow([discardSample([webHeader], 9999)])]],
  [
    "sflow-flow-records-of-no-known-format",
    [ofRecords(webHeader, structure(7, hex("c0ffee"), 9), structure(7, hex("cafe"), 9), structure(4000, words(1)))],
  ],
  ["sflow-switch-data-of-six-bytes", [ofRecords(webHeader, structure(1001, hex("00000064 0005")))]],
  ["sflow-switch-data-of-six-bytes-without-a-vlan", [ofRecords(webHeader, structure(1001, hex("0064 05 00c8 03")))]],
  ["sflow-packet-with-its-time", [ofRecords(webHeader, structure(1043, uint(1_700_000_000_123_456_789n, 8)))]],
  ["sflow-two-headers", [ofRecords(webHeader, webHeader)]],
  [
    "sflow-two-switch-records-that-differ",
    [ofRecords(structure(1001, words(1, 2, 3, 4)), structure(1001, words(1, 2, 3, 5)))],
  ],
  ["sflow-record-longer-than-known", [ofRecords(structure(1036, words(3, 4)))]],
  ["sflow-sample-without-records", [ofRecords()]],
  ["sflow-sample-of-no-known-format", [sflow([structure(1, hex("c0ffee00"), 4413), flowSample([webHeader])])]],

  ["sflow-counters-of-an-interface", [sflow([counterSample([netif, counting(2, integers(13))])])]],
  [
    "sflow-counters-of-other-media",
    [
      sflow([
        counterSample([counting(3, integers(18))]),
        counterSample([counting(4, [32, 64, 32, 64, 32, 32, 32, 32, 32, 64, 32, 64, 64, 64])]),
        counterSample([counting(5, [32, 64, 32, 32, 32, 32])]),
        counterSample([counting(6, integers(20)), counting(1002, integers(3))]),
        counterSample([
          structure(
            7,
            Buffer.concat([
              hex("00005e005301 0000 00005e0053ff 0000"),
              words(9),
              hex("3d3d0000"),
              words(1, 2, 3, 4, 5, 6, 7, 8),
            ]),
          ),
        ]),
        counterSample([
          structure(1001, Buffer.concat([words(1250, 0xffff_ffff, 300), uint(2 ** 33, 8), uint(2 ** 32, 8)])),
        ]),
        counterSample([
          structure(1004, Buffer.concat([uint(2n ** 60n, 8), words(4)])),
          structure(1005, opaque("eno1")),
        ]),
      ]),
    ],
  ],
  [
    "sflow-counters-of-a-host",
    [
      sflow([
        expandedCounterSample(
          [
            structure(
              2000,
              Buffer.concat([
                opaque("server-1"),
                hex("00112233445566778899aabbccddeeff"),
                words(3, 2),
                opaque("6.1.0"),
              ]),
            ),
            structure(
              2003,
              Buffer.concat([
                aFloat(0.1),
                aFloat(1.25),
                aFloat(Number.NaN),
                words(...Array.from({ length: 14 }, (_, i) => i + 1)),
              ]),
            ),
            counting(2004, [64, 64, 64, 64, 64, 64, 64, 32, 32, 32, 32]),
            counting(2005, [64, 64, 32, 32, 64, 32, 32, 64, 32]),
            counting(2006, [64, 32, 32, 32, 64, 32, 32, 32]),
            structure(2001, words(0)),
          ],
          2,
          1,
        ),
        expandedCounterSample(
          [
            counting(2007, integers(19)),
            counting(2008, integers(25)),
            counting(2009, integers(15)),
            counting(2010, integers(7)),
          ],
          2,
          1,
        ),
      ]),
    ],
  ],
  [
    "sflow-counters-of-optics-and-adapters",
    [
      sflow([
        counterSample([
          structure(10, words(3, 4, 3_300, 0xffff_8300, 2, ...integersFrom(1, 10), ...integersFrom(101, 10))),
          structure(2001, Buffer.concat([words(2, 1, 1), mac(1), words(2, 2), mac(2), mac(3)])),
        ]),
        counterSample([structure(10, words(3, 0, 0, 0, 0)), structure(2001, words(2, 7, 0, 8, 0))]),
        counterSample([structure(10, words(3, 4, 3_300, 25_000, 0xffff_ffff, ...integersFrom(1, 10)))]),
        counterSample([structure(2001, Buffer.concat([words(0xffff_ffff, 1, 0xffff_ffff), mac(1)]))]),
      ]),
    ],
  ],
  [
    "sflow-of-a-radio",
    [
      sflow([
        flowSample([
          structure(1014, Buffer.concat([opaque("guests"), mac(9), words(4, 36, 0, 300_000_000, 40, 90, 55)])),
          structure(1015, Buffer.concat([opaque("guests"), mac(9), words(4, 2, 60, 70, 36, 0, 300_000_000, 100)])),
        ]),
      ]),
    ],
  ],
  [
    "sflow-counters-of-machines-and-applications",
    [
      sflow([
        counterSample([structure(2002, words(2, 1)), counting(2100, [32, 32, 64, 64, 32])]),
        counterSample([
          counting(2101, integers(3)),
          counting(2102, [64, 64]),
          counting(2103, [64, 64, 64, 32, 64, 32, 64, 32]),
          counting(2104, [64, 32, 32, 32, 64, 32, 32, 32]),
        ]),
        counterSample([
          structure(2105, Buffer.concat([opaque("jvm"), opaque("vendor"), opaque("17")])),
          counting(2106, [...Array.from({ length: 8 }, () => 64 as const), ...integers(11)]),
        ]),
        counterSample([
          counting(2201, integers(15)),
          structure(2202, Buffer.concat([opaque("shop"), words(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)])),
          counting(2203, [32, 32, 64, 64, 32, 32, 32, 32]),
          counting(2206, integers(5)),
        ]),
        counterSample([
          counting(2207, integers(6)),
          counting(3000, integers(6)),
          structure(3001, words(0xffff_fffb, 40, 0)),
          counting(3002, integers(1)),
          counting(3003, integers(3)),
        ]),
      ]),
    ],
  ],
  [
    "sflow-counters-of-caches-and-graphics-processors",
    [
      sflow([
        counterSample([counting(2204, [...integers(27), 64, 64, 64, 64])]),
        counterSample([structure(1, words(1, 2, 3, 4, 0, 5, 0, 6, 7, 8, 61, 40), 5703)]),
      ]),
    ],
  ],
  ["sflow-counters-of-no-known-format", [sflow([counterSample([structure(5, words(1, 2), 5703)])])]],
  [
    "sflow-host-cpu-of-a-newer-version",
    [sflow([counterSample([structure(2003, words(0, 0, 0, ...Array.from({ length: 20 }, (_, i) => i + 1)))])])],
  ],

  ["sflow-header-cut", [sflow([]).subarray(0, 27)]],
  ["sflow-agent-of-no-known-family", [Buffer.concat([words(5, 3), Buffer.alloc(40)])]],
  ["sflow-count-claims-more-samples", [sflow([flowSample([webHeader])], { count: 0xffff_ffff })]],
  ["sflow-bytes-behind-the-samples", [Buffer.concat([sflow([flowSample([webHeader])]), hex("deadbeef")])]],
  [
    "sflow-sample-cut-by-the-datagram",
    [sflow([flowSample([structure(1001, words(1, 2, 3, 4)), webHeader])]).subarray(0, -30)],
  ],
  ["sflow-sample-cut-in-its-header", [sflow([flowSample([])]).subarray(0, -8)]],
  [
    "sflow-record-longer-than-its-sample",
    [
      sflow([
        structure(
          1,
          Buffer.concat([
            words(1, 3, 512, 5120, 0, 3, 4, 2),
            structure(1036, words(3)),
            words(1001, 0xffff_fff0, 1, 2),
          ]),
        ),
        flowSample([webHeader], { sequence: 2 }),
      ]),
    ],
  ],
  [
    "sflow-header-longer-than-its-record",
    [ofRecords(structure(1, Buffer.concat([words(1, 1000, 4, 0xffff_ffff), web])))],
  ],
  [
    "sflow-string-longer-than-its-record",
    [ofRecords(structure(1004, Buffer.concat([words(106), words(0x7fff_ffff), hex("616c6963")])))],
  ],
  [
    "sflow-list-of-claimed-billions",
    [
      ofRecords(
        structure(1012, words(0xffff_ffff, 1, 2)),
        structure(1003, Buffer.concat([address("203.0.113.1"), words(1, 2, 3, 0xffff_ffff, 2, 0x4000_0001)])),
      ),
    ],
  ],
  ["sflow-record-count-of-billions", [sflow([flowSample([webHeader], { count: 0xffff_ffff })])]],
  [
    "sflow-counters-cut",
    [sflow([structure(2, Buffer.concat([words(1, 3, 1), structure(5, words(100, 0, 5000, 7, 8).subarray(0, 18))]))])],
  ],
  [
    "sflow-samples-missing-and-dropped",
    [
      sflow([flowSample([webHeader], { sequence: 10, drops: 5 })]),
      sflow([flowSample([webHeader], { sequence: 13, drops: 9 }), counterSample([], 1)], { sequence: 2 }),
      sflow(
        [flowSample([webHeader], { sequence: 14, drops: 9 }), flowSample([webHeader], { sequence: 12, drops: 8 })],
        { sequence: 4 },
      ),
      sflow([flowSample([webHeader], { sequence: 1, drops: 0 })], { sequence: 1, uptime: 10 }),
      sflow([flowSample([webHeader], { sequence: 7 })], { agent: "192.0.2.251", sequence: 900 }),
    ],
  ],
];
