import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { RecordFields } from "../../src/record/index.ts";
import { crowdedPort, makeLab, manyPorts, type Lab, type LabDevice } from "./topology-lab.ts";
import { linkText, rigOf, type LinkView, type Rig, type Topology } from "./topology-rig.ts";

async function mapOf(t: TestContext, lab: Lab): Promise<Rig> {
  const rig = rigOf(t);
  for (const device of lab.devices) rig.say(device);
  await rig.pass(10_000);
  return rig;
}

for (const seed of [1, 2]) {
  test(`500 devices of made network ${seed}: what is announced is found, nothing wrong is confirmed, hosts have their ports`, async (t) => {
    const lab = makeLab(seed, 10, 47);
    const { topology } = await mapOf(t, lab);
    const links = topology.links();
    const [bridged, routed] = [2, 3].map((wanted) => links.filter(({ layer }) => layer === wanted));
    const found = new Set(bridged?.map(linkText));
    assert.deepEqual(
      [...lab.announcedLinks].filter((link) => !found.has(link)),
      [],
    );
    const isRight = (link: LinkView): boolean => lab.links.has(linkText(link)) || lab.aggregates.has(linkText(link));
    const wrong = bridged?.filter((link) => !isRight(link)) ?? [];
    assert.deepEqual(
      wrong.filter(({ confidence }) => confidence === "confirmed"),
      [],
    );
    // Of devices that announce nothing, the port of a router cannot be known.
    assert.ok(wrong.length < found.size / 50, `${wrong.length} of ${found.size}`);
    assert.deepEqual(new Set(routed?.map(linkText)), lab.routedLinks);
    const misplaced = lab.hosts.filter(({ ip, at }, i) => {
      if (i % 10 !== 0) return false;
      const [first] = topology.locate(ip)?.locations ?? [];
      return first === undefined || `${first.device}|${first.port.index}` !== at || !first.isEdge;
    });
    assert.deepEqual(misplaced.slice(0, 3), []);
  });
}

const rows = (...all: readonly Readonly<Record<string, string | number>>[]): RecordFields[] =>
  all.map((row) => new Map(Object.entries(row)));

function switchOf(n: number, tables: Readonly<Record<string, RecordFields[]>>): LabDevice {
  const own = {
    "IF-MIB::ifTable": rows(
      ...[1, 2, 3, 4].map((port) => ({
        "netif.index": port,
        "netif.descr": `Ethernet ${port}`,
        "netif.mac.addr": `02:00:00:00:0${n}:0${port}`,
      })),
    ),
    ...tables,
  };
  return { id: `192.0.2.${n}:161`, ip: `192.0.2.${n}`, name: `sw${n}`, tables: new Map(Object.entries(own)) };
}

const heard = (port: number, n: number, remotePort: number): Readonly<Record<string, string | number>> => ({
  "lldp.local.port.number": port,
  "lldp.neighbor.index": n,
  "lldp.neighbor.chassis.id": `02:00:00:00:0${n}:01`,
  "lldp.neighbor.port.id_type.name": "interface name",
  "lldp.neighbor.port.id": `Ethernet ${remotePort}`,
  "lldp.neighbor.system.name": `sw${n}`,
});
const lldp = (...all: Readonly<Record<string, string | number>>[]) => ({ "LLDP-MIB::lldpRemTable": rows(...all) });

const verdicts = (topology: Topology): string[] =>
  topology.links().map((link) => `${linkText(link)} ${link.state} ${link.confidence} ${link.doubts.join(" ")}`.trim());

