import assert from "node:assert/strict";
import { test } from "node:test";
import { icmpName, icmpNamesOf } from "../../src/flow/line/kernel/icmp-names.ts";
import {
  dataSet,
  fields,
  netflow5,
  netflow9,
  netflow9Templates,
  uint,
  type PacketTemplate,
} from "../support/flow-packets.ts";
import { createFlowTwins } from "../support/flow-twins.ts";
import { createFlowRig, parseLines, type Json } from "../support/flow-rig.ts";

const icmp: PacketTemplate = { id: 300, fields: fields([8, 4], [12, 4], [4, 1], [176, 1], [177, 1]) };
const tcp: PacketTemplate = { id: 301, fields: fields([8, 4], [12, 4], [4, 1], [6, 1]) };

test("types and codes of ICMP have IANA's names, by the kernel as by the model", async () => {
  const twins = await createFlowTwins({ communityId: false });
  const sent = (protocol: number): Json[] => {
    const records = Array.from({ length: 256 }, (_, type) =>
      Array.from({ length: 20 }, (_unused, code) => [
        uint(1, 4),
        uint(2, 4),
        uint(protocol, 1),
        uint(type, 1),
        uint(code === 19 ? 255 : code, 1),
      ]),
    );
    return records.flatMap((some) =>
      parseLines(Buffer.from(twins.send(netflow9([netflow9Templates(icmp), dataSet(icmp, ...some)])))),
    );
  };
  for (const protocol of icmpNamesOf.keys()) {
    for (const record of sent(protocol)) {
      const known = icmpName(protocol, record["icmp.type.id"] as number);
      assert.equal(record["icmp.type.name"], known?.name);
      assert.equal(record["icmp.code.name"], known?.codes.get(record["icmp.code.id"] as number));
    }
  }
  assert.ok(sent(6).every((record) => !("icmp.type.name" in record)));
  assert.equal(icmpName(1, 3)?.codes.get(3), "Port Unreachable");
  assert.equal(icmpName(58, 1)?.codes.get(4), "Port Unreachable");
});

test("whether a session was established follows from the flags of TCP alone", () => {
  const rig = createFlowRig();
  const established = (flags: number, protocol = 6): unknown => {
    const record = [uint(1, 4), uint(2, 4), uint(protocol, 1), uint(flags, 1)];
    return rig.send(netflow9([netflow9Templates(tcp), dataSet(tcp, record)]))[0]?.["l4.session.established"];
  };
  const [fin, syn, rst, psh, ack] = [1, 2, 4, 8, 16] as const;
  for (const flags of [syn, rst, syn | rst, fin, fin | psh]) assert.equal(established(flags), false, `${flags}`);
  for (const flags of [ack, ack | psh, ack | fin, syn | ack | psh, syn | ack | fin | rst]) {
    assert.equal(established(flags), true, `${flags}`);
  }
  for (const flags of [0, syn | ack, rst | ack]) assert.equal(established(flags), undefined, `${flags}`);
  assert.equal(established(syn, 17), undefined);
});

test("the version of the protocol has a name", () => {
  const rig = createFlowRig();
  const [record] = rig.send(netflow5([{}]));
  assert.equal(record?.["flow.export.version.name"], "NetFlow v5");
});
