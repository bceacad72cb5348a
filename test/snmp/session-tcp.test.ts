import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { SnmpClient, type Credential, type Session } from "../../src/snmp/index.ts";
import { MessageReader } from "../../src/snmp/session/sockets.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createSnmpAgent, listenTcp, oidOf, octets, tableOf, type StreamAgent } from "../support/snmp-agent/index.ts";
import { communityCredential, smallTable, usmUser } from "../support/snmp-session-fixture.ts";

const sysName = oidOf("1.3.6.1.2.1.1.5.0");

function openTo(t: TestContext, port: number, options: { credential?: Credential; timeout?: number } = {}) {
  const metrics = createMetrics();
  const client = new SnmpClient({ metrics, log: silentLog, clock: systemClock });
  cleanUp(t, () => client.close());
  const { credential = communityCredential, timeout = 5000 } = options;
  const target = {
    ip: "127.0.0.1",
    port,
    transport: "tcp",
    credential,
    timeout,
    retries: 1,
    exponentialTimeout: false,
  } as const;
  return { metrics, session: client.open(target), open: (): Session => client.open(target) };
}

async function startAgent(t: TestContext, piece?: number, table = smallTable): Promise<StreamAgent> {
  const agent = await listenTcp(createSnmpAgent({ table, users: [usmUser], maxMessageSize: 60_000 }), piece);
  cleanUp(t, () => agent.close());
  return agent;
}

for (const credential of [communityCredential, usmUser]) {
  test(`version ${credential.version}: one connection carries all requests of an agent, and answers in pieces`, async (t) => {
    const agent = await startAgent(t, 3);
    const { session, open } = openTo(t, agent.port, { credential });
    const second = open();
    const answers = await Promise.all([session.get([sysName]), second.get([sysName]), session.getNext([sysName])]);
    assert.equal(Buffer.from(answers[0].varbinds[0]?.value as Uint8Array).toString(), "r1");
    assert.equal(answers.length, 3);
    assert.equal(agent.connections, 1);
  });
}

test("an answer that is larger than a datagram comes whole", async (t) => {
  const rows = Array.from({ length: 60 }, (_, i) => [`1.3.6.1.4.1.99999.1.${i + 1}`, octets("x".repeat(900))]);
  const agent = await startAgent(t, undefined, tableOf(Object.fromEntries(rows)));
  const { session } = openTo(t, agent.port);
  const { varbinds } = await session.getBulk([oidOf("1.3.6.1.4.1.99999.1")], 0, 60);
  assert.equal(varbinds.length, 60);
});

test("a connection that was cut is made again", async (t) => {
  const agent = await startAgent(t);
  const { session } = openTo(t, agent.port, { timeout: 500 });
  await session.get([sysName]);
  agent.cut();
  const { varbinds } = await session.get([sysName]);
  assert.equal(varbinds.length, 1);
  assert.equal(agent.connections, 2);
});

test("nobody there is a time-out, and what is no message closes its connection and is counted", async (t) => {
  const server = createServer(
    (socket) =>
      void socket
        .on("error", () => {})
        .resume()
        .end("HTTP/1.1 400 Bad Request\r\n"),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const { session, metrics } = openTo(t, port, { timeout: 500 });
  await assert.rejects(session.get([sysName]), { code: "timeout" });
  assert.ok(((await metrics.value("netgloss_snmp_ignored_datagrams_total", { reason: "malformed" })) ?? 0) >= 1);
  server.close();
  await once(server, "close");
  await assert.rejects(session.get([sysName]), { name: "SnmpError" });
});

test("a stream is divided into the messages that it was made of, wherever it is cut", () => {
  const message = fc.uint8Array({ maxLength: 400 }).map((body) => {
    const length = body.length;
    const head = length < 0x80 ? [0x30, length] : [0x30, 0x82, length >> 8, length & 0xff];
    return Buffer.from([...head, ...body]);
  });
  fc.assert(
    fc.property(fc.array(message, { maxLength: 6 }), fc.array(fc.integer({ min: 1, max: 300 })), (messages, cuts) => {
      const reader = new MessageReader();
      const stream = Buffer.concat(messages);
      const found: Buffer[] = [];
      for (let at = 0, i = 0; at < stream.length; i++) {
        const end = Math.min(stream.length, at + (cuts[i] ?? 50));
        found.push(...reader.read(stream.subarray(at, end)).map((one) => Buffer.from(one)));
        at = end;
      }
      assert.deepEqual(found, messages);
    }),
  );
});

test("bytes that are no messages, or too long ones, are refused at their head", () => {
  assert.throws(() => new MessageReader().read(Buffer.from([0x31, 0])), /begins with the octet 49/);
  assert.throws(() => new MessageReader().read(Buffer.from([0x30, 0x80])), /0 octets/);
  assert.throws(() => new MessageReader().read(Buffer.from([0x30, 0x85, 1])), /5 octets/);
  assert.throws(() => new MessageReader().read(Buffer.from([0x30, 0x84, 0xff, 0xff, 0xff, 0xff])), /4294967301 octets/);
});
