import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../src/base/report/index.ts";
import {
  authenticationProtocols,
  privacyProtocols,
  type Credential,
  type SnmpErrorCode,
  type UsmCredential,
} from "../../src/snmp/index.ts";
import { decodeMessage, encodeScopedPdu, encodeUsmMessage } from "../../src/snmp/session/message-codec.ts";
import { oidOf, type SnmpAgent } from "../support/snmp-agent/index.ts";
import {
  agentAddress,
  agentPort,
  createManualClock,
  createSessionFixture,
  impatient,
  smallTable,
  usmUser,
} from "../support/snmp-session-fixture.ts";

const sysName = oidOf("1.3.6.1.2.1.1.5.0");
const text = (value: unknown): string => Buffer.from(value as Uint8Array).toString();
const usm = { credential: usmUser };

for (const authenticationProtocol of authenticationProtocols) {
  for (const privacyProtocol of authenticationProtocol === "noauth" ? (["nopriv"] as const) : privacyProtocols) {
    test(`a walk's worth of requests with ${authenticationProtocol} and ${privacyProtocol}`, async () => {
      const user: UsmCredential = { ...usmUser, authenticationProtocol, privacyProtocol };
      const { open, agent, client } = createSessionFixture({ users: [user], boots: 3, uptime: 90_000 });
      const session = open({ credential: user });
      assert.equal(text((await session.get([sysName])).varbinds[0]?.value), "r1");
      // Lengths that are and are not whole blocks of a cipher.
      for (let i = 1; i <= 17; i++) {
        const oids = smallTable.rows.slice(0, i).map(({ oid }) => oid);
        assert.deepEqual(
          (await session.get(oids)).varbinds.map(({ oid }) => oid),
          oids,
        );
      }
      assert.equal(agent.requests, 19);
      client.close();
    });
  }
}

test("the engine is asked for once, also by requests that start together", async () => {
  const { open, agent, client, metrics } = createSessionFixture({ boots: 5, uptime: 1000 });
  const session = open(usm);
  assert.equal(session.engine(), undefined);
  await Promise.all(Array.from({ length: 20 }, () => session.get([sysName])));
  await open(usm).get([sysName]);
  assert.equal(agent.requests, 22);
  assert.equal(session.engine()?.boots, 5);
  assert.ok((session.engine()?.time ?? 0) >= 1000);
  assert.deepEqual(Buffer.from(session.engine()?.id ?? []), Buffer.from(agent.engine().id));
  assert.equal(await metrics.value("netgloss_snmp_reports_total"), 1);
  assert.equal(open().engine(), undefined);
  client.close();
});

test("a reboot is noticed by a Report, the request still answered, and the boots show it", async () => {
  const { open, agent, client, metrics } = createSessionFixture({ boots: 5, uptime: 1000 });
  const session = open(usm);
  await session.get([sysName]);
  agent.reboot();
  assert.equal(text((await session.get([sysName])).varbinds[0]?.value), "r1");
  assert.equal(session.engine()?.boots, 6);
  assert.equal(await metrics.value("netgloss_snmp_reports_total"), 2);
  client.close();
});

test("clocks that drift apart are brought together again", async () => {
  const clock = createManualClock();
  const { open, agent, client } = createSessionFixture({ clock, boots: 2 });
  const session = open(usm);
  await session.get([sysName]);
  clock.advance(1_000_000);
  assert.equal(session.engine()?.time, 1000);
  await session.get([sysName]);
  assert.equal(agent.requests, 3);
  // An agent whose clock stood still for ten minutes: it reports once, and from then on all is well.
  agent.reboot();
  clock.advance(600_000);
  await session.get([sysName]);
  await session.get([sysName]);
  assert.equal(session.engine()?.boots, 3);
  assert.equal(session.engine()?.time, 600);
  assert.equal(agent.requests, 6);
  client.close();
});

test("an agent that lost its boots, or was replaced, is talked to again", async () => {
  const { open, agent, client } = createSessionFixture({ boots: 40, uptime: 5000 });
  const session = open(usm);
  await session.get([sysName]);
  agent.swap(agent.engine().id);
  assert.equal((await session.get([sysName])).errorStatus, 0);
  assert.equal(session.engine()?.boots, 1);
  agent.swap();
  assert.equal((await session.get([sysName])).errorStatus, 0);
  assert.deepEqual(Buffer.from(session.engine()?.id ?? []), Buffer.from(agent.engine().id));
  client.close();
});

for (const disowns of ["unknownUserNames", "wrongDigests", "unsupportedSecLevels"] as const) {
  test(`an agent of another engine that reports ${disowns} to messages for the old one is talked to at once`, async () => {
    const { open, agent, client } = createSessionFixture();
    const session = open(usm);
    await session.get([sysName]);
    agent.swap();
    agent.faults.disowns = disowns;
    const before = agent.requests;
    assert.equal(text((await session.get([sysName])).varbinds[0]?.value), "r1");
    assert.deepEqual(Buffer.from(session.engine()?.id ?? []), Buffer.from(agent.engine().id));
    // The one that is refused, the question for the engine, the one that is answered.
    assert.equal(agent.requests, before + 3);
    client.close();
  });
}

