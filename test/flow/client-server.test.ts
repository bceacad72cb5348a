import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  ipv4,
  netflow9,
  netflow9Templates,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { allEnds } from "../support/all-ends.ts";
import { createFlowRig, type Json } from "../support/flow-rig.ts";
import { createFlowTwins } from "../support/flow-twins.ts";
import { runs } from "../support/runs.ts";
import { udmEntry } from "../support/udm-entry.ts";

const template: PacketTemplate = {
  id: 300,
  fields: fields([8, 4], [12, 4], [7, 2], [11, 2], [4, 1], [6, 1], [2, 4], [1, 4]),
};

interface Flow {
  readonly source: string;
  readonly destination: string;
  readonly ports: readonly [source: number, destination: number];
  readonly protocol?: number;
  readonly flags?: number;
  readonly packets?: number;
}

const bytesOf = ({ source, destination, ports, protocol = 6, flags = 0x1b, packets = 9 }: Flow): Buffer[] => [
  ipv4(source),
  ipv4(destination),
  uint(ports[0], 2),
  uint(ports[1], 2),
  uint(protocol, 1),
  uint(flags, 1),
  uint(packets, 4),
  uint(1000, 4),
];
const datagram = (...flows: Flow[]): Buffer =>
  netflow9([netflow9Templates(template), dataSet(template, ...flows.map(bytesOf))]);
const backwards = ({ source, destination, ports, ...rest }: Flow): Flow => ({
  ...rest,
  source: destination,
  destination: source,
  ports: [ports[1], ports[0]],
});

const [inside, outside] = ["10.0.0.7", "198.51.100.2"] as const;
const roleOf = (record: Json | undefined): unknown => [record?.["flow.client.ip.addr"], record?.["flow.clisrv.method"]];

test("the first rule that applies says which end is the client", () => {
  const rig = createFlowRig({ ends: allEnds });
  const client = (flow: Partial<Flow>): unknown =>
    roleOf(rig.send(datagram({ source: inside, destination: outside, ports: [50_000, 443], ...flow }))[0]);
  assert.deepEqual(client({}), [inside, "port"]);
  assert.deepEqual(client({ ports: [443, 50_000] }), [outside, "port"]);
  assert.deepEqual(client({ ports: [22, 8080] }), [outside, "port"], "a system port against a user's");
  assert.deepEqual(client({ ports: [8080, 5432] }), [undefined, undefined], "both are services");
  assert.deepEqual(
    client({ ports: [900, 2049] }),
    [undefined, undefined],
    "900 is a client's, though it is registered",
  );
  assert.deepEqual(client({ ports: [1000, 111] }), [inside, "port"]);
  assert.deepEqual(client({ ports: [3306, 993] }), [inside, "port"]);
  assert.deepEqual(client({ ports: [53, 53], protocol: 17 }), [undefined, undefined]);
  assert.deepEqual(
    client({ ports: [8080, 2000] }),
    [undefined, undefined],
    "2000 is no port that systems give to clients",
  );
  assert.deepEqual(client({ ports: [40_000, 50_000] }), [undefined, undefined]);
  assert.deepEqual(client({ ports: [50_001, 50_002], flags: 2 }), [inside, "tcp_syn"]);
  assert.deepEqual(client({ ports: [50_004, 50_003], flags: 0x12, packets: 1 }), [outside, "tcp_syn"]);
  assert.deepEqual(client({ ports: [50_006, 50_005], flags: 0x12, packets: 2 }), [undefined, undefined]);
  assert.deepEqual(client({ ports: [50_001, 50_002], flags: 0x12 }), [inside, "learnt"], "a SYN was seen before");
  assert.deepEqual(client({ ports: [50_009, 50_002] }), [inside, "learnt"], "its server is known");
  assert.deepEqual(client({ ports: [0, 0], protocol: 47 }), [undefined, undefined]);
});

