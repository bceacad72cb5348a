import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { SnmpClient, errorStatus, parseOid, type Credential, type Oid } from "../../src/snmp/index.ts";
import { decodeMessage } from "../../src/snmp/session/message-codec.ts";
import { createSnmpAgent, listen, oidOf } from "../support/snmp-agent/index.ts";
import {
  agentAddress,
  agentPort,
  communityCredential,
  createSessionFixture,
  impatient,
  smallTable,
  usmUser,
} from "../support/snmp-session-fixture.ts";
import { withoutIpv6 } from "../support/without-ipv6.ts";

const sysName = oidOf("1.3.6.1.2.1.1.5.0");
const name = (index: number): Oid => oidOf(`1.3.6.1.2.1.2.2.1.2.${index}`);
const text = (value: unknown): string => Buffer.from(value as Uint8Array).toString();
const credentials: readonly Credential[] = [{ version: "1", community: "public" }, communityCredential, usmUser];

for (const credential of credentials) {
  test(`version ${credential.version}: get answers each identifier in order`, async () => {
    const { open, client } = createSessionFixture();
    const session = open({ credential });
    const { varbinds, errorStatus: status } = await session.get([name(2), sysName, name(1)]);
    assert.equal(status, 0);
    assert.deepEqual(
      varbinds.map(({ oid }) => oid),
      [name(2), sysName, name(1)],
    );
    assert.deepEqual(
      varbinds.map(({ value }) => text(value)),
      ["eth0", "r1", "lo"],
    );
    client.close();
  });

  test(`version ${credential.version}: getNext answers what comes after`, async () => {
    const { open, client } = createSessionFixture();
    const { varbinds } = await open({ credential }).getNext([name(2), oidOf("1.3.6.1.2.1.1.4")]);
    assert.deepEqual(
      varbinds.map(({ oid }) => oid),
      [name(7), sysName],
    );
    client.close();
  });
}

test("get in version 1 answers noSuchName for all where one is missing, later versions an exception in its place", async () => {
  const { open, client } = createSessionFixture();
  const missing = oidOf("1.3.6.1.2.1.2.2.1.2.3");
  const first = await open({ credential: { version: "1", community: "public" } }).get([sysName, missing]);
  assert.equal(first.errorStatus, errorStatus.noSuchName);
  assert.equal(first.errorIndex, 2);
  const { varbinds } = await open().get([sysName, missing, oidOf("1.3.6.1.4.1.9.1")]);
  assert.deepEqual(
    varbinds.map(({ type }) => type),
    ["OctetString", "noSuchInstance", "noSuchObject"],
  );
  client.close();
});

test("getBulk answers non-repeaters once and the others row by row, to the end of the view", async () => {
  const { open, client } = createSessionFixture();
  const { varbinds } = await open().getBulk([oidOf("1.3.6.1.2.1.1.5"), oidOf("1.3.6.1.2.1.31.1.1.1.6")], 1, 2);
  assert.deepEqual(
    varbinds.map(({ type }) => type),
    ["OctetString", "Counter64", "endOfMibView"],
  );
  assert.equal(varbinds[1]?.value, 18_446_744_073_709_551_615n);
  await assert.rejects(open({ credential: { version: "1", community: "public" } }).getBulk([sysName], 0, 1), {
    name: "SnmpError",
    code: "unsupported",
  });
  client.close();
});

for (const address of ["127.0.0.1", "127.83.78.77", "::1"]) {
  test(`over UDP to ${address}`, { skip: address === "::1" && withoutIpv6 }, async () => {
    const agent = createSnmpAgent({ table: smallTable, users: [usmUser] });
    const listening = await listen(agent, address);
    const metrics = createMetrics();
    const client = new SnmpClient({ metrics, log: silentLog, clock: systemClock });
    const target = { ip: address, port: listening.port, timeout: 5000, retries: 0, exponentialTimeout: false };
    for (const credential of credentials) {
      const { varbinds } = await client.open({ ...target, credential }).get([sysName]);
      assert.equal(text(varbinds[0]?.value), "r1");
    }
    assert.ok(((await metrics.value("netgloss_snmp_receive_buffer_bytes")) ?? 0) > 0);
    client.close();
    await listening.close();
  });
}

test("nothing listens: the request times out and names the agent", async () => {
  const { open, client, metrics } = createSessionFixture();
  const session = open({ ...impatient, ip: "198.51.100.7", port: 1161, retries: 2 });
  await assert.rejects(session.get([sysName]), { code: "timeout", message: /198\.51\.100\.7:1161 to 3 tries/ });
  assert.deepEqual(
    { ...session.counts, sentBytes: 0 },
    {
      requests: 1,
      retries: 2,
      timeouts: 1,
      responses: 0,
      ignored: 0,
      sentBytes: 0,
      receivedBytes: 0,
    },
  );
  assert.equal(await metrics.value("netgloss_snmp_requests_total"), 1);
  assert.equal(await metrics.value("netgloss_snmp_retries_total"), 2);
  assert.equal(await metrics.value("netgloss_snmp_request_errors_total", { code: "timeout" }), 1);
  client.close();
});

