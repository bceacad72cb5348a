import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeCommunityMessage, decodeMessage } from "../../src/snmp/session/message-codec.ts";
import { readPduRest, type Pdu } from "../../src/snmp/session/message-codec.ts";
import { silentLog, type LogFields } from "../../src/base/report/index.ts";
import { errorStatus, type VarBind } from "../../src/snmp/index.ts";
import { oidOf } from "../support/snmp-agent/index.ts";
import { responseWith } from "../support/snmp-bytes.ts";
import {
  agentAddress,
  agentPort,
  communityCredential,
  createSessionFixture,
  impatient,
} from "../support/snmp-session-fixture.ts";

const sysName = oidOf("1.3.6.1.2.1.1.5.0");
const text = (value: unknown): string => Buffer.from(value as Uint8Array).toString();

/** The same bytes with one text in place of another of the same length. */
function swapped(datagram: Uint8Array, from: string, to: string): Uint8Array {
  return Buffer.from(Buffer.from(datagram).toString("latin1").replace(from, to), "latin1");
}

/** A response read and written again with some of it changed. */
function changed(datagram: Uint8Array, change: (pdu: Pdu) => Partial<Pdu>, version?: 0 | 1): Uint8Array {
  const message = decodeMessage(datagram);
  assert.ok(message.version !== 3);
  const pdu = readPduRest(message.pdu);
  return encodeCommunityMessage(version ?? message.version, message.community, { ...pdu, ...change(pdu) });
}

/** What comes before the true answer, by the reason for which it is ignored. */
const ignored: readonly (readonly [string, string, (answer: Uint8Array) => Uint8Array])[] = [
  ["garbage", "malformed", () => Buffer.from("GET / HTTP/1.1\r\n\r\n")],
  ["an empty datagram", "malformed", () => new Uint8Array(0)],
  ["nothing but 0xff", "malformed", () => new Uint8Array(1400).fill(0xff)],
  ["nothing but sequences", "malformed", () => new Uint8Array(1400).fill(0x30)],
  ["an indefinite length", "malformed", (answer) => Buffer.concat([Uint8Array.of(0x30, 0x80), answer.subarray(2)])],
  ["an outer length too small", "malformed", (answer) => answer.map((octet, i) => (i === 1 ? octet - 1 : octet))],
  ["an outer length too big", "malformed", (answer) => answer.map((octet, i) => (i === 1 ? octet + 1 : octet))],
  ["bytes after the message", "malformed", (answer) => Buffer.concat([answer, Uint8Array.of(5, 0)])],
  ["version 7", "malformed", (answer) => answer.map((octet, i) => (i === 4 ? 7 : octet))],
  ["a trap of version 1", "malformed", (answer) => answer.map((octet) => (octet === 0xa2 ? 0xa4 : octet))],
  ["version 1 for 2c", "version", (answer) => changed(answer, () => ({}), 0)],
  ["another community", "credential", (answer) => swapped(answer, "public", "secret")],
  ["a request", "pdu_type", (answer) => changed(answer, () => ({ type: "get" }))],
  ["a report in version 2c", "pdu_type", (answer) => changed(answer, () => ({ type: "report" }))],
  ["an id never asked", "unknown_id", (answer) => changed(answer, ({ requestId }) => ({ requestId: requestId ^ 1 }))],
  ["a negative id", "unknown_id", (answer) => changed(answer, ({ requestId }) => ({ requestId: -requestId }))],
];

for (const [what, reason, forge] of ignored) {
  test(`ignored and counted, while the true answer is taken: ${what}`, async () => {
    const fixture = createSessionFixture();
    fixture.agent.faults.sends = (answer) => [forge(answer), answer];
    const session = fixture.open();
    const { varbinds } = await session.get([sysName]);
    assert.equal(text(varbinds[0]?.value), "r1");
    assert.equal(await fixture.ignored(reason), 1);
    assert.equal(session.counts.ignored, 1);
    assert.equal(session.counts.responses, 1);
    fixture.client.close();
  });
}