test("what the exporter says comes first: direction of a biflow, initiator and responder, events", () => {
  const one = (fieldsOf: [number, number][], values: Buffer[], split = false): Json[] => {
    const own: PacketTemplate = { id: 301, fields: fields([8, 4], [12, 4], [7, 2], [11, 2], [4, 1], ...fieldsOf) };
    const rig = createFlowRig({ ends: allEnds, splitBiflows: split });
    const record = [ipv4(inside), ipv4(outside), uint(443, 2), uint(50_000, 2), uint(6, 1), ...values];
    return rig.send(ipfix([ipfixTemplates(own), dataSet(own, record)]));
  };
  assert.deepEqual(one([[239, 1]], [uint(1, 1)]).map(roleOf), [[inside, "biflow_direction"]]);
  assert.deepEqual(one([[239, 1]], [uint(2, 1)]).map(roleOf), [[outside, "biflow_direction"]]);
  assert.deepEqual(one([[239, 1]], [uint(3, 1)]).map(roleOf), [[outside, "port"]], "perimeter says nothing");
  assert.deepEqual(
    one(
      [
        [231, 8],
        [232, 8],
      ],
      [uint(1, 8), uint(2, 8)],
    ).map(roleOf),
    [[inside, "initiator"]],
  );
  const both = one(
    [
      [231, 8],
      [232, 8],
    ],
    [uint(1, 8), uint(2, 8)],
    true,
  );
  assert.deepEqual(both.map(roleOf), [
    [inside, "initiator"],
    [inside, "initiator"],
  ]);
  assert.deepEqual(one([[233, 1]], [uint(3, 1)]).map(roleOf), [[inside, "event"]]);
  assert.deepEqual(one([[233, 1]], [uint(4, 1)]).map(roleOf), [[outside, "port"]], "an alert says nothing");
  assert.deepEqual(one([[230, 1]], [uint(4, 1)]).map(roleOf), [[inside, "event"]]);
});

test("requests and replies of ICMP have clients, unless that is off", () => {
  const icmp: PacketTemplate = { id: 302, fields: fields([8, 4], [12, 4], [4, 1], [176, 1]) };
  const client = (type: number, withoutPorts: boolean): unknown => {
    const { services } = allEnds.clientServer ?? assert.fail();
    const rig = createFlowRig({ ends: { ...allEnds, clientServer: { services, withoutPorts } } });
    const record = [ipv4(inside), ipv4(outside), uint(1, 1), uint(type, 1)];
    return roleOf(rig.send(netflow9([netflow9Templates(icmp), dataSet(icmp, record)]))[0]);
  };
  assert.deepEqual(client(8, true), [inside, "icmp_type"]);
  assert.deepEqual(client(0, true), [outside, "icmp_type"]);
  assert.deepEqual(client(3, true), [undefined, undefined]);
  assert.deepEqual(client(8, false), [undefined, undefined]);
});

test("a server of no known port is learnt by those that talk to it, and forgotten after half an hour", async () => {
  const rig = createFlowRig({ ends: allEnds });
  const from = (host: number): Flow => ({
    source: `10.0.0.${host}`,
    destination: outside,
    ports: [40_000 + host, 39_999],
  });
  const methods = Array.from({ length: 12 }, (_, i) => roleOf(rig.send(datagram(from(i + 1)))[0]));
  assert.deepEqual(methods[0], [undefined, undefined]);
  assert.deepEqual(methods[11], ["10.0.0.12", "learnt"]);
  assert.deepEqual(roleOf(rig.send(datagram(backwards(from(99))))[0]), ["10.0.0.99", "learnt"]);
  rig.time += 32 * 60_000;
  assert.deepEqual(roleOf(rig.send(datagram(from(1)))[0]), [undefined, undefined]);
  const learnt = await rig.value("netgloss_flow_clisrv_total", { method: "learnt" });
  const none = await rig.value("netgloss_flow_clisrv_total", { method: "none" });
  assert.equal(learnt + none, 14);
  assert.ok(learnt >= 6);
});