test("an answer that arrived while the process was held up is read before the request is given up", async () => {
  const { open, network, client, metrics } = createSessionFixture();
  const answer = open({ timeout: 20, retries: 0 }).get([sysName]);
  const until = performance.now() + 60;
  while (performance.now() < until);
  assert.equal(text((await answer).varbinds[0]?.value), "r1");
  assert.equal(network.sent.length, 1);
  assert.equal(await metrics.value("netgloss_snmp_request_errors_total", { code: "timeout" }), 0);
  client.close();
});

test("a lost request is sent again, under another id", async () => {
  const { open, agent, network, client, metrics } = createSessionFixture();
  let seen = 0;
  agent.faults.drops = () => ++seen < 3;
  const { varbinds } = await open({ timeout: 10, retries: 200 }).get([sysName]);
  assert.equal(text(varbinds[0]?.value), "r1");
  const ids = network.sent.map((datagram) => decodeMessage(datagram).id);
  assert.ok(ids.length >= 3);
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(await metrics.value("netgloss_snmp_responses_total"), 1);
  client.close();
});

test("the answer to an earlier try is taken after a later one was sent", async () => {
  const { open, network, client } = createSessionFixture();
  const agent = createSnmpAgent({ table: smallTable });
  const waiting: Uint8Array[] = [];
  network.attach(agentAddress, agentPort, (datagram) => {
    waiting.push(datagram);
    // Only the first request is answered, and only when the second has arrived.
    return waiting.length === 2 ? agent.handle(waiting[0] as Uint8Array).map((answer) => ({ datagram: answer })) : [];
  });
  const { varbinds } = await open({ timeout: 10, retries: 500 }).get([sysName]);
  assert.equal(text(varbinds[0]?.value), "r1");
  client.close();
});

test("tries wait the same time, or with exponential time-outs twice as long each", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { open, network, client } = createSessionFixture();
  const sentAfter = async (times: readonly number[]): Promise<number[]> => {
    const counts: number[] = [];
    for (const ms of times) {
      t.mock.timers.tick(ms);
      // What has arrived is read before a try is given up.
      await new Promise(setImmediate);
      counts.push(network.sent.length);
    }
    return counts;
  };
  const silent = { ip: "198.51.100.7", timeout: 1000, retries: 3 };
  const even = open(silent).get([sysName]);
  const exponential = open({ ...silent, exponentialTimeout: true }).get([sysName]);
  const outcome = Promise.all([
    assert.rejects(even, { code: "timeout", message: /4 tries/ }),
    assert.rejects(exponential, { code: "timeout", message: /4 tries/ }),
  ]);
  assert.deepEqual(await sentAfter([0, 999, 1, 1000, 1000, 1000]), [2, 2, 4, 5, 7, 7]);
  // The exponential one has sent after 0, 1 and 3 seconds, its last comes after 7 and ends after 15.
  assert.deepEqual(await sentAfter([2999, 1, 8000]), [7, 8, 8]);
  await outcome;
  client.close();
});

test("request ids do not follow from each other", async () => {
  const { open, network, client } = createSessionFixture();
  const session = open();
  for (let i = 0; i < 300; i++) await session.get([sysName]);
  const ids = network.sent.map((datagram) => decodeMessage(datagram).id);
  assert.ok(ids.every((id) => id > 0 && id <= 0x7fffffff));
  const steps = new Set(ids.slice(1).map((id, i) => id - (ids[i] as number)));
  assert.ok(new Set(ids).size > 295 && steps.size > 295);
  client.close();
});

test("many requests of one session run at the same time and each gets its own answer", async () => {
  const { open, client } = createSessionFixture();
  const session = open();
  const asked = Array.from({ length: 500 }, (_, i) => smallTable.rows[i % smallTable.rows.length]?.oid ?? sysName);
  const answers = await Promise.all(asked.map((oid) => session.get([oid])));
  assert.deepEqual(
    answers.map(({ varbinds }) => varbinds[0]?.oid),
    asked,
  );
  client.close();
});

test("an IPv4-mapped address is the IPv4 address, and IPv6 may be spelt in any way", async () => {
  const { open, network, client } = createSessionFixture();
  const { varbinds } = await open({ ip: `::ffff:${agentAddress}` }).get([sysName]);
  assert.equal(text(varbinds[0]?.value), "r1");
  const agent = createSnmpAgent({ table: smallTable });
  network.attach("2001:db8::1", 161, (datagram) =>
    agent.handle(datagram).map((answer) => ({ datagram: answer, address: "2001:db8:0:0:0:0:0:1" })),
  );
  const session = open({ ip: "2001:DB8:0::1" });
  assert.equal(text((await session.get([sysName])).varbinds[0]?.value), "r1");
  client.close();
});

