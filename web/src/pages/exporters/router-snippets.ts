/** The commands that make a router export. */
export interface SnippetTarget {
  /** The collector's address and port. */
  readonly address: string;
  readonly port: number;
}

/** Commands that make a kind of device send flows. */
export interface RouterSnippet {
  readonly id: string;
  readonly label: string;
  readonly protocol: "netflow9" | "ipfix" | "sflow";
  /** What has to be adapted. */
  readonly note: string;
  readonly text: (target: SnippetTarget) => string;
}

/** An address as the host part of `host:port`. */
const host = (address: string): string => (address.includes(":") ? `[${address}]` : address);

/** Templates each minute, active flows each minute: what a collector that has just started waits for, and how old its data are. */
export const routerSnippets: readonly RouterSnippet[] = [
  {
    id: "ios",
    label: "Cisco IOS (classic NetFlow)",
    protocol: "netflow9",
    note: "Repeat the lines of the interface for each one whose traffic is to be seen. Ingress on all of them counts each flow once.",
    text: ({ address, port }) => `ip flow-export version 9
ip flow-export destination ${address} ${port}
ip flow-export source Loopback0
ip flow-export template refresh-rate 1
ip flow-export template timeout-rate 1
ip flow-cache timeout active 1
ip flow-cache timeout inactive 15
!
interface GigabitEthernet0/0
 ip flow ingress`,
  },
  {
    id: "ios-xe",
    label: "Cisco IOS-XE (Flexible NetFlow)",
    protocol: "ipfix",
    note: "For IPv6 make a second record and monitor with `match ipv6 …`, and apply it with `ipv6 flow monitor`.",
    text: ({ address, port }) => `flow record NETGLOSS-V4
 match ipv4 source address
 match ipv4 destination address
 match ipv4 protocol
 match ipv4 tos
 match transport source-port
 match transport destination-port
 match interface input
 collect interface output
 collect routing source as
 collect routing destination as
 collect transport tcp flags
 collect counter bytes long
 collect counter packets long
 collect timestamp absolute first
 collect timestamp absolute last
!
flow exporter NETGLOSS
 destination ${address}
 source Loopback0
 transport udp ${port}
 export-protocol ipfix
 template data timeout 60
 option interface-table timeout 300
 option sampler-table timeout 300
!
flow monitor NETGLOSS-V4
 exporter NETGLOSS
 cache timeout active 60
 cache timeout inactive 15
 record NETGLOSS-V4
!
interface GigabitEthernet0/0/0
 ip flow monitor NETGLOSS-V4 input`,
  },
  {
    id: "junos",
    label: "Juniper Junos (inline J-Flow)",
    protocol: "ipfix",
    note: "Set the source address to one of the router's own; the FPC in the last line is the one that has the interfaces.",
    text: ({ address, port }) => `set services flow-monitoring version-ipfix template NETGLOSS-V4 ipv4-template
set services flow-monitoring version-ipfix template NETGLOSS-V4 flow-active-timeout 60
set services flow-monitoring version-ipfix template NETGLOSS-V4 flow-inactive-timeout 15
set services flow-monitoring version-ipfix template NETGLOSS-V4 template-refresh-rate seconds 60
set services flow-monitoring version-ipfix template NETGLOSS-V4 option-refresh-rate seconds 60
set forwarding-options sampling instance NETGLOSS input rate 1000
set forwarding-options sampling instance NETGLOSS family inet output flow-server ${address} port ${port}
set forwarding-options sampling instance NETGLOSS family inet output flow-server ${address} version-ipfix template NETGLOSS-V4
set forwarding-options sampling instance NETGLOSS family inet output inline-jflow source-address 192.0.2.1
set interfaces ge-0/0/0 unit 0 family inet sampling input
set chassis fpc 0 sampling-instance NETGLOSS`,
  },
  {
    id: "eos",
    label: "Arista EOS (sFlow)",
    protocol: "sflow",
    note: "All interfaces are sampled. Switches with flow tracking in hardware can send IPFIX instead.",
    text: ({ address, port }) => `sflow sample 4096
sflow polling-interval 20
sflow destination ${address} ${port}
sflow source-interface Loopback0
sflow run`,
  },
  {
    id: "routeros",
    label: "MikroTik RouterOS",
    protocol: "ipfix",
    note: "Traffic that is forwarded in hardware (fasttrack, bridges with hardware offload) is not in flows.",
    text: ({
      address,
      port,
    }) => `/ip traffic-flow set enabled=yes interfaces=all active-flow-timeout=1m inactive-flow-timeout=15s
/ip traffic-flow target add dst-address=${address} port=${port} version=ipfix v9-template-timeout=1m`,
  },
  {
    id: "softflowd",
    label: "softflowd (Linux, BSD)",
    protocol: "ipfix",
    note: "One process for each interface. It sees what the interface of this host sees.",
    text: ({ address, port }) => `softflowd -i eth0 -n ${host(address)}:${port} -v 10 -t maxlife=60 -t expint=15`,
  },
  {
    id: "hsflowd",
    label: "hsflowd (sFlow of a host)",
    protocol: "sflow",
    note: "This is /etc/hsflowd.conf; restart hsflowd afterwards.",
    text: ({ address, port }) => `sflow {
  sampling = 400
  polling = 20
  collector { ip = ${address} UDPPort = ${port} }
  pcap { dev = eth0 }
}`,
  },
];

/** The port of the collector that exporters of a protocol usually send to, else the first. */
export function usualPort(protocol: RouterSnippet["protocol"], ports: readonly number[]): number {
  const usual = { netflow9: [2055, 9995], ipfix: [4739, 2055], sflow: [6343] }[protocol];
  return usual.find((port) => ports.includes(port)) ?? ports[0] ?? usual[0] ?? 2055;
}
