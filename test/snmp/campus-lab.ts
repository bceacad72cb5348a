import type { RecordFields, Value } from "../../src/record/index.ts";
import type { LabDevice } from "./topology-lab.ts";

type Row = Readonly<Record<string, Value>>;

/** A port of a stack or a switch; `whole` is the interface that it is aggregated into. */
interface Port {
  readonly index: number;
  readonly name: string;
  mac: string;
  whole?: Port;
  peer?: { readonly device: Switch; readonly port: Port };
}

export interface Host {
  readonly ip: string;
  readonly mac: string;
  at: { readonly device: Switch; readonly port: Port };
}

let macs = 0;
function nextMac(): string {
  const digits = (0x0050c2000000 + macs++).toString(16).padStart(12, "0");
  return (digits.match(/../g) as string[]).join(":");
}

const end = (device: Switch, port: Port): string => `${device.id}|${port.index}`;

/** A switch, or a stack of several that is one device. */
export class Switch {
  readonly id: string;
  readonly ip: string;
  readonly name: string;
  readonly ports: Port[] = [];
  readonly wholes: Port[] = [];
  /** False: the agent has no tables of bridges. */
  readonly learns: boolean;
  /** Ports at which it does not hear the neighbour, as where a fibre is broken one way. */
  readonly deaf = new Set<Port>();
  chassis = nextMac();
  boot = 0;

  constructor(n: number, name: string, learns = true) {
    this.ip = `10.${n >> 8}.${n & 255}.1`;
    this.id = `${this.ip}:161`;
    this.name = name;
    this.learns = learns;
  }

  addPort(index: number, name: string): Port {
    const port = { index, name, mac: nextMac() };
    this.ports.push(port);
    return port;
  }

  /** Aggregates ports into one interface. */
  aggregate(index: number, parts: readonly Port[]): Port {
    const whole = { index, name: `Port-channel${index - 5000}`, mac: nextMac() };
    for (const part of parts) part.whole = whole;
    this.wholes.push(whole);
    return whole;
  }

  /** Another device has its place, name, address and ports. */
  replace(): void {
    this.chassis = nextMac();
    for (const port of [...this.ports, ...this.wholes]) port.mac = nextMac();
    this.boot++;
  }

  join(port: Port, device: Switch, other: Port): void {
    port.peer = { device, port: other };
    other.peer = { device: this, port };
  }

  part(port: Port): void {
    if (port.peer !== undefined) delete port.peer.port.peer;
    delete port.peer;
  }
}

/** Stacks at pairs of switches that are one partner to them (MLAG): each has an uplink of its members to both. */
export class Campus {
  readonly devices: Switch[] = [];
  readonly hosts: Host[] = [];
  /** The MAC address of the gateway, which both of a pair have. */
  readonly #gateways = new Map<Switch, string>();
  readonly #pods: Pod[] = [];

  constructor(pods: number, stacksOfPod: number) {
    for (let p = 0; p < pods; p++) this.#pods.push(this.#addPod(p, stacksOfPod));
  }

  get stacks(): readonly Switch[] {
    return this.#pods.flatMap(({ stacks }) => stacks);
  }

  /** Real links, as `device|ifIndex device|ifIndex` in order. */
  links(): ReadonlySet<string> {
    const found = new Set<string>();
    for (const device of this.devices)
      for (const port of device.ports)
        if (port.peer !== undefined)
          found.add([end(device, port), end(port.peer.device, port.peer.port)].sort().join(" "));
    return found;
  }

  /** What the device says in its tables now. */
  tablesOf(device: Switch): LabDevice {
    const tables = new Map<string, RecordFields[]>();
    const row = (table: string, fields: Row): void => {
      const rows = tables.get(table) ?? [];
      if (rows.push(new Map(Object.entries(fields))) === 1) tables.set(table, rows);
    };
    for (const port of [...device.ports, ...device.wholes])
      row("IF-MIB::ifTable", { "netif.index": port.index, "netif.descr": port.name, "netif.mac.addr": port.mac });
    const gateway = this.#gateways.get(device);
    if (gateway !== undefined)
      row("IF-MIB::ifTable", {
        "netif.index": 9000,
        "netif.descr": "Vlan10",
        "netif.mac.addr": gateway,
        "netif.type.name": "l3ipvlan",
      });
    row("LLDP-MIB::lldpLocalSystemData", {
      "lldp.local.chassis.id": device.chassis,
      "lldp.local.system.name": device.name,
    });
    // Tables without a row are read, too.
    for (const name of ["LLDP-MIB::lldpRemTable", "IEEE8023-LAG-MIB::dot3adAggPortTable"]) tables.set(name, []);
    for (const port of device.ports) {
      if (port.whole !== undefined)
        row("IEEE8023-LAG-MIB::dot3adAggPortTable", {
          "netif.index": port.index,
          "lag.attached.index": port.whole.index,
        });
      if (port.peer === undefined || device.deaf.has(port)) continue;
      row("LLDP-MIB::lldpRemTable", {
        "lldp.local.port.number": port.index,
        "lldp.neighbor.index": 1,
        "lldp.neighbor.chassis.id": port.peer.device.chassis,
        "lldp.neighbor.port.id_type.name": "interface name",
        "lldp.neighbor.port.id": port.peer.port.name,
        "lldp.neighbor.system.name": port.peer.device.name,
      });
    }
    if (device.learns) this.#addLearnt(device, row, tables);
    return { id: device.id, ip: device.ip, name: device.name, tables };
  }