test("an agent of another engine that is silent to messages for the old one is talked to after two of them", async () => {
  const { open, agent, client } = createSessionFixture();
  const session = open({ ...usm, ...impatient });
  await session.get([sysName]);
  agent.swap();
  agent.faults.disowns = "silently";
  await assert.rejects(session.get([sysName]), { code: "timeout" });
  await assert.rejects(session.get([sysName]), { code: "timeout" });
  assert.equal(text((await session.get([sysName])).varbinds[0]?.value), "r1");
  client.close();
});

test("an agent that reports forever fails the request", async () => {
  const { open, client } = createSessionFixture({ boots: 0x7fffffff });
  // Boots at their maximum are never in the time window; the agent answers, but its answers are not timely.
  await assert.rejects(open({ ...usm, ...impatient }).get([sysName]), { code: "timeout", message: /time_window/ });
  const swapping = createSessionFixture();
  swapping.network.attach(agentAddress, agentPort, (datagram) => {
    swapping.agent.swap();
    return swapping.agent.handle(datagram).map((answer) => ({ datagram: answer }));
  });
  await assert.rejects(swapping.open(usm).get([sysName]), { code: "report", message: /unknownEngineIds/ });
  const late = createSessionFixture();
  late.network.attach(agentAddress, agentPort, (datagram) => {
    late.agent.reboot();
    return late.agent.handle(datagram).map((answer) => ({ datagram: answer }));
  });
  await assert.rejects(late.open(usm).get([sysName]), { code: "not_in_time_window" });
  for (const fixture of [swapping, late]) fixture.client.close();
  client.close();
});

const refusals: readonly (readonly [string, Partial<UsmCredential>, RegExp])[] = [
  ["an unknown user", { username: "nobody" }, /does not know the user .*unknownUserNames/],
  ["a wrong authentication passphrase", { authenticationPassphrase: "wrong-wrong" }, /authentication passphrase/],
  ["another authentication protocol", { authenticationProtocol: "sha512" }, /authentication passphrase or protocol/],
  ["a wrong privacy passphrase", { privacyPassphrase: "wrong-wrong" }, /privacy passphrase or protocol/],
  ["a level that the user may not use", { privacyProtocol: "nopriv" }, /security level/],
];

for (const [what, change, message] of refusals) {
  test(`the agent refuses ${what}: auth, without the passphrases in message or log`, async () => {
    let logged = "";
    const log = createLog({ level: "debug", format: "json", destination: { write: (line) => (logged += line) } });
    const { open, client } = createSessionFixture({ log });
    const credential = { ...usmUser, ...change };
    await assert.rejects(open({ credential }).get([sysName]), (error: Error) => {
      assert.equal((error as Error & { code: string }).code, "auth");
      assert.match(error.message, message);
      logged += JSON.stringify(error) + String(error.stack);
      return true;
    });
    for (const secret of [credential.authenticationPassphrase, credential.privacyPassphrase]) {
      assert.ok(secret !== undefined && !logged.includes(secret));
    }
    client.close();
  });
}

const invalid: readonly (readonly [string, Partial<UsmCredential>])[] = [
  ["username", { username: "" }],
  ["username", { username: "u".repeat(33) }],
  ["authentication_passphrase", { authenticationPassphrase: "seven77" }],
  ["privacy_passphrase", { privacyPassphrase: "short" }],
  ["privacy_protocol", { authenticationProtocol: "noauth" }],
];

for (const [field, change] of invalid) {
  test(`a credential is refused for its ${field}: ${JSON.stringify(change)}`, () => {
    const { open } = createSessionFixture();
    const credential: Credential = { ...usmUser, ...change };
    assert.throws(() => open({ credential }), {
      code: "invalid" satisfies SnmpErrorCode,
      message: new RegExp(`^${field}:`),
    });
  });
}

test("a recorded answer that is played back is no answer, to its own request or to another", async () => {
  const fixture = createSessionFixture();
  const { agent, client } = fixture;
  const session = fixture.open(usm);
  await session.get([sysName]);
  let recorded: Uint8Array = new Uint8Array(0);
  agent.faults.sends = (answer) => [(recorded = answer)];
  await session.get([sysName]);
  agent.faults.sends = () => [recorded, recorded];
  await assert.rejects(fixture.open({ ...usm, ...impatient }).get([sysName]), { code: "timeout" });
  assert.equal(await fixture.ignored("duplicate"), 2);
  client.close();
});

