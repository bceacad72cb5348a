/** A type of ICMP: its name, and those of its codes. */
export type IcmpName = readonly [
  type: number,
  name: string,
  codes?: readonly (readonly [code: number, name: string])[],
];

const inOrder = (...names: readonly string[]): readonly (readonly [number, string])[] =>
  names.map((name, code) => [code, name]);

/** Types and codes of ICMP (IANA, "Internet Control Message Protocol (ICMP) Parameters"). */
const icmpNames: readonly IcmpName[] = [
  [0, "Echo Reply"],
  [
    3,
    "Destination Unreachable",
    inOrder(
      "Net Unreachable",
      "Host Unreachable",
      "Protocol Unreachable",
      "Port Unreachable",
      "Fragmentation Needed",
      "Source Route Failed",
      "Destination Network Unknown",
      "Destination Host Unknown",
      "Source Host Isolated",
      "Network Administratively Prohibited",
      "Host Administratively Prohibited",
      "Network Unreachable for Type of Service",
      "Host Unreachable for Type of Service",
      "Communication Administratively Prohibited",
      "Host Precedence Violation",
      "Precedence Cutoff in Effect",
    ),
  ],
  [4, "Source Quench"],
  [5, "Redirect", inOrder("Network", "Host", "Type of Service and Network", "Type of Service and Host")],
  [6, "Alternate Host Address"],
  [8, "Echo"],
  [
    9,
    "Router Advertisement",
    [
      [0, "Normal"],
      [16, "Does Not Route Common Traffic"],
    ],
  ],
  [10, "Router Solicitation"],
  [11, "Time Exceeded", inOrder("Time to Live Exceeded in Transit", "Fragment Reassembly Time Exceeded")],
  [12, "Parameter Problem", inOrder("Pointer", "Missing Required Option", "Bad Length")],
  [13, "Timestamp"],
  [14, "Timestamp Reply"],
  [15, "Information Request"],
  [16, "Information Reply"],
  [17, "Address Mask Request"],
  [18, "Address Mask Reply"],
  [30, "Traceroute"],
  [31, "Datagram Conversion Error"],
  [
    40,
    "Photuris",
    inOrder(
      "Bad SPI",
      "Authentication Failed",
      "Decompression Failed",
      "Decryption Failed",
      "Need Authentication",
      "Need Authorization",
    ),
  ],
  [42, "Extended Echo Request"],
  [
    43,
    "Extended Echo Reply",
    inOrder(
      "No Error",
      "Malformed Query",
      "No Such Interface",
      "No Such Table Entry",
      "Multiple Interfaces Satisfy Query",
    ),
  ],
];

/** The same of ICMPv6 (IANA, "Internet Control Message Protocol version 6 (ICMPv6) Parameters"). */
const icmpV6Names: readonly IcmpName[] = [
  [
    1,
    "Destination Unreachable",
    inOrder(
      "No Route to Destination",
      "Administratively Prohibited",
      "Beyond Scope of Source Address",
      "Address Unreachable",
      "Port Unreachable",
      "Source Address Failed Policy",
      "Reject Route to Destination",
      "Error in Source Routing Header",
      "Headers Too Long",
    ),
  ],
  [2, "Packet Too Big"],
  [3, "Time Exceeded", inOrder("Hop Limit Exceeded in Transit", "Fragment Reassembly Time Exceeded")],
  [
    4,
    "Parameter Problem",
    inOrder(
      "Erroneous Header Field",
      "Unrecognized Next Header",
      "Unrecognized IPv6 Option",
      "Incomplete Header Chain",
      "SR Upper-Layer Header Error",
      "Unrecognized Next Header by Intermediate Node",
      "Extension Header Too Big",
      "Extension Header Chain Too Long",
      "Too Many Extension Headers",
      "Too Many Options",
      "Option Too Big",
    ),
  ],
  [128, "Echo Request"],
  [129, "Echo Reply"],
  [130, "Multicast Listener Query"],
  [131, "Multicast Listener Report"],
  [132, "Multicast Listener Done"],
  [133, "Router Solicitation"],
  [134, "Router Advertisement"],
  [135, "Neighbor Solicitation"],
  [136, "Neighbor Advertisement"],
  [137, "Redirect"],
  [
    138,
    "Router Renumbering",
    [
      [0, "Command"],
      [1, "Result"],
      [255, "Sequence Number Reset"],
    ],
  ],
  [139, "Node Information Query", inOrder("IPv6 Address", "Name", "IPv4 Address")],
  [140, "Node Information Response", inOrder("Successful", "Refused", "Unknown Query Type")],
  [141, "Inverse Neighbor Discovery Solicitation"],
  [142, "Inverse Neighbor Discovery Advertisement"],
  [143, "Multicast Listener Report v2"],
  [144, "Home Agent Address Discovery Request"],
  [145, "Home Agent Address Discovery Reply"],
  [146, "Mobile Prefix Solicitation"],
  [147, "Mobile Prefix Advertisement"],
  [148, "Certification Path Solicitation"],
  [149, "Certification Path Advertisement"],
  [151, "Multicast Router Advertisement"],
  [152, "Multicast Router Solicitation"],
  [153, "Multicast Router Termination"],
  [154, "FMIPv6"],
  [155, "RPL Control"],
  [157, "Duplicate Address Request"],
  [158, "Duplicate Address Confirmation"],
  [159, "MPL Control"],
  [160, "Extended Echo Request"],
  [161, "Extended Echo Reply", inOrder("No Error", "Malformed Query", "No Such Interface", "No Such Table Entry")],
];

/** By the number of the protocol. */
export const icmpNamesOf: ReadonlyMap<number, readonly IcmpName[]> = new Map([
  [1, icmpNames],
  [58, icmpV6Names],
]);

const types = new Map(
  [...icmpNamesOf].map(([protocol, names]) => [
    protocol,
    new Map(names.map(([type, name, codes = []]) => [type, { name, codes: new Map(codes) }])),
  ]),
);

/** The name of a type, and the names of its codes. */
export function icmpName(
  protocol: number,
  type: number,
): { readonly name: string; readonly codes: ReadonlyMap<number, string> } | undefined {
  return types.get(protocol)?.get(type);
}