test("both ends confirm a link, one end makes it likely, and a neighbor that lists others leaves it unsure", async (t) => {
  const { topology, say, pass } = rigOf(t);
  say(switchOf(1, lldp(heard(1, 2, 1), heard(2, 3, 2), heard(3, 4, 1))));
  say(switchOf(2, lldp(heard(1, 1, 1))));
  say(switchOf(3, {}));
  say(switchOf(4, lldp(heard(4, 2, 3))));
  await pass(10_000);
  assert.deepEqual(verdicts(topology), [
    "192.0.2.1:161|1 192.0.2.2:161|1 up confirmed",
    "192.0.2.1:161|2 192.0.2.3:161|2 up likely",
    "192.0.2.1:161|3 192.0.2.4:161|1 up unsure sw4 lists other LLDP neighbors, but not sw1.",
    "192.0.2.2:161|3 192.0.2.4:161|4 up unsure sw2 lists other LLDP neighbors, but not sw4.",
  ]);
});

test("several devices at one port, as behind a hub, are unsure", async (t) => {
  const { topology, say, pass } = rigOf(t);
  say(switchOf(1, lldp(heard(1, 2, 1), heard(1, 3, 1))));
  say(switchOf(2, lldp(heard(1, 1, 1), heard(1, 3, 1))));
  say(switchOf(3, lldp(heard(1, 1, 1), heard(1, 2, 1))));
  await pass(10_000);
  assert.deepEqual(
    topology.links().map(({ confidence }) => confidence),
    ["unsure", "unsure", "unsure"],
  );
});

test("CDP through a switch that speaks LLDP alone is unsure; the links to that switch are not", async (t) => {
  const { topology, say, pass } = rigOf(t);
  const cdp = (n: number) => ({
    "CISCO-CDP-MIB::cdpCacheTable": rows({
      "netif.index": 1,
      "cdp.neighbor.name": `sw${n}`,
      "cdp.neighbor.port": "Ethernet 1",
    }),
  });
  say(switchOf(1, { ...cdp(3), ...lldp(heard(1, 2, 1)) }));
  say(switchOf(2, lldp(heard(1, 1, 1), heard(2, 3, 1))));
  say(switchOf(3, { ...cdp(1), ...lldp(heard(1, 2, 2)) }));
  await pass(10_000);
  assert.deepEqual(verdicts(topology), [
    "192.0.2.1:161|1 192.0.2.2:161|1 up confirmed",
    "192.0.2.1:161|1 192.0.2.3:161|1 up unsure sw2 announces itself at Ethernet 1 of sw1, too. sw2 announces itself at Ethernet 1 of sw3, too.",
    "192.0.2.2:161|2 192.0.2.3:161|1 up confirmed",
  ]);
});

test("a link that goes and a device that is replaced have records; a link that stays has one an hour", async (t) => {
  const { topology, records, say, pass } = rigOf(t);
  const [one, two] = [switchOf(1, lldp(heard(1, 2, 1))), switchOf(2, lldp(heard(1, 1, 1)))];
  say(one);
  say(two);
  await pass(10_000);
  const states = () =>
    records.map((record) =>
      ["system.host.name", "link.neighbor.host.name", "link.state.name"].map((name) => String(record[name])).join(" "),
    );
  assert.deepEqual(states(), ["sw1 sw2 up"]);
  say(one);
  await pass(10_000);
  assert.equal(records.length, 1);
  await pass(3_600_000);
  assert.deepEqual(states(), ["sw1 sw2 up", "sw1 sw2 up"]);
  say(switchOf(1, lldp(heard(1, 3, 1))));
  say(switchOf(2, lldp()));
  say(switchOf(3, lldp(heard(1, 1, 1))));
  await pass(10_000);
  assert.deepEqual(states().slice(2), ["sw1 sw3 up", "sw1 sw2 gone"]);
  assert.deepEqual(verdicts(topology), [
    "192.0.2.1:161|1 192.0.2.2:161|1 gone confirmed",
    "192.0.2.1:161|1 192.0.2.3:161|1 up confirmed",
  ]);
  topology.forget("192.0.2.3:161");
  await pass(3_600_000 * 30);
  await pass(3_600_000);
  assert.deepEqual(
    topology.links().filter(({ state }) => state === "gone"),
    [],
  );
});