const sendFailures: readonly (readonly [string, string])[] = [
  ["ENETUNREACH", "unreachable"],
  ["EHOSTUNREACH", "unreachable"],
  ["EPERM", "unreachable"],
  ["EMSGSIZE", "too_big"],
];
for (const [systemCode, code] of sendFailures) {
  test(`a send that fails with ${systemCode} fails the request with ${code}`, async () => {
    const { open, network, client, metrics } = createSessionFixture();
    network.sendError = Object.assign(new Error(`send ${systemCode}`), { code: systemCode });
    await assert.rejects(open().get([sysName]), { code, message: /192\.0\.2\.1:161: send E/ });
    assert.equal(await metrics.value("netgloss_snmp_send_errors_total"), 1);
    client.close();
  });
}

test("a send that fails for a short time is tried again", async () => {
  const { open, network, client } = createSessionFixture();
  network.sendError = Object.assign(new Error("send ENOBUFS"), { code: "ENOBUFS" });
  const answer = open({ timeout: 10, retries: 500 }).get([sysName]);
  setTimeout(() => (network.sendError = undefined), 25);
  assert.equal(text((await answer).varbinds[0]?.value), "r1");
  client.close();
});

test("a socket that cannot be opened fails its requests at once", async () => {
  const { open, network, client } = createSessionFixture();
  network.openError = Object.assign(new Error("bind EAFNOSUPPORT"), { code: "EAFNOSUPPORT" });
  await assert.rejects(open().get([sysName]), { code: "unreachable", message: /no IPv4 socket: bind EAFNOSUPPORT/ });
  network.openError = undefined;
  assert.equal((await open().get([sysName])).errorStatus, 0);
  client.close();
});

test("a socket that breaks is opened again by the next try", async () => {
  const { open, agent, network, client, metrics } = createSessionFixture();
  const session = open({ timeout: 10, retries: 500 });
  await session.get([sysName]);
  agent.faults.drops = () => true;
  const answer = session.get([sysName]);
  network.breakSockets(Object.assign(new Error("recv EIO"), { code: "EIO" }));
  agent.faults.drops = undefined;
  assert.equal(text((await answer).varbinds[0]?.value), "r1");
  assert.equal(network.opened, 2);
  assert.equal(await metrics.value("netgloss_snmp_socket_errors_total"), 1);
  client.close();
});

test("closing a session fails what waits and what comes after, and nothing of other sessions", async () => {
  const { open, agent, client } = createSessionFixture();
  agent.faults.drops = () => true;
  const session = open();
  const other = open({ timeout: 10, retries: 500 });
  const waiting = session.get([sysName]);
  const others = other.get([sysName]);
  session.close();
  session.close();
  await assert.rejects(waiting, { code: "closed" });
  await assert.rejects(session.get([sysName]), { code: "closed" });
  agent.faults.drops = undefined;
  assert.equal((await others).errorStatus, 0);
  client.close();
});

test("closing the client fails what waits and what comes after, and no socket is opened for it", async () => {
  const { open, agent, client, network } = createSessionFixture();
  agent.faults.drops = () => true;
  const later = open();
  const waiting = [open().get([sysName]), open({ credential: usmUser }).get([sysName])];
  client.close();
  for (const request of waiting) await assert.rejects(request, { code: "closed" });
  await assert.rejects(later.get([sysName]), { code: "closed" });
  assert.equal(network.opened, 1);
});

test("sessions of one agent share its counts", async () => {
  const { open, client } = createSessionFixture();
  const [a, b] = [open(), open({ credential: usmUser })];
  await a.get([sysName]);
  await b.get([sysName]);
  // Version 3 asks for the engine first.
  assert.equal(a.counts.responses, 3);
  assert.equal(a.counts, b.counts);
  assert.ok(a.counts.sentBytes > 100 && a.counts.receivedBytes > 100);
  client.close();
});

test("arguments that cannot be asked for are refused before anything is sent", async () => {
  const { open, network, client } = createSessionFixture();
  const session = open();
  for (const oids of [
    [],
    [[1]],
    [[1, 3, -1]],
    [[1, 3, 2 ** 32]],
    [[1, 40, 1]],
    [[1, 3, ...Array<number>(127).fill(1)]],
  ]) {
    await assert.rejects(session.get(oids), { name: "SnmpError", code: "invalid" });
  }
  await assert.rejects(session.getBulk([sysName], -1, 1), { code: "invalid" });
  await assert.rejects(session.getBulk([sysName], 0, 1.5), { code: "invalid" });
  for (const target of [
    { ip: "r1.example" },
    { ip: "192.0.2" },
    { port: 0 },
    { port: 65_536 },
    { timeout: 0 },
    { retries: -1 },
  ]) {
    assert.throws(() => open(target), { name: "SnmpError", code: "invalid" }, JSON.stringify(target));
  }
  assert.equal(network.sent.length, 0);
  client.close();
});

test("a request larger than a datagram is too big, not sent", async () => {
  const { open, network, client } = createSessionFixture();
  const long = [1, 3, ...Array<number>(126).fill(0xffffffff)];
  await assert.rejects(open().get(Array.from({ length: 110 }, () => long)), { code: "too_big" });
  assert.equal(network.sent.length, 0);
  client.close();
});

test("identifiers are read from text with and without a leading dot", () => {
  assert.deepEqual(parseOid(".1.3.6.1"), parseOid("1.3.6.1"));
});
