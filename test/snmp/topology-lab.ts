import type { RecordFields, Value } from "../../src/record/index.ts";

/** A made network: what its devices say in their tables, and how they are really joined. */
export interface Lab {
  readonly devices: readonly LabDevice[];
  /** Real links between devices, as `device|ifIndex device|ifIndex` in order. */
  readonly links: ReadonlySet<string>;
  /** Those of them that both ends announce by one protocol. */
  readonly announcedLinks: ReadonlySet<string>;
  /** Pairs of aggregated interfaces, written alike. */
  readonly aggregates: ReadonlySet<string>;
  readonly routedLinks: ReadonlySet<string>;
  readonly hosts: readonly { readonly ip: string; readonly mac: string; readonly at: string }[];
}

export interface LabDevice {
  readonly id: string;
  readonly ip: string;
  readonly name: string;
  readonly tables: ReadonlyMap<string, readonly RecordFields[]>;
}

interface Interface {
  readonly index: number;
  readonly bridgePort: number;
  readonly name: string;
  readonly descr: string;
  readonly mac: string;
  peer?: { readonly device: Device; readonly at: Interface };
  aggregate?: Interface;
  isBlocked?: boolean;
  address?: { readonly ip: string; readonly mask: string };
}

/** The ways in which agents differ. */
interface Habits {
  readonly lldp: boolean;
  readonly cdp: boolean;
  readonly portId: "name" | "mac" | "index";
  readonly hasAnnouncedPorts: boolean;
  /** True: lldpLocPortNum is the number of the bridge port. */
  readonly numbersBridgePorts: boolean;
  readonly saysShortNames: boolean;
}

class Device {
  readonly interfaces: Interface[] = [];
  readonly arp: { readonly ip: string; readonly mac: string; readonly at: Interface }[] = [];
  readonly peers: string[] = [];
  readonly id: string;
  readonly ip: string;
  readonly name: string;
  readonly isBridge: boolean;
  readonly habits: Habits;
  readonly mac: string;
  readonly hosts: { readonly ip: string; readonly mac: string; readonly at: Interface }[] = [];
  /** Learnt MAC addresses. */
  readonly learnt = new Map<string, Interface>();

  constructor(name: string, ip: string, isBridge: boolean, habits: Habits, mac: string) {
    [this.id, this.ip, this.name, this.isBridge, this.habits, this.mac] = [
      `${ip}:161`,
      ip,
      name,
      isBridge,
      habits,
      mac,
    ];
  }
}