test("what a silent device said counts for three hours, what its neighbor says is left", async (t) => {
  const { topology, say, pass } = rigOf(t);
  say(switchOf(1, lldp(heard(1, 2, 1))));
  say(switchOf(2, lldp(heard(1, 1, 1))));
  await pass(10_000);
  for (let hour = 0; hour < 4; hour++) {
    say(switchOf(2, {}));
    await pass(3_600_000);
  }
  assert.deepEqual(
    topology.links().map(({ state, b }) => `${b.device ?? b.name} ${state}`),
    ["192.0.2.2:161 gone", "sw1 up"],
  );
});

test("a table that was cut short does not take the place of a whole one", async (t) => {
  const { topology, say, pass } = rigOf(t);
  say(switchOf(1, lldp(heard(1, 2, 1))));
  say(switchOf(2, lldp(heard(1, 1, 1))));
  say(switchOf(1, lldp(heard(3, 3, 1))), false);
  say(switchOf(2, { "LLDP-MIB::lldpRemTable": [] }), false);
  await pass(10_000);
  assert.deepEqual(verdicts(topology), ["192.0.2.1:161|1 192.0.2.2:161|1 up confirmed"]);
});

test("an endpoint that moves is found at its new port; what is no address is not looked for", async (t) => {
  const { topology, say, pass } = rigOf(t);
  const mac = "02:aa:00:00:00:01";
  const learnt = (port: number) => ({
    "BRIDGE-MIB::dot1dTpFdbTable": rows({ "fdb.mac.addr": mac, "bridge.port.index": port }),
  });
  const arp = rows({ "netif.index": 4, "neighbor.addr": "198.51.100.7", "neighbor.mac.addr": mac });
  say(switchOf(1, { ...learnt(1), "IP-MIB::ipNetToMediaTable": arp }));
  await pass(10_000);
  const ports = () => topology.locate("198.51.100.7")?.locations.map(({ name, port }) => `${name} ${port.name}`);
  assert.deepEqual(ports(), ["sw1 Ethernet 1"]);
  say(switchOf(1, learnt(3)));
  assert.deepEqual(ports(), ["sw1 Ethernet 3"]);
  assert.deepEqual(topology.locate("02-AA-00-00-00-01")?.locations.length, 1);
  assert.equal(topology.locate("192.0.2.1")?.device, "192.0.2.1:161");
  assert.equal(topology.locate("sw1"), undefined);
  assert.deepEqual(topology.locate("203.0.113.9")?.locations, []);
});

test("names of other domains, another chassis, and an address that all ports announce lead to no confirmed link", async (t) => {
  const { topology, say, pass } = rigOf(t);
  const named = (name: string) => ({
    "lldp.neighbor.chassis.id": "02:00:00:00:99:99",
    "lldp.neighbor.system.name": name,
  });
  const own = (n: number, name = `sw${n}`) =>
    rows({ "lldp.local.chassis.id": `02:00:00:00:0${n}:01`, "lldp.local.system.name": name });
  const ports = [1, 2].map((port) => ({
    "lldp.local.port.number": port,
    "lldp.local.port.id_type.name": "mac address",
    "lldp.local.port.id": "02:00:00:00:03:ff",
  }));
  const byMac = { "lldp.neighbor.port.id_type.name": "mac address", "lldp.neighbor.port.id": "02:00:00:00:03:ff" };
  say({
    ...switchOf(2, { "LLDP-MIB::lldpLocalSystemData": own(2, "sw2.east.example.net") }),
    name: "sw2.east.example.net",
  });
  say(switchOf(3, { "LLDP-MIB::lldpLocalSystemData": own(3), "LLDP-MIB::lldpLocPortTable": rows(...ports) }));
  say(
    switchOf(1, {
      ...lldp(
        { ...heard(1, 2, 1), ...named("sw2.west.example.net") },
        { ...heard(2, 3, 1), ...named("sw3") },
        { ...heard(3, 3, 1), ...byMac },
      ),
    }),
  );
  await pass(10_000);
  assert.deepEqual(verdicts(topology), [
    "192.0.2.1:161|1 undefined|? up likely",
    "192.0.2.1:161|2 192.0.2.3:161|1 up unsure What sw3 announces fits other devices, too.",
    "192.0.2.1:161|3 192.0.2.3:161|? up likely",
  ]);
});

