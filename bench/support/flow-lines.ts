import { createRandom } from "./random.ts";

/** Lines as an enriched flow has them: 40 fields, 1.3 KB, with the addresses of two thousand hosts. */
export function makeLines(count: number): Buffer {
  const random = createRandom(7);
  const below = (limit: number): number => random() % limit;
  const now = Date.now() - 60_000;
  const texts = Array.from({ length: count }, (_, i) => {
    const [site, host, service] = [below(12), below(2000), below(8)];
    const time = new Date(now + Math.floor((60_000 * i) / count)).toISOString();
    const end = (object: string, address: string, name: string): Record<string, unknown> => ({
      [`${object}.ip.addr`]: address,
      [`${object}.ip.subnet.name`]: name,
      [`${object}.ip.subnet.tags`]: ["prod", `site-${site}`],
      [`${object}.isInternal`]: true,
      [`${object}.locality`]: "internal",
      [`${object}.as.asn`]: 64_496 + site,
      [`${object}.as.label`]: `Example Net ${site} (${64_496 + site})`,
      [`${object}.geo.country.code`]: ["NL", "DE", "FR", "US"][site % 4],
      [`${object}.site.name`]: `Site number ${site}`,
    });
    const record = {
      "@timestamp": time,
      "flow.export.ip.addr": `192.0.2.${site}`,
      "flow.export.type": "ipfix",
      "flow.export.version.ver": 10,
      "flow.export.timestamp": time,
      "flow.export.sequence": i,
      ...end("flow.src", `10.${site}.${host >> 8}.${host & 255}`, `net-${host >> 4}`),
      ...end("flow.dst", `10.200.${service}.${below(250)}`, `server-${service}`),
      "flow.src.l4.port.id": 10_000 + below(50_000),
      "flow.dst.l4.port.id": [443, 53, 22, 5432, 8080, 25, 123, 3306][service],
      "l4.proto.id": service === 1 ? 17 : 6,
      "l4.proto.name": service === 1 ? "UDP" : "TCP",
      "tcp.flags.bits": 27,
      "tcp.flags.tags": ["FIN", "SYN", "PSH", "ACK"],
      "flow.in.netif.index": 1 + below(4),
      "flow.out.netif.index": 5 + below(4),
      "flow.start.timestamp": time,
      "flow.end.timestamp": time,
      "flow.bytes": 1_000_000 + below(1_500_000),
      "flow.packets": 1 + below(1000),
      "ip.version.ver": 4,
      "flow.sample_rate": 1,
      "flow.community.id": `1:${Buffer.from(String(random())).toString("base64")}`,
    };
    return `${JSON.stringify(record)}\n`;
  });
  return Buffer.from(texts.join(""));
}

/** Gives the lines other times, ports and counters, so that no flow comes twice. */
export function createRenewal(lines: Buffer): (from: number, to: number) => void {
  const random = createRandom(11);
  const placesOf = (name: string): readonly number[] => {
    const key = `"${name}":`;
    const places: number[] = [];
    for (let at = lines.indexOf(key); at >= 0; at = lines.indexOf(key, at + 100)) places.push(at + key.length);
    return places;
  };
  const times = ["@timestamp", "flow.start.timestamp", "flow.end.timestamp"].map(placesOf);
  const ports = placesOf("flow.src.l4.port.id");
  const bytes = placesOf("flow.bytes");
  return (from, to) => {
    ports.forEach((port, i) => {
      const at = from + ((to - from) * i) / ports.length;
      times.forEach((places, k) => {
        const before = k === 0 ? 0 : random() % [0, 60_000, 1000][k]!;
        lines.write(new Date(at - before).toISOString(), (places[i] as number) + 1, "latin1");
      });
      lines.write(String(10_000 + (random() % 50_000)), port, "latin1");
      lines.write(String(1_000_000 + (random() % 1_500_000)), bytes[i] as number, "latin1");
    });
  };
}