/** Pseudorandom numbers below 1 (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Sites of routers, distribution and access switches, joined by networks of four addresses. */
export function makeLab(seed: number, sites: number, accessOfSite: number): Lab {
  const random = randomOf(seed);
  const chance = (share: number): boolean => random() < share;
  let macs = 0;
  const nextMac = (): string => {
    const digits = (0x001b21000000 + macs++).toString(16).padStart(12, "0");
    return (digits.match(/../g) as string[]).join(":");
  };
  const devices: Device[] = [];
  const newHabits = (isBridge: boolean): Habits => ({
    lldp: !chance(0.1),
    cdp: chance(0.3),
    portId: chance(0.6) ? "name" : chance(0.5) ? "mac" : "index",
    hasAnnouncedPorts: chance(0.7),
    numbersBridgePorts: isBridge && chance(0.2),
    saysShortNames: chance(0.3),
  });
  let addresses = 0;
  const begin = (name: string, isBridge: boolean): Device => {
    const n = addresses++;
    const device = new Device(name, `10.${n >> 8}.${n & 255}.1`, isBridge, newHabits(isBridge), nextMac());
    devices.push(device);
    return device;
  };
  const newInterface = (device: Device): Interface => {
    const n = device.interfaces.length + 1;
    const index = device.habits.numbersBridgePorts ? 1000 + n : n;
    const name = device.habits.saysShortNames ? `Gi0/${n}` : `GigabitEthernet0/${n}`;
    const made: Interface = { index, bridgePort: n, name, descr: name, mac: nextMac() };
    device.interfaces.push(made);
    return made;
  };
  const join = (a: Device, b: Device): [Interface, Interface] => {
    const [at, bt] = [newInterface(a), newInterface(b)];
    at.peer = { device: b, at: bt };
    bt.peer = { device: a, at };
    return [at, bt];
  };
  const cores: Device[] = [];
  let networks = 0;
  const route = (a: Device, b: Device): void => {
    const n = 4 * networks++;
    const network = `172.${16 + (n >> 16)}.${(n >> 8) & 255}`;
    const ends = join(a, b);
    const mask = "255.255.255.252";
    ends[0].address = { ip: `${network}.${(n & 255) + 1}`, mask };
    ends[1].address = { ip: `${network}.${(n & 255) + 2}`, mask };
    if (chance(0.8)) {
      a.arp.push({ ip: ends[1].address.ip, mac: ends[1].mac, at: ends[0] });
      b.arp.push({ ip: ends[0].address.ip, mac: ends[0].mac, at: ends[1] });
    }
    if (chance(0.6)) {
      a.peers.push(ends[1].address.ip);
      b.peers.push(ends[0].address.ip);
    }
  };
  for (let site = 0; site < sites; site++) {
    const core = begin(`core-${site}.example.net`, false);
    for (const other of cores.slice(-2)) route(core, other);
    cores.push(core);
    const [first, second] = [begin(`dist-${site}-a`, true), begin(`dist-${site}-b`, true)];
    join(core, first);
    join(first, second);
    const members = [core, first, second];
    for (let i = 0; i < accessOfSite; i++) {
      const access = begin(`access-${site}-${i}`, true);
      members.push(access);
      join(access, first);
      if (chance(0.5)) {
        // Two uplinks to one switch are aggregated, an uplink to the second one is blocked.
        if (chance(0.3)) {
          const parts = [access.interfaces[0] as Interface, join(access, first)[0]];
          const [aWhole, bWhole] = [newInterface(access), newInterface(first)];
          for (const part of parts) {
            part.aggregate = aWhole;
            (part.peer as NonNullable<Interface["peer"]>).at.aggregate = bWhole;
          }
        } else for (const end of join(access, second)) end.isBlocked = true;
      }
      for (let host = 0; host < 3; host++) {
        const at = newInterface(access);
        const [ip, mac] = [`192.168.${site}.${(i * 3 + host + 2) % 250}`, nextMac()];
        access.hosts.push({ ip, mac, at });
        access.learnt.set(mac, at);
        core.arp.push({ ip, mac, at: core.interfaces.at(-1) as Interface });
      }
    }
    for (const member of members) for (const other of members) if (member !== other) learn(member, other);
  }
  return {
    devices: devices.map((device) => ({ id: device.id, ip: device.ip, name: device.name, tables: tablesOf(device) })),
    links: truth(devices, () => true),
    announcedLinks: truth(devices, (port, { habits }) => {
      const other = port.peer?.device.habits;
      return (habits.lldp && other?.lldp === true) || (habits.cdp && other?.cdp === true);
    }),
    aggregates: truth(
      devices,
      ({ aggregate }) => aggregate !== undefined,
      ({ aggregate }) => aggregate?.index,
    ),
    routedLinks: truth(devices, ({ address }) => address !== undefined),
    hosts: devices.flatMap(({ id, hosts }) => hosts.map(({ ip, mac, at }) => ({ ip, mac, at: `${id}|${at.index}` }))),
  };
}

/** A bridge learns what it hears from another device of its site at the port that leads there. */
function learn(member: Device, other: Device): void {
  if (!member.isBridge) return;
  const port = firstHop(member, other);
  if (port === undefined) return;
  for (const mac of [other.mac, ...other.hosts.map((host) => host.mac)]) member.learnt.set(mac, port.aggregate ?? port);
}

/** The first interface of the shortest way that is not blocked. Only bridges pass frames on. */
function firstHop(from: Device, to: Device): Interface | undefined {
  const seen = new Set([from]);
  let edge: { readonly device: Device; readonly first: Interface | undefined }[] = [{ device: from, first: undefined }];
  while (edge.length > 0) {
    const next: typeof edge = [];
    for (const { device, first } of edge) {
      if (device !== from && !device.isBridge) continue;
      for (const port of device.interfaces) {
        if (port.peer === undefined || port.isBlocked === true || port.address !== undefined) continue;
        const { device: neighbor } = port.peer;
        if (neighbor === to) return first ?? port;
        if (seen.has(neighbor)) continue;
        seen.add(neighbor);
        next.push({ device: neighbor, first: first ?? port });
      }
    }
    edge = next;
  }
  return undefined;
}

function truth(
  devices: readonly Device[],
  isCounted: (port: Interface, device: Device) => boolean,
  indexOf: (port: Interface) => number | undefined = ({ index }) => index,
): ReadonlySet<string> {
  return new Set(
    devices.flatMap((device) =>
      device.interfaces.flatMap((port) => {
        if (port.peer === undefined || !isCounted(port, device)) return [];
        const { device: other, at } = port.peer;
        return [[`${device.id}|${indexOf(port)}`, `${other.id}|${indexOf(at)}`].sort().join(" ")];
      }),
    ),
  );
}

const management = 500;