test("a /30 that is used twice joins nobody who has another MAC address in ARP, or the same address", async (t) => {
  const { topology, say, pass } = rigOf(t);
  const end = (n: number, last: number, mac?: string) =>
    switchOf(n, {
      "IP-MIB::ipAddrTable": rows({
        "ip.addr": `198.51.100.${last}`,
        "ip.netmask": "255.255.255.252",
        "netif.index": 1,
      }),
      "IP-MIB::ipNetToMediaTable": rows({
        "netif.index": 1,
        "neighbor.addr": `198.51.100.${3 - last}`,
        "neighbor.mac.addr": mac ?? "02:00:00:00:99:01",
      }),
    });
  say(end(1, 1));
  say(end(2, 2));
  await pass(10_000);
  assert.match(
    verdicts(topology).join(),
    /^192.0.2.1:161\|1 192.0.2.2:161\|1 up unsure sw1 has 198.51.100.2 with a MAC/,
  );
  say(end(1, 1, "02:00:00:00:04:01"));
  say(end(2, 2, "02:00:00:00:03:01"));
  say(end(3, 1, "02:00:00:00:02:01"));
  say(end(4, 2, "02:00:00:00:01:01"));
  await pass(10_000);
  assert.deepEqual(
    verdicts(topology).filter((verdict) => !verdict.includes(" gone ")),
    ["192.0.2.1:161|1 192.0.2.4:161|1 up confirmed", "192.0.2.2:161|1 192.0.2.3:161|1 up confirmed"],
  );
});

const network = (last: number, index = 1) => ({
  "ip.addr": `198.51.100.${last}`,
  "ip.netmask": "255.255.255.252",
  "netif.index": index,
});

/** A router with an address of 198.51.100.0/30, a session with the other one, and the ids that both have. */
function routerOf(n: number, last: number, id: string, peerId?: string): LabDevice {
  const peer = { "ospf.neighbor.ip.addr": `198.51.100.${3 - last}`, "ospf.neighbor.state.name": "full" };
  const bgp = { "bgp.peer.remote.ip.addr": `198.51.100.${3 - last}`, "bgp.peer.state.name": "established" };
  return switchOf(n, {
    "IP-MIB::ipAddrTable": rows(network(last)),
    "OSPF-MIB::ospfGeneralGroup": rows({ "ospf.router.id": id }),
    "OSPF-MIB::ospfNbrTable": rows(peerId === undefined ? peer : { ...peer, "ospf.neighbor.id": peerId }),
    "BGP4-MIB::bgpPeerTable": rows(bgp),
  });
}

test("sessions across a /30 confirm it by the router id alone: another router may have the address", async (t) => {
  const { topology, say, pass } = rigOf(t);
  say(routerOf(1, 1, "203.0.113.1"));
  say(routerOf(2, 2, "203.0.113.2"));
  await pass(10_000);
  const now = () => verdicts(topology).filter((verdict) => verdict.includes(" up ") && !verdict.includes("?"));
  assert.deepEqual(now(), ["192.0.2.1:161|1 192.0.2.2:161|1 up likely"]);
  say(routerOf(1, 1, "203.0.113.1", "203.0.113.9"));
  await pass(10_000);
  assert.deepEqual(now(), [
    "192.0.2.1:161|1 192.0.2.2:161|1 up unsure The router at 198.51.100.2 of sw1 is 203.0.113.9, which sw2 is not.",
  ]);
  say(routerOf(1, 1, "203.0.113.1", "203.0.113.2"));
  await pass(10_000);
  assert.deepEqual(now(), ["192.0.2.1:161|1 192.0.2.2:161|1 up confirmed"]);
});

