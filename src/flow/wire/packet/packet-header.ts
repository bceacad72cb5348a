// Numbers in network byte order. The caller has checked that their bytes are there.

export function u16(b: Uint8Array, at: number): number {
  return ((b[at] as number) << 8) | (b[at + 1] as number);
}

export function u24(b: Uint8Array, at: number): number {
  return (u16(b, at) << 8) | (b[at + 2] as number);
}

export function u32(b: Uint8Array, at: number): number {
  return u16(b, at) * 0x10000 + u16(b, at + 2);
}

/** The carriers of a further packet: the payload of an IP protocol, an MPLS stack, an I-TAG, an NSH, FabricPath. */
export const contents = { ip: 0, labels: 1, backbone: 2, nsh: 3, fabricPath: 4 } as const;

/** Kinds of tunnels, by their number in {@link PacketHeader.tunnel}. */
export const tunnels = [
  "ipip",
  "gre",
  "erspan",
  "vxlan",
  "geneve",
  "gtp-u",
  "mpls-in-ip",
  "etherip",
  "eompls",
  "pbb",
  "teredo",
  "mpls-in-udp",
  "vxlan-gpe",
  "nsh",
  "capwap",
  "wccp",
  "l2tp",
  "pptp",
  "ethernet-in-ip",
  "gre-in-udp",
  "fabricpath",
] as const;
type Tunnel = (typeof tunnels)[number];
export const tunnelKinds = Object.fromEntries(tunnels.map((name, i) => [name, i])) as Readonly<Record<Tunnel, number>>;

export function createPacketHeader() {
  return {
    /** The offsets of the MAC addresses. */
    destinationMac: -1,
    sourceMac: -1,
    /** The type in the innermost tag; and where it is. */
    etherType: -1,
    typeAt: -1,
    /** Tag control information of the outer and the inner 802.1Q tag: priority in the upper three bits, VLAN in the lower twelve. */
    outerTag: -1,
    innerTag: -1,
    /** The offset of the MPLS label stack, and how many labels it has. */
    labels: -1,
    labelCount: 0,
    topLabel: -1,
    /** 4 or 6. */
    ipVersion: -1,
    /** The offsets of the addresses. */
    source: -1,
    destination: -1,
    /** The offset of the ports; -1 when there are none. */
    portsAt: -1,
    /** The byte of DSCP and ECN. */
    trafficClass: -1,
    /** Or hop limit. */
    ttl: -1,
    /** The IP packet's by its header, with the header. */
    ipLength: -1,
    flowLabel: -1,
    /** The fields of a packet that is a fragment. The offset counts units of 8 bytes; flags as IPFIX has them (197). */
    fragmentId: -1,
    fragmentOffset: -1,
    fragmentFlags: -1,
    /** The one behind all extension headers, as far as they are there. */
    protocol: -1,
    sourcePort: -1,
    destinationPort: -1,
    /** Nine bits. */
    tcpFlags: -1,
    icmpType: -1,
    icmpCode: -1,
    igmpType: -1,
    /** The content that follows the headers at the offset that the parser returns: a number of {@link contents}. */
    content: contents.ip as number,
    /** The tunnel whose header the packet carries ({@link tunnels}), and its identifier: VNI, key, TEID, I-SID. */
    tunnel: -1,
    tunnelId: -1,
    /** The service path of an NSH in it (RFC 8300): path identifier in the upper 24 bits, index in the lower eight. */
    servicePath: -1,
  };
}

/**
 * The content of the headers of one packet: offsets into the bytes that were parsed, and numbers; -1 where there is none. It is
 * filled again and again, so that parsing makes no objects.
 */
export type PacketHeader = ReturnType<typeof createPacketHeader>;

export function clearPacketHeader(header: PacketHeader): void {
  header.destinationMac = -1;
  header.sourceMac = -1;
  header.etherType = -1;
  header.typeAt = -1;
  header.outerTag = -1;
  header.innerTag = -1;
  header.labels = -1;
  header.labelCount = 0;
  header.topLabel = -1;
  header.ipVersion = -1;
  header.source = -1;
  header.destination = -1;
  header.portsAt = -1;
  header.trafficClass = -1;
  header.ttl = -1;
  header.ipLength = -1;
  header.flowLabel = -1;
  header.fragmentId = -1;
  header.fragmentOffset = -1;
  header.fragmentFlags = -1;
  header.protocol = -1;
  header.sourcePort = -1;
  header.destinationPort = -1;
  header.tcpFlags = -1;
  header.icmpType = -1;
  header.icmpCode = -1;
  header.igmpType = -1;
  header.content = contents.ip;
  header.tunnel = -1;
  header.tunnelId = -1;
  header.servicePath = -1;
}