test("all that is known of source and destination is said of client and server, and joined", () => {
  const rig = createFlowRig({ ends: allEnds });
  const flow: Flow = { source: inside, destination: outside, ports: [50_000, 443] };
  const [forward, backward] = rig.send(datagram(flow, backwards(flow)));
  for (const [record, client, server] of [
    [forward, "src", "dst"],
    [backward, "dst", "src"],
  ] as const) {
    const found = new Map(Object.entries(record ?? {}));
    for (const [name, value] of found) {
      const [, end, rest] = /^flow\.(src|dst)\.(.*)$/.exec(name) ?? [];
      if (end !== undefined) assert.equal(found.get(`flow.${end === client ? "client" : "server"}.${rest}`), value);
    }
    assert.equal(found.get(`flow.${server}.l4.port.id`), 443);
    assert.equal(found.get("flow.server.l4.port.id"), 443);
  }
  for (const name of ["flow.conversation.id", "flow.session.id"]) assert.equal(forward?.[name], backward?.[name]);
  const [second] = rig.send(datagram({ ...flow, ports: [50_001, 443] }));
  assert.equal(second?.["flow.conversation.id"], forward?.["flow.conversation.id"]);
  assert.notEqual(second?.["flow.session.id"], forward?.["flow.session.id"]);
  const [seeded] = createFlowRig({ ends: { ...allEnds, ids: { seed: 1 } } }).send(datagram(flow));
  assert.notEqual(seeded?.["flow.session.id"], forward?.["flow.session.id"]);
});

test("addresses of which very much is known", async () => {
  const tags = (count: number, first: number): string[] => Array.from({ length: count }, (_, i) => `t-${first + i}`);
  const metadata = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`.key${i}`, `"${i}"`]));
  const twins = await createFlowTwins();
  twins.setMetadata([
    udmEntry(inside, { name: "many keys", tags: tags(300, 0), metadata: metadata(30) }),
    udmEntry(outside, { name: "many tags", tags: tags(400, 200), metadata: metadata(2), vlan: 7n }),
  ]);
  const flow: Flow = { source: inside, destination: outside, ports: [50_000, 443] };
  // The second time the kernel knows where the fields of their texts begin.
  for (let i = 0; i < 2; i++) twins.send(datagram(flow, backwards(flow)));
  const { slow } = await twins.finish();
  assert.deepEqual(slow, {});
});

test("off: nothing of it is in records", () => {
  const rig = createFlowRig();
  const [record] = rig.send(datagram({ source: inside, destination: outside, ports: [50_000, 443] }));
  assert.ok(
    Object.keys(record ?? {}).every((name) => !/^flow\.(client|server|clisrv|conversation|session)\./.test(name)),
  );
});

