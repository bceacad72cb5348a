import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { parseAddress } from "../../src/base/ip/index.ts";
import {
  dataSet,
  fields,
  hex,
  ipfix,
  ipfixTemplates,
  ipv4,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createFlowRig } from "../support/flow-rig.ts";
import { createFlowTwins } from "../support/flow-twins.ts";

/** Of the specification's baseline: protocol, source, destination, ports (ICMP: type and code), id. */
const baseline: readonly (readonly [number, string, string, number, number, string])[] = [
  [6, "128.232.110.120", "66.35.250.204", 34_855, 80, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="],
  [6, "66.35.250.204", "128.232.110.120", 80, 34_855, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="],
  [6, "10.0.0.1", "10.0.0.2", 10, 11_569, "1:SXBGMX1lBOwhhoDrZynfROxnhnM="],
  [17, "192.168.1.52", "8.8.8.8", 54_585, 53, "1:d/FP5EW3wiY1vCndhwleRRKHowQ="],
  [17, "8.8.8.8", "192.168.1.52", 53, 54_585, "1:d/FP5EW3wiY1vCndhwleRRKHowQ="],
  [132, "192.168.170.8", "192.168.170.56", 7, 80, "1:jQgCxbku+pNGw8WPbEc/TS/uTpQ="],
  [132, "192.168.170.56", "192.168.170.8", 7, 7, "1:MP2EtRCAUIZvTw6MxJHLV7N7JDs="],
  [46, "10.1.12.1", "10.1.24.4", 0, 0, "1:/nQI4Rh/TtY3mf0R2gJFBkVlgS4="],
  [46, "10.1.24.4", "10.1.12.1", 0, 0, "1:/nQI4Rh/TtY3mf0R2gJFBkVlgS4="],
  [1, "192.168.0.89", "192.168.0.1", 8, 0, "1:X0snYXpgwiv9TZtqg64sgzUn6Dk="],
  [1, "192.168.0.1", "192.168.0.89", 0, 0, "1:X0snYXpgwiv9TZtqg64sgzUn6Dk="],
  [1, "192.168.0.89", "192.168.0.1", 20, 0, "1:3o2RFccXzUgjl7zDpqmY7yJi8rI="],
  [1, "192.168.0.89", "192.168.0.1", 20, 1, "1:tz/fHIDUHs19NkixVVoOZywde+I="],
  [6, "2607:f8b0:400c:c03::1a", "2001:470:e5bf:dead:4957:2174:e82c:4887", 25, 63_943, "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4="],
  [58, "fe80::200:86ff:fe05:80da", "fe80::260:97ff:fe07:69ea", 135, 0, "1:dGHyGvjMfljg6Bppwm3bg0LO8TY="],
  [58, "fe80::260:97ff:fe07:69ea", "fe80::200:86ff:fe05:80da", 136, 0, "1:dGHyGvjMfljg6Bppwm3bg0LO8TY="],
  [58, "3ffe:507:0:1:260:97ff:fe07:69ea", "3ffe:507:0:1:200:86ff:fe05:80da", 3, 0, "1:NdobDX8PQNJbAyfkWxhtL2Pqp5w="],
  [58, "fe80::200:86ff:fe05:80da", "ff02::2", 133, 0, "1:hO+sN4H+MG5MY/8hIrXPqc4ZQz0="],
];

function addressBytes(text: string): Buffer {
  if (!text.includes(":")) return ipv4(text);
  return hex((parseAddress(text)?.value ?? 0n).toString(16).padStart(32, "0"));
}

/** A record with ICMP's type and code as elements of their own, or as the destination port. */
function record(line: (typeof baseline)[number], icmpAsPort: boolean): Buffer {
  const [protocol, source, destination, first, second] = line;
  const isIcmp = protocol === 1 || protocol === 58;
  const [from, to] = source.includes(":") ? [27, 28] : [8, 12];
  const length = source.includes(":") ? 16 : 4;
  const ports =
    isIcmp && !icmpAsPort
      ? ([
          [176, 1],
          [177, 1],
        ] as const)
      : ([
          [7, 2],
          [11, 2],
        ] as const);
  const template: PacketTemplate = { id: 256, fields: fields([from, length], [to, length], [4, 1], ...ports) };
  const values = !isIcmp
    ? [uint(first, 2), uint(second, 2)]
    : icmpAsPort
      ? [uint(0, 2), uint(first * 256 + second, 2)]
      : [uint(first, 1), uint(second, 1)];
  return ipfix([
    ipfixTemplates(template),
    dataSet(template, [addressBytes(source), addressBytes(destination), uint(protocol, 1), ...values]),
  ]);
}

test("the Community IDs of the specification's baseline", () => {
  const rig = createFlowRig({ communityId: true });
  for (const line of baseline) {
    for (const icmpAsPort of [false, true]) {
      const [flow] = rig.send(record(line, icmpAsPort));
      assert.equal(flow?.["flow.community.id"], line[5], line.join(" "));
    }
  }
});

test("no Community ID without addresses, protocol or ports, and none when it is turned off", () => {
  const rig = createFlowRig({ communityId: true });
  const send = (template: PacketTemplate, values: readonly Buffer[]): unknown => {
    const [flow] = rig.send(ipfix([ipfixTemplates(template), dataSet(template, values)]));
    assert.ok(flow !== undefined);
    return flow["flow.community.id"];
  };
  const [a, b] = [ipv4("10.0.0.1"), ipv4("10.0.0.2")];
  assert.equal(send({ id: 256, fields: fields([8, 4], [4, 1]) }, [a, uint(46, 1)]), undefined);
  assert.equal(send({ id: 256, fields: fields([8, 4], [12, 4]) }, [a, b]), undefined);
  assert.equal(send({ id: 256, fields: fields([8, 4], [12, 4], [4, 1]) }, [a, b, uint(6, 1)]), undefined);
  assert.equal(send({ id: 256, fields: fields([8, 4], [12, 4], [4, 1]) }, [a, b, uint(1, 1)]), undefined);
  assert.equal(send({ id: 256, fields: fields([8, 4], [28, 16]) }, [a, Buffer.alloc(16, 1)]), undefined);
  assert.match(String(send({ id: 256, fields: fields([8, 4], [12, 4], [4, 1]) }, [a, b, uint(46, 1)])), /^1:/);

  const [plain] = createFlowRig({ communityId: false }).send(record([6, "10.0.0.1", "10.0.0.2", 1, 2, ""], false));
  assert.equal(plain?.["flow.community.id"], undefined);
});

test("another seed gives other Community IDs, the same ones in the kernel and in the model", async () => {
  const [, , , , , ofNoSeed] = baseline[0] as (typeof baseline)[number];
  for (const communityIdSeed of [0, 1, 0xbeef]) {
    const twins = await createFlowTwins({ communityIdSeed });
    const [line] = baseline;
    const written = JSON.parse(twins.send(record(line as (typeof baseline)[number], false))) as Record<string, unknown>;
    const input = Buffer.concat([
      uint(communityIdSeed, 2),
      ...["66.35.250.204", "128.232.110.120"].map(ipv4),
      Buffer.of(6, 0),
      uint(80, 2),
      uint(34_855, 2),
    ]);
    const expected = `1:${createHash("sha1").update(input).digest("base64")}`;
    assert.equal(written["flow.community.id"], expected);
    assert.equal(expected === ofNoSeed, communityIdSeed === 0);
    await twins.finish();
  }
});