  #addLearnt(device: Switch, row: (table: string, fields: Row) => void, tables: Map<string, RecordFields[]>): void {
    tables.set("Q-BRIDGE-MIB::dot1qTpFdbTable", []);
    const learn = (mac: string, port: Port): void =>
      row("Q-BRIDGE-MIB::dot1qTpFdbTable", {
        "fdb.mac.addr": mac,
        "bridge.port.index": port.index,
        "fdb.status.name": "learned",
      });
    for (const port of [...device.ports, ...device.wholes])
      row("BRIDGE-MIB::dot1dBasePortTable", { "bridge.port.index": port.index, "netif.index": port.index });
    const pod = this.#pods.find(({ pair, stacks }) => pair.includes(device) || stacks.includes(device));
    if (pod === undefined) return;
    const up = device.wholes[0];
    for (const other of [...pod.pair, ...pod.stacks]) {
      if (other === device) continue;
      const towards = pod.pair.includes(device) ? wholeTo(device, other) : up;
      if (towards === undefined) continue;
      learn(other.chassis, towards);
      const gateway = this.#gateways.get(other);
      if (gateway !== undefined && !pod.pair.includes(device)) learn(gateway, towards);
    }
    for (const { mac, ip, at } of this.hosts) {
      if (!pod.stacks.includes(at.device)) continue;
      const towards = at.device === device ? at.port : pod.pair.includes(device) ? wholeTo(device, at.device) : up;
      if (towards !== undefined) learn(mac, towards);
      if (this.#gateways.has(device))
        row("IP-MIB::ipNetToMediaTable", { "netif.index": 9000, "neighbor.addr": ip, "neighbor.mac.addr": mac });
    }
  }

  #addPod(p: number, stacksOfPod: number): Pod {
    const begin = (name: string, learns?: boolean): Switch => {
      const device = new Switch(this.devices.length, name, learns);
      this.devices.push(device);
      return device;
    };
    const [a, b] = [begin(`dist-${p}-a`), begin(`dist-${p}-b`)];
    const gateway = nextMac();
    for (const device of [a, b]) this.#gateways.set(device, gateway);
    const between = [1, 2].map((n) => {
      const [one, two] = [a.addPort(n, `Ethernet1/${n}`), b.addPort(n, `Ethernet1/${n}`)];
      a.join(one, b, two);
      return [one, two] as const;
    });
    a.aggregate(
      5001,
      between.map(([one]) => one),
    );
    b.aggregate(
      5001,
      between.map(([, two]) => two),
    );
    const before = this.#pods.at(-1)?.pair[0];
    if (before !== undefined) before.join(before.addPort(4000, "Ethernet4/1"), a, a.addPort(3999, "Ethernet4/2"));
    const stacks: Switch[] = [];
    for (let i = 0; i < stacksOfPod; i++) {
      // One in twelve does not hear one of its uplinks, and has no tables of bridges.
      const isDeaf = i % 12 === 11;
      const stack = begin(`stack-${p}-${i}`, !isDeaf);
      stacks.push(stack);
      const uplinks = [a, b].map((spine, member) => {
        const [port, other] = [
          stack.addPort(1000 * (member + 1) + 49, `TenGigabitEthernet${member + 1}/0/49`),
          spine.addPort(100 + i, `Ethernet2/${i}`),
        ];
        stack.join(port, spine, other);
        spine.aggregate(5100 + i, [other]);
        return port;
      });
      stack.aggregate(5001, uplinks);
      if (isDeaf) stack.deaf.add(uplinks[1] as Port);
      for (const member of [1, 2]) {
        const port = stack.addPort(1000 * member + 1, `GigabitEthernet${member}/0/1`);
        this.hosts.push({ ip: `172.16.${p}.${2 * i + member}`, mac: nextMac(), at: { device: stack, port } });
      }
    }
    return { pair: [a, b], stacks };
  }
}

interface Pod {
  readonly pair: readonly [Switch, Switch];
  readonly stacks: readonly Switch[];
}

/** The interface of a device that its links to another are aggregated into. */
function wholeTo(device: Switch, other: Switch): Port | undefined {
  return device.ports.find(({ peer }) => peer?.device === other)?.whole;
}