function tablesOf(device: Device): ReadonlyMap<string, readonly RecordFields[]> {
  const { habits, interfaces } = device;
  const tables = new Map<string, RecordFields[]>();
  const row = (table: string, values: Readonly<Record<string, Value>>): void => {
    const rows = tables.get(table) ?? [];
    rows.push(new Map(Object.entries(values)));
    tables.set(table, rows);
  };
  const portNumber = (port: Interface): number => (habits.numbersBridgePorts ? port.bridgePort : port.index);
  row("IF-MIB::ifTable", {
    "netif.index": management,
    "netif.descr": "Vlan1",
    "netif.mac.addr": device.mac,
    "netif.type.name": "l3ipvlan",
  });
  row("IP-MIB::ipAddrTable", { "ip.addr": device.ip, "ip.netmask": "255.255.255.0", "netif.index": management });
  for (const port of interfaces) {
    row("IF-MIB::ifTable", { "netif.index": port.index, "netif.descr": port.descr, "netif.mac.addr": port.mac });
    row("IF-MIB::ifXTable", { "netif.index": port.index, "netif.name": port.name });
    if (port.address !== undefined) {
      const { ip, mask } = port.address;
      row("IP-MIB::ipAddrTable", { "ip.addr": ip, "ip.netmask": mask, "netif.index": port.index });
    }
    if (port.aggregate !== undefined) {
      row("IEEE8023-LAG-MIB::dot3adAggPortTable", {
        "netif.index": port.index,
        "lag.attached.index": port.aggregate.index,
      });
    }
    if (device.isBridge) {
      row("BRIDGE-MIB::dot1dBasePortTable", { "bridge.port.index": port.bridgePort, "netif.index": port.index });
    }
    if (port.peer !== undefined) announce(row, device, port, port.peer, portNumber(port));
  }
  for (const [mac, port] of device.learnt) {
    row("Q-BRIDGE-MIB::dot1qTpFdbTable", {
      "fdb.mac.addr": mac,
      "bridge.port.index": port.bridgePort,
      "fdb.status.name": "learned",
    });
  }
  for (const { ip, mac, at } of device.arp) {
    row("IP-MIB::ipNetToMediaTable", { "netif.index": at.index, "neighbor.addr": ip, "neighbor.mac.addr": mac });
  }
  for (const ip of device.peers) {
    row("OSPF-MIB::ospfNbrTable", { "ospf.neighbor.ip.addr": ip, "ospf.neighbor.state.name": "full" });
  }
  if (!habits.lldp) return tables;
  row("LLDP-MIB::lldpLocalSystemData", { "lldp.local.chassis.id": device.mac, "lldp.local.system.name": device.name });
  if (habits.hasAnnouncedPorts) {
    for (const port of interfaces) {
      row("LLDP-MIB::lldpLocPortTable", {
        "lldp.local.port.number": portNumber(port),
        "lldp.local.port.id_type.name": announcedPort(device, port)[0],
        "lldp.local.port.id": announcedPort(device, port)[1],
        "lldp.local.port.descr": port.descr,
      });
    }
  }
  return tables;
}

function announcedPort({ habits }: Device, port: Interface): readonly [type: string, id: string] {
  if (habits.portId === "mac") return ["mac address", port.mac];
  return habits.portId === "index" ? ["local", String(port.index)] : ["interface name", port.name];
}

function announce(
  row: (table: string, values: Readonly<Record<string, Value>>) => void,
  device: Device,
  port: Interface,
  { device: other, at }: NonNullable<Interface["peer"]>,
  number: number,
): void {
  if (device.habits.lldp && other.habits.lldp) {
    const [type, id] = announcedPort(other, at);
    row("LLDP-MIB::lldpRemTable", {
      "lldp.local.port.number": number,
      "lldp.neighbor.index": 1,
      "lldp.neighbor.chassis.id": other.mac,
      "lldp.neighbor.port.id_type.name": type,
      "lldp.neighbor.port.id": id,
      "lldp.neighbor.port.descr": at.descr,
      "lldp.neighbor.system.name": other.name,
    });
  }
  if (device.habits.cdp && other.habits.cdp) {
    row("CISCO-CDP-MIB::cdpCacheTable", {
      "netif.index": port.index,
      "cdp.neighbor.index": 1,
      "cdp.neighbor.name": other.name,
      "cdp.neighbor.port": at.name.replace(/^Gi(?=\d)/, "GigabitEthernet"),
      "cdp.neighbor.ip.addr": other.ip,
    });
  }
}

type Values = Readonly<Record<string, Value>>;
const rowsOf = (all: readonly Values[]): readonly RecordFields[] => all.map((row) => new Map(Object.entries(row)));
const macOf = (n: number): string =>
  ((0x021b21000000 + n).toString(16).padStart(12, "0").match(/../g) as string[]).join(":");

function labDevice(n: number, tables: Readonly<Record<string, readonly Values[]>>): LabDevice {
  const ip = `10.${(n >> 8) & 255}.${n & 255}.1`;
  const read = new Map(Object.entries(tables).map(([name, all]) => [name, rowsOf(all)] as const));
  return { id: `${ip}:161`, ip, name: `device-${n}`, tables: read };
}