/** Messages sealed with the right keys under another engine or time than the agent's. */
const pretences: readonly (readonly [string, string, SnmpAgent["faults"]["pretends"]])[] = [
  ["of an earlier start", "time_window", (engine) => ({ ...engine, boots: engine.boots - 1 })],
  ["151 seconds old", "time_window", (engine) => ({ ...engine, time: engine.time - 151 })],
  ["of the last start there can be", "time_window", (engine) => ({ ...engine, boots: 0x7fffffff })],
  ["of another engine", "engine", (engine) => ({ ...engine, id: Buffer.from("80001f888099999999", "hex") })],
];

for (const [what, reason, pretends] of pretences) {
  test(`an authenticated answer ${what} is ignored`, async () => {
    const clock = createManualClock();
    const fixture = createSessionFixture({ boots: 9, uptime: 5000, clock });
    const { agent, client } = fixture;
    await fixture.open(usm).get([sysName]);
    agent.faults.pretends = pretends;
    await assert.rejects(fixture.open({ ...usm, ...impatient }).get([sysName]), {
      code: "timeout",
      message: new RegExp(`ignored: ${reason}`),
    });
    assert.equal(await fixture.ignored(reason), 1);
    client.close();
  });
}

test("an authenticated answer 149 seconds old, or from the future, is timely", async () => {
  const clock = createManualClock();
  const { open, agent, client } = createSessionFixture({ boots: 9, uptime: 5000, clock });
  const session = open(usm);
  await session.get([sysName]);
  agent.faults.pretends = (engine) => ({ ...engine, time: engine.time - 149 });
  assert.equal((await session.get([sysName])).errorStatus, 0);
  agent.faults.pretends = (engine) => ({ ...engine, time: engine.time + 100 });
  assert.equal((await session.get([sysName])).errorStatus, 0);
  assert.equal(session.engine()?.time, 5100);
  client.close();
});

test("no change of any byte gets an answer accepted; the true one behind them is", async () => {
  const fixture = createSessionFixture();
  const { agent, client, metrics } = fixture;
  const session = fixture.open(usm);
  await session.get([sysName]);
  let forged = 0;
  agent.faults.sends = (answer) => {
    const changed = Array.from(answer, (_, i) => answer.map((octet, j) => (j === i ? octet ^ (1 << (i % 8)) : octet)));
    forged = changed.length;
    return [...changed, answer];
  };
  assert.equal(text((await session.get([sysName])).varbinds[0]?.value), "r1");
  assert.equal(session.counts.ignored, forged);
  assert.ok(((await fixture.ignored("digest")) ?? 0) > forged / 2);
  assert.equal(await metrics.value("netgloss_snmp_request_errors_total", { code: "malformed" }), 0);
  client.close();
});

test("answers in the clear are not taken for a user with authentication", async () => {
  const fixture = createSessionFixture();
  const { agent, client } = fixture;
  const session = fixture.open(usm);
  await session.get([sysName]);
  const clear = (answer: Uint8Array, isPrivate: boolean): Uint8Array => {
    const { id } = decodeMessage(answer);
    const engine = agent.engine();
    const pdu = {
      type: "response" as const,
      requestId: id,
      errorStatus: 0,
      errorIndex: 0,
      varbinds: [{ oid: sysName, type: "OctetString" as const, value: Buffer.from("forged") }],
    };
    const data = encodeScopedPdu({ contextEngineId: engine.id, contextName: new Uint8Array(0), pdu });
    const none = new Uint8Array(0);
    return encodeUsmMessage({
      id,
      maxSize: 1472,
      isAuthenticated: false,
      isPrivate,
      isReportable: false,
      engineId: engine.id,
      boots: engine.boots,
      time: engine.time,
      user: Buffer.from(usmUser.username),
      macLength: 0,
      privacyParameters: none,
      data,
    }).bytes;
  };
  agent.faults.sends = (answer) => [clear(answer, false), clear(answer, true), answer];
  assert.equal(text((await session.get([sysName])).varbinds[0]?.value), "r1");
  assert.equal(await fixture.ignored("credential"), 2);
  client.close();
});

test("an authentic answer that does not answer fails the request", async () => {
  const { open, agent, client } = createSessionFixture();
  const session = open(usm);
  agent.faults.liesAbout = (response) => ({ ...response, varbinds: [] });
  await assert.rejects(session.get([sysName]), { code: "malformed" });
  agent.faults.liesAbout = undefined;
  assert.equal((await session.get([sysName])).errorStatus, 0);
  client.close();
});

test("an agent whose engine id is too short or too long is refused", async () => {
  for (const length of [0, 4, 33]) {
    const { open, client } = createSessionFixture({ engineId: new Uint8Array(length) });
    await assert.rejects(open(usm).get([sysName]), (error: Error & { code: string }) => {
      // Without any id the agent takes the probe for a request of an unknown user, which names no engine either.
      return error.code === "malformed" && /engine id of/.test(error.message);
    });
    client.close();
  }
});

test("an agent without version 3 times out", async () => {
  const { open, client } = createSessionFixture({ versions: ["2c"] });
  await assert.rejects(open({ ...usm, ...impatient }).get([sysName]), { code: "timeout" });
  client.close();
});