test("of one /30 in two VRFs of a device, ARP says which interface the other end is at", async (t) => {
  const { topology, say, pass } = rigOf(t);
  const arp = (index: number, n: number) => ({
    "netif.index": index,
    "neighbor.addr": "198.51.100.2",
    "neighbor.mac.addr": `02:00:00:00:0${n}:01`,
  });
  say(
    switchOf(1, {
      "IP-MIB::ipAddrTable": rows(network(1, 1), network(1, 2)),
      "IP-MIB::ipNetToMediaTable": rows(arp(1, 2), arp(2, 3)),
    }),
  );
  for (const n of [2, 3]) say(switchOf(n, { "IP-MIB::ipAddrTable": rows(network(2)) }));
  await pass(10_000);
  assert.deepEqual(verdicts(topology), [
    "192.0.2.1:161|1 192.0.2.2:161|1 up confirmed",
    "192.0.2.1:161|2 192.0.2.3:161|1 up confirmed",
  ]);
});

test("spanning tree names the next bridge; two bridges at one port have a hub between", async (t) => {
  const { topology, say, pass } = rigOf(t);
  const bridge = (n: number) => ({ "BRIDGE-MIB::dot1dBase": rows({ "bridge.mac.addr": `02:00:00:00:0${n}:01` }) });
  const towardsOne = (port: number) => ({
    "BRIDGE-MIB::dot1dStpPortTable": rows({
      "bridge.port.index": port,
      "stp.port.state.name": "forwarding",
      "stp.port.designated.bridge": "8000020000000101",
      "stp.port.designated.port": "8003",
    }),
  });
  say(switchOf(1, bridge(1)));
  say(switchOf(2, { ...bridge(2), ...towardsOne(2) }));
  await pass(10_000);
  assert.deepEqual(verdicts(topology), ["192.0.2.1:161|3 192.0.2.2:161|2 up likely"]);
  say(switchOf(3, { ...bridge(3), ...towardsOne(4) }));
  await pass(10_000);
  assert.deepEqual(verdicts(topology), [
    "192.0.2.1:161|3 192.0.2.2:161|2 up unsure sw3 is at Ethernet 3 of sw1, too.",
    "192.0.2.1:161|3 192.0.2.3:161|4 up unsure sw2 is at Ethernet 3 of sw1, too.",
  ]);
});

/** A device of which these tables are read. */
const partOf = (n: number, tables: Readonly<Record<string, readonly RecordFields[]>>): LabDevice => ({
  ...switchOf(n, {}),
  tables: new Map(Object.entries(tables)),
});

/** Two ports whose first has this number. */
const numbered = (first: number) => ({
  "IF-MIB::ifTable": rows(
    ...[0, 1].map((port) => ({
      "netif.index": first + port,
      "netif.descr": `Ethernet ${port + 1}`,
      "netif.type.name": "ethernetCsmacd",
    })),
  ),
});

test("tables of before a restart, or of before interfaces had other numbers, are not mixed with those after", async (t) => {
  const { topology, say, pass } = rigOf(t);
  say(switchOf(1, { ...numbered(1), ...lldp(heard(1, 2, 1)) }));
  say(switchOf(2, lldp(heard(1, 1, 1))));
  await pass(10_000);
  const links = () => verdicts(topology).filter((verdict) => verdict.includes(" up "));
  const before = ["192.0.2.1:161|1 192.0.2.2:161|1 up confirmed"];
  assert.deepEqual(links(), before);
  say(partOf(1, numbered(2)), true, 1);
  await pass(10_000);
  assert.deepEqual(links(), before);
  say(partOf(1, lldp(heard(2, 2, 1))), true, 1);
  await pass(10_000);
  assert.deepEqual(links(), ["192.0.2.1:161|2 192.0.2.2:161|1 up confirmed"]);
  say(partOf(1, numbered(1)), true, 1);
  await pass(10_000);
  assert.deepEqual(links(), ["192.0.2.1:161|2 192.0.2.2:161|1 up confirmed"]);
  say(partOf(1, lldp(heard(1, 2, 1))), true, 1);
  await pass(10_000);
  assert.deepEqual(links(), before);
});