/** Switches of one network in a row that announce nothing: each has learnt all others, and a hundred hosts. */
export function flatNetwork(switches: number): readonly LabDevice[] {
  const learnt = (n: number) =>
    Array.from({ length: switches }, (_, other) => ({
      "fdb.mac.addr": macOf(other),
      "bridge.port.index": other < n ? 1 : 2,
    })).filter((_, other) => other !== n);
  const hosts = (n: number) =>
    Array.from({ length: 100 }, (_, i) => ({ "fdb.mac.addr": macOf(1e6 + 100 * n + i), "bridge.port.index": 3 }));
  return Array.from({ length: switches }, (_, n) =>
    labDevice(n, {
      "IF-MIB::ifTable": [1, 2, 3].map((port) => ({ "netif.index": port, "netif.descr": `port ${port}` })),
      "BRIDGE-MIB::dot1dBase": [{ "bridge.mac.addr": macOf(n) }],
      "BRIDGE-MIB::dot1dTpFdbTable": [...learnt(n), ...hosts(n)],
    }),
  );
}

const announcement = (port: number, row: number, chassis: string, id: string): Values => ({
  "lldp.local.port.number": port,
  "lldp.neighbor.index": row,
  "lldp.neighbor.chassis.id": chassis,
  "lldp.neighbor.port.id_type.name": "interface name",
  "lldp.neighbor.port.id": id,
  "lldp.neighbor.port.descr": `descr of ${id}`,
});

/** A device that lists this many neighbors at one port: half of them are ports of one device. */
export function crowdedPort(neighbors: number): readonly LabDevice[] {
  const all = Array.from({ length: neighbors }, (_, i) =>
    announcement(1, i, i % 2 === 0 ? macOf(2) : macOf(1000 + i), `x${i}/1`),
  );
  return [
    labDevice(1, {
      "IF-MIB::ifTable": [{ "netif.index": 1, "netif.descr": "port 1", "netif.mac.addr": macOf(1) }],
      "LLDP-MIB::lldpRemTable": all,
      "LLDP-MIB::lldpRemManAddrTable": all.map((row) => ({
        "lldp.local.port.number": 1,
        "lldp.neighbor.index": 1,
        "lldp.neighbor.address.value": `198.${18 + ((Number(row["lldp.neighbor.index"]) >> 16) & 1)}.${(Number(row["lldp.neighbor.index"]) >> 8) & 255}.${Number(row["lldp.neighbor.index"]) & 255}`,
      })),
    }),
    portsOf(2, neighbors, "IF-MIB::ifXTable"),
  ];
}

/** Two devices that list each other at this many ports. */
export function manyPorts(ports: number): readonly LabDevice[] {
  const one = portsOf(1, ports, "IF-MIB::ifXTable");
  const heard = Array.from({ length: ports }, (_, i) => announcement(i + 1, 1, macOf(2), `x${i}/1`));
  const addresses = Array.from({ length: ports }, (_, i) => ({
    "ip.addr": `198.18.${(i >> 6) & 255}.${((i << 2) & 255) + 1}`,
    "ip.netmask": "255.255.255.252",
    "netif.index": i + 1,
  }));
  const arp = addresses.map((row) => ({
    "netif.index": row["netif.index"],
    "neighbor.addr": row["ip.addr"].replace(/\d+$/, (last) => String(Number(last) + 1)),
    "neighbor.mac.addr": macOf(2),
  }));
  const tables = new Map(one.tables)
    .set("LLDP-MIB::lldpRemTable", rowsOf(heard))
    .set("IP-MIB::ipAddrTable", rowsOf(addresses))
    .set("IP-MIB::ipNetToMediaTable", rowsOf(arp))
    .set(
      "OSPF-MIB::ospfNbrTable",
      rowsOf(arp.map((row) => ({ "ospf.neighbor.ip.addr": row["neighbor.addr"], "ospf.neighbor.state.name": "full" }))),
    );
  return [{ ...one, tables }, portsOf(2, ports, "IF-MIB::ifXTable")];
}

function portsOf(n: number, ports: number, table: string): LabDevice {
  const all = Array.from({ length: ports }, (_, i) => ({ "netif.index": i + 1, "netif.name": `y${i}/1` }));
  return labDevice(n, {
    [table]: all,
    "IF-MIB::ifTable": [{ "netif.index": 1, "netif.mac.addr": macOf(n) }],
    "LLDP-MIB::lldpLocPortTable": all.map((row) => ({
      "lldp.local.port.number": row["netif.index"],
      "lldp.local.port.id_type.name": "interface name",
      "lldp.local.port.id": row["netif.name"],
    })),
  });
}
