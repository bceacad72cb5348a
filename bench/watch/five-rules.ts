/** A file of rules as many have it: sums, filters, different values, silence. */
export const fiveRules = `rules:
  - {name: bits, by: [dst], measure: bits_per_second, when: '> 500M for 20s'}
  - {name: syn, filter: 'tcp.flags.bits = 2', by: [dst], measure: packets_per_second, when: '> 10k'}
  - {name: dns, filter: 'proto = udp and src.port = 53', by: [dst], measure: bits_per_second, when: '> 100M'}
  - {name: scan, by: [src, dst], measure: distinct flow.dst.l4.port.id, over: 1m, when: '> 100'}
  - {name: exporters, by: [exporter], when: silent for 5m}
`;