test("each pair of subinterfaces has a link of layer 3 of its own, confirmed by the announcements below it", async (t) => {
  const { topology, say, pass } = rigOf(t);
  const trunk = (n: number, other: number): LabDevice =>
    switchOf(n, {
      "IF-MIB::ifXTable": rows(
        { "netif.index": 1, "netif.name": "ge-0/0/0" },
        { "netif.index": 11, "netif.name": "ge-0/0/0.100" },
        { "netif.index": 12, "netif.name": "ge-0/0/0.200" },
      ),
      "IP-MIB::ipAddrTable": rows(network(n, 11), { ...network(n, 12), "ip.addr": `198.51.100.${n + 4}` }),
      ...lldp(heard(1, other, 1)),
    });
  say(trunk(1, 2));
  say(trunk(2, 1));
  await pass(10_000);
  assert.deepEqual(verdicts(topology), [
    "192.0.2.1:161|1 192.0.2.2:161|1 up confirmed",
    "192.0.2.1:161|11 192.0.2.2:161|11 up confirmed",
    "192.0.2.1:161|12 192.0.2.2:161|12 up confirmed",
  ]);
});

test("after a restart tables count again as soon as interfaces have the numbers of before", async (t) => {
  const { topology, say, pass } = rigOf(t);
  say(switchOf(1, { ...numbered(1), ...lldp(heard(1, 2, 1)) }));
  await pass(10_000);
  say(partOf(1, numbered(1)), true, 1);
  say(switchOf(2, lldp(heard(1, 1, 1))));
  await pass(10_000);
  const links = () => verdicts(topology).filter((verdict) => verdict.includes(" up "));
  assert.deepEqual(links(), ["192.0.2.1:161|1 192.0.2.2:161|1 up confirmed"]);
  // What counts again is forgotten where it is not read again.
  for (let minutes = 0; minutes < 90; minutes += 15) {
    say(partOf(1, numbered(1)), true, 1);
    say(switchOf(2, lldp()));
    await pass(900_000);
  }
  assert.deepEqual(links(), []);
});

test("after a restart with other numbers nothing of before counts", async (t) => {
  const { topology, say, pass } = rigOf(t);
  say(switchOf(1, { ...numbered(1), ...lldp(heard(1, 2, 1)) }));
  say(switchOf(2, {}));
  await pass(10_000);
  assert.equal(topology.linksOf("192.0.2.2:161")[0]?.state, "up");
  say(partOf(1, numbered(101)), true, 1);
  say(partOf(1, numbered(1)), true, 2);
  for (let minutes = 0; minutes < 90; minutes += 15) {
    say(switchOf(2, {}));
    await pass(900_000);
  }
  assert.deepEqual(
    topology.linksOf("192.0.2.2:161").map(({ state }) => state),
    ["gone"],
  );
});

test("a table that a device no longer has is not awaited for ever, though it restarts every ten minutes", async (t) => {
  const { topology, say, pass } = rigOf(t);
  say(switchOf(1, lldp(heard(1, 2, 1))));
  say(switchOf(2, {}));
  await pass(10_000);
  const { "IF-MIB::ifTable": ports } = Object.fromEntries(switchOf(1, {}).tables);
  const states: string[] = [];
  for (let boot = 1; boot <= 9; boot++) {
    say(partOf(1, { "IF-MIB::ifTable": ports ?? [] }), true, boot);
    await pass(600_000);
    states.push(topology.links()[0]?.state ?? "none");
  }
  assert.deepEqual([states.indexOf("gone"), new Set(states.slice(7))], [7, new Set(["gone"])]);
});

