const localities = ["internal", "private", "public", "multicast"];
const tcpFlags = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR", "AE"];

const words: ReadonlyMap<string, readonly string[]> = new Map([
  ["flow.export.type", ["netflow", "ipfix", "sflow"]],
  ["flow.direction.name", ["ingress", "egress"]],
  ["tcp.flags.tags", tcpFlags],
  ["flow.reverse.tcp.flags.tags", tcpFlags],
  ["flow.locality", localities],
  ...["src", "dst", "client", "server"].map((end): [string, string[]] => [`flow.${end}.locality`, localities]),
]);

/** All texts that a field can have, where they are words of the collector itself; undefined for other fields. */
export function collectorWords(field: string): readonly string[] | undefined {
  return words.get(field);
}