test("truncation at every byte: each piece is ignored, and the true answer taken", async () => {
  const fixture = createSessionFixture();
  let pieces = 0;
  fixture.agent.faults.sends = (answer) => {
    pieces = answer.length;
    return [...Array.from({ length: pieces }, (_, length) => answer.subarray(0, length)), answer];
  };
  const { varbinds } = await fixture.open().get([sysName]);
  assert.equal(text(varbinds[0]?.value), "r1");
  assert.equal(await fixture.ignored("malformed"), pieces);
  fixture.client.close();
});

test("nothing but garbage: the request times out and says what was ignored", async () => {
  const fixture = createSessionFixture();
  fixture.agent.faults.sends = (answer) => [changed(answer, () => ({ type: "get" }))];
  await assert.rejects(fixture.open(impatient).get([sysName]), { code: "timeout", message: /ignored: pdu_type/ });
  fixture.client.close();
});

for (const [what, address, port] of [
  ["address", "192.0.2.99", agentPort],
  ["port", agentAddress, 16_100],
] as const) {
  test(`an answer from another ${what} is ignored, even with the right id and community`, async () => {
    const fixture = createSessionFixture();
    const { agent, network } = fixture;
    network.attach(agentAddress, agentPort, (datagram) => {
      const answers = agent.handle(datagram).map((answer) => ({ datagram: answer }));
      const forged = answers.map(({ datagram: answer }) => ({
        datagram: swapped(answer, "r1", "h4"),
        address,
        port,
      }));
      return [...forged, ...answers];
    });
    const { varbinds } = await fixture.open().get([sysName]);
    assert.equal(text(varbinds[0]?.value), "r1");
    assert.equal(await fixture.ignored("wrong_source"), 1);
    fixture.client.close();
  });
}

test("an agent that answers from another of its addresses: the log, the counts and the error say so", async () => {
  const lines: [LogFields, string][] = [];
  const fixture = createSessionFixture({
    log: { ...silentLog, warn: (fields, message) => void lines.push([fields, message]) },
  });
  const { agent, network } = fixture;
  network.attach(agentAddress, agentPort, (datagram) =>
    agent.handle(datagram).map((answer) => ({ datagram: answer, address: "192.0.2.77" })),
  );
  const session = fixture.open({ ...impatient, retries: 2 });
  await assert.rejects(session.get([sysName]), {
    code: "timeout",
    message:
      "no answer from 192.0.2.1:161 to 3 tries (an answer was ignored: it came from 192.0.2.77:161, which was not asked)",
  });
  assert.equal(await fixture.ignored("wrong_source"), 3);
  assert.equal(session.counts.ignored, 3);
  assert.deepEqual(lines, [
    [
      { device: "192.0.2.1:161", from: "192.0.2.77:161" },
      "SNMP answer ignored: it came from another address or port than was asked",
    ],
  ]);
  fixture.client.close();
});

test("an answer that comes twice counts once, one that comes late not at all", async () => {
  const fixture = createSessionFixture();
  const { agent, network, client } = fixture;
  const answers: Uint8Array[] = [];
  agent.faults.sends = (answer) => {
    answers.push(answer);
    return [answer, answer, answer];
  };
  const session = fixture.open();
  await session.get([sysName]);
  assert.equal(await fixture.ignored("duplicate"), 2);
  agent.faults.sends = (answer) => {
    answers.push(answer);
    return [];
  };
  await assert.rejects(fixture.open(impatient).get([sysName]), { code: "timeout" });
  network.inject(answers[1] as Uint8Array, agentAddress, agentPort);
  assert.equal(await fixture.ignored("late"), 1);
  assert.equal(session.counts.responses, 1);
  client.close();
});