test("links of a device that restarts before its tables are complete stay for three hours, then are what is known", async (t) => {
  const { topology, say, pass } = rigOf(t);
  say(switchOf(1, lldp(heard(1, 2, 1))));
  say(switchOf(2, {}));
  await pass(10_000);
  const gone: number[] = [];
  for (let boot = 1; boot <= 20; boot++) {
    // One table is read before each second restart, the other before the others.
    const [name, all] = [...switchOf(1, lldp(heard(1, 2, 1))).tables][boot % 2] ?? ["", []];
    say(partOf(1, { [name]: all }), true, boot);
    say(switchOf(2, {}));
    await pass(600_000);
    if (topology.links()[0]?.state === "gone") gone.push(boot);
  }
  assert.equal(gone[0], 18);
  assert.equal(topology.links()[0]?.state, "up");
});

test("links of a device that is silent after a restart go like those of any other", async (t) => {
  const { topology, say, pass } = rigOf(t);
  say(switchOf(1, lldp(heard(1, 2, 1))));
  say(switchOf(2, {}));
  await pass(10_000);
  const { "IF-MIB::ifTable": ports } = Object.fromEntries(switchOf(1, {}).tables);
  say(partOf(1, { "IF-MIB::ifTable": ports ?? [] }), true, 1);
  for (const minutes of [1, 15, 15, 15, 15]) {
    await pass(minutes * 60_000);
    assert.equal(topology.links()[0]?.state, "up");
  }
  await pass(900_000);
  assert.equal(topology.links()[0]?.state, "gone");
});

test("peers beyond other routers are no links, though an interface has a mask of 0", async (t) => {
  const { topology, say, pass } = rigOf(t);
  const peer = { "bgp.peer.remote.ip.addr": "203.0.113.1", "bgp.peer.state.name": "established" };
  const unnumbered = { "ospf.neighbor.ip.addr": "203.0.113.9", "ospf.neighbor.state.name": "full" };
  say(
    switchOf(1, {
      "IP-MIB::ipAddrTable": rows({ "ip.addr": "198.51.100.1", "ip.netmask": "0.0.0.0", "netif.index": 1 }),
      "BGP4-MIB::bgpPeerTable": rows(peer),
      "OSPF-MIB::ospfNbrTable": rows({ ...unnumbered, "ospf.neighbor.index": 2 }),
    }),
  );
  await pass(10_000);
  assert.deepEqual(
    topology.links().map(({ a, b }) => `${a.port?.index} ${b.address}`),
    ["2 203.0.113.9"],
  );
});

test("thousands of neighbors at one port, or between two devices, are bounded, and it is said", async (t) => {
  const { topology, say, pass, leftOut } = rigOf(t);
  for (const device of crowdedPort(10_000)) say(device);
  await pass(10_000);
  assert.ok(topology.links().length <= 256, `${topology.links().length}`);
  assert.equal(await leftOut(), 10_000 - 256);
  for (const device of manyPorts(2000)) say(device);
  await pass(3_600_000);
  const up = topology.links().filter(({ layer, state }) => layer === 2 && state === "up");
  assert.equal(up.length, 256);
});

test("subinterfaces with one MAC address are their interface", async (t) => {
  const { topology, say, pass } = rigOf(t);
  const router = rows(
    ...["ge-0/0/1", "ge-0/0/1.0", "ge-0/0/1.10"].map((name, i) => ({
      "netif.index": 501 + i,
      "netif.name": name,
      "netif.mac.addr": "02:00:00:00:09:01",
    })),
  );
  say({ ...switchOf(9, {}), tables: new Map([["IF-MIB::ifXTable", router]]) });
  say(
    switchOf(1, {
      "BRIDGE-MIB::dot1dTpFdbTable": rows({ "fdb.mac.addr": "02:00:00:00:09:01", "bridge.port.index": 2 }),
    }),
  );
  await pass(10_000);
  assert.deepEqual(verdicts(topology), ["192.0.2.1:161|2 192.0.2.9:161|501 up likely"]);
});