/** A random number of sixteen bits and more, the same in each run. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

interface Session {
  readonly flow: Flow;
  readonly client: string;
}

/** Sessions of a site of which it is known who began them: what exporters make of them, both directions, in a random order. */
function labelledSessions(count: number): readonly Session[] {
  const random = generator(7);
  const ephemeral = (): number => 32_768 + random(28_232);
  const host = (): string => `10.0.${random(4)}.${1 + random(200)}`;
  const peer = (): string => `203.0.${random(100)}.${1 + random(200)}`;
  const bothWays = (flow: Flow): Session[] => {
    const whole = { packets: 2 + random(30), ...flow };
    return [whole, backwards(whole)].map((one) => ({ flow: one, client: flow.source }));
  };
  const kinds: (() => Session[])[] = [
    () => bothWays({ source: host(), destination: peer(), ports: [ephemeral(), 443] }),
    () => bothWays({ source: host(), destination: peer(), ports: [ephemeral(), 80] }),
    () => bothWays({ source: host(), destination: "10.0.9.53", ports: [ephemeral(), 53], protocol: 17, flags: 0 }),
    () =>
      bothWays({
        source: "10.0.9.53",
        destination: peer(),
        ports: [1024 + random(64_000), 53],
        protocol: 17,
        flags: 0,
      }),
    () => bothWays({ source: peer(), destination: "10.0.9.22", ports: [1024 + random(64_000), 22] }),
    () => bothWays({ source: host(), destination: "10.0.9.80", ports: [ephemeral(), 50_051] }),
    () => bothWays({ source: host(), destination: "10.0.9.43", ports: [ephemeral(), 5432] }),
    () => bothWays({ source: host(), destination: peer(), ports: [ephemeral(), 443], protocol: 17, flags: 0 }),
    // A scan from one port: probes without an answer, and refusals.
    () => {
      const probe = { source: "203.0.113.66", destination: host(), ports: [61_000, 1 + random(65_000)] as const };
      return [
        { flow: { ...probe, flags: 2, packets: 1 }, client: probe.source },
        ...(random(2) === 0 ? [] : [{ flow: { ...backwards(probe), flags: 0x14, packets: 1 }, client: probe.source }]),
      ];
    },
    // Peers that both listen at high ports of their own.
    () =>
      bothWays({
        source: host(),
        destination: peer(),
        ports: [51_413, 32_768 + random(32_767)],
        protocol: 17,
        flags: 0,
      }),
    () =>
      bothWays({
        source: peer(),
        destination: host(),
        ports: [32_768 + random(32_767), 51_413],
        protocol: 17,
        flags: 0,
      }),
    () => bothWays({ source: host(), destination: peer(), ports: [ephemeral(), 32_768 + random(32_767)] }),
  ];
  return Array.from({ length: count }, () => (kinds[random(kinds.length)] as () => Session[])()).flat();
}

test("of sessions whose client is known at least 99 of 100 have the right one, where a rule says it", () => {
  const rig = createFlowRig({ ends: allEnds });
  const sessions = labelledSessions(3000);
  let said = 0;
  let right = 0;
  for (let i = 0; i < sessions.length; i += 20) {
    const some = sessions.slice(i, i + 20);
    rig.send(datagram(...some.map(({ flow }) => flow))).forEach((record, at) => {
      const client = record["flow.client.ip.addr"];
      if (client === undefined) return;
      said++;
      if (client === some[at]?.client) right++;
    });
  }
  assert.ok(said > 0.65 * sessions.length, `${said} of ${sessions.length}`);
  assert.ok(right >= 0.99 * said, `${right} of ${said}`);
});

test("the kernel finds what the model finds, in a sketch that is full", async () => {
  const few = fc.constantFrom(1, 2, 3, 4, 5, 6, 7, 8);
  const port = fc.oneof(fc.constantFrom(22, 53, 443, 5432, 8080, 40_000, 50_051), fc.integer({ min: 0, max: 65_535 }));
  const flow = fc.record({
    source: few.map((host) => `10.0.0.${host}`),
    destination: few.map((host) => `10.0.1.${host}`),
    ports: fc.tuple(port, port),
    protocol: fc.constantFrom(1, 6, 6, 6, 17, 132, 47),
    flags: fc.constantFrom(2, 0x12, 0x1b, 0x10),
    packets: fc.constantFrom(1, 5),
  });
  const twins = await createFlowTwins({ communityId: false });
  fc.assert(
    fc.property(fc.array(flow, { minLength: 1, maxLength: 30 }), (flows) => void twins.send(datagram(...flows))),
    runs(40),
  );
  // More ends than there is room for.
  const random = generator(3);
  for (let i = 0; i < 150; i++) {
    const flows = Array.from({ length: 30 }, () => ({
      source: `10.${random(4)}.${random(250)}.${random(250)}`,
      destination: `172.16.0.${random(40)}`,
      ports: [32_768 + random(30_000), 32_768 + random(300)] as const,
      flags: random(3) === 0 ? 2 : 0x1b,
    }));
    twins.send(datagram(...flows));
  }
  await twins.finish();
});