/** Authentic answers that cannot be used: they fail the request, and nothing else. */
const malformed: readonly (readonly [string, (id: number) => Uint8Array, RegExp])[] = [
  [
    "a name of 129 sub-identifiers",
    (requestId) => responseWith("05 00", { requestId, name: `06 81 80 2b ${"01 ".repeat(127)}` }),
    /128/,
  ],
  ["surplus varbinds", (requestId) => responseWith("02 01 05", { requestId, count: 2 }), /2 varbinds answer 1/],
  ["3000 surplus varbinds", (requestId) => responseWith("05 00", { requestId, count: 3000 }), /3000 varbinds answer 1/],
  ["no varbind", (requestId) => responseWith("05 00", { requestId, count: 0 }), /0 varbinds answer 1/],
  [
    "another identifier",
    (requestId) => responseWith("02 01 05", { requestId, name: "06 08 2b 06 01 02 01 01 06 00" }),
    /\.1\.3\.6\.1\.2\.1\.1\.6\.0 answers \.1\.3\.6\.1\.2\.1\.1\.5\.0/,
  ],
];

for (const [what, answer, message] of malformed) {
  test(`fails one request as malformed: ${what}`, async () => {
    const fixture = createSessionFixture();
    const { agent, open, client, metrics } = fixture;
    agent.faults.sends = (datagram) => [answer(decodeMessage(datagram).id)];
    const session = open();
    await assert.rejects(session.get([sysName]), { name: "SnmpError", code: "malformed", message });
    agent.faults.sends = undefined;
    assert.equal(text((await session.get([sysName])).varbinds[0]?.value), "r1");
    assert.equal(await metrics.value("netgloss_snmp_request_errors_total", { code: "malformed" }), 1);
    client.close();
  });
}

test("an unknown type is handed on with its bytes, and does not cost the other values", async () => {
  const fixture = createSessionFixture();
  fixture.agent.faults.sends = (datagram) => [responseWith("4a 02 01 02", { requestId: decodeMessage(datagram).id })];
  const { varbinds } = await fixture.open().get([sysName]);
  assert.equal(varbinds[0]?.type, "Unknown");
  assert.deepEqual(varbinds[0]?.value, Uint8Array.of(0x4a, 2, 1, 2));
  fixture.client.close();
});

test("rows beyond max-repetitions are cut off", async () => {
  const fixture = createSessionFixture();
  const rows = Array.from({ length: 50 }, (_, i): VarBind => ({ oid: [1, 3, 6, i + 1], type: "Integer32", value: i }));
  fixture.agent.faults.liesAbout = (response) => ({ ...response, varbinds: rows });
  const session = fixture.open();
  const { varbinds } = await session.getBulk([[1, 3, 6]], 0, 7);
  assert.equal(varbinds.length, 7);
  assert.equal(
    (
      await session.getBulk(
        [
          [1, 3, 6],
          [1, 3, 7],
          [1, 3, 8],
        ],
        1,
        5,
      )
    ).varbinds.length,
    11,
  );
  fixture.client.close();
});

for (const status of [errorStatus.tooBig, errorStatus.genErr, 99, -1]) {
  test(`error status ${status} is an answer`, async () => {
    const fixture = createSessionFixture();
    fixture.agent.faults.liesAbout = (response) => ({ ...response, errorStatus: status, errorIndex: 4711 });
    const response = await fixture.open().get([sysName]);
    assert.equal(response.errorStatus, status);
    assert.equal(response.errorIndex, 4711);
    fixture.client.close();
  });
}

test("an error status with surplus varbinds keeps as many as were asked", async () => {
  const fixture = createSessionFixture();
  fixture.agent.faults.liesAbout = (response) => ({
    ...response,
    errorStatus: errorStatus.genErr,
    varbinds: Array.from({ length: 500 }, (): VarBind => ({ oid: sysName, type: "Null", value: null })),
  });
  assert.equal((await fixture.open().get([sysName])).varbinds.length, 1);
  fixture.client.close();
});

test("an agent that mixes answers up fails with malformed, whatever its error index", async () => {
  const fixture = createSessionFixture();
  fixture.agent.faults.liesAbout = (response) => ({ ...response, varbinds: response.varbinds.toReversed() });
  await assert.rejects(fixture.open({ credential: communityCredential }).get([sysName, oidOf("1.3.6.1.2.1.1.1.0")]), {
    code: "malformed",
  });
  fixture.client.close();
});
