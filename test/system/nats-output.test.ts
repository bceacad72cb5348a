import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, nkeys, type NatsConnection } from "@nats-io/transport-node";
import type { Outcome } from "../../src/output/index.ts";
import { batchOf } from "../output/delivery/batch-fixture.ts";
import { startFaultProxy } from "../output/delivery/fault-proxy.ts";
import { keepLedger, numberedFlow } from "../output/delivery/output-contract.ts";
import { adapterOf, tlsSettings } from "../output/adapter-fixture.ts";
import { natsServer, type NatsSettings } from "../output/nats/nats-fixture.ts";
import { cleanUp } from "../support/clean-up.ts";
import { killPartner, startPartner } from "../support/partner.ts";
import { tempDirectory } from "../support/temp-directory.ts";

const signal = new AbortController().signal;
const accepted: Outcome = { refused: [], retry: [] };

interface Held {
  readonly subject: string;
  readonly id: string | undefined;
  readonly line: string;
}

/** All messages of a stream. */
async function readStream(connection: NatsConnection, stream: string): Promise<Held[]> {
  const manager = await jetstreamManager(connection);
  const { messages } = (await manager.streams.info(stream)).state;
  const held: Held[] = [];
  if (messages === 0) return held;
  const consumer = await jetstream(connection).consumers.get(stream);
  for await (const message of await consumer.consume({ max_messages: 1000 })) {
    held.push({ subject: message.subject, id: message.headers?.get("Nats-Msg-Id"), line: message.string() });
    if (held.length === messages) break;
  }
  return held;
}

/** Opens an output, sends lines, closes it. */
async function deliver(config: Partial<NatsSettings>, lines: readonly string[] = []) {
  const adapter = adapterOf("NATS", config);
  try {
    const warnings = await adapter.open(signal);
    return { warnings, outcome: lines.length === 0 ? accepted : await adapter.send(batchOf(lines), signal) };
  } finally {
    await adapter.close();
  }
}

test("nats: each record in its subject, once through all faults; what the server refuses", async (t) => {
  const partner = await startPartner(t, "nats");
  const place = String(partner["url"]).replace("nats://", "");
  const [host = "", port] = place.split(":");
  const reader = await connect({ servers: place });
  cleanUp(t, () => reader.close());

  await t.test("a subject for each type and exporter, an identity for each record", async () => {
    const lines = [
      numberedFlow(1),
      '{"flow.export.ip.addr":"2001:db8::1","flow.record.type":"options","n":2}',
      '{"system.ip.addr":"192.0.2.9","n":3}',
    ];
    const config = natsServer(place, { SUBJECT: "site.a", STREAM_NAME: "A" });
    assert.deepEqual(await deliver(config, lines), { warnings: [], outcome: accepted });
    assert.deepEqual(await deliver(config, lines), { warnings: [], outcome: accepted });
    assert.deepEqual(await readStream(reader, "A"), [
      { subject: "site.a.flow.192_0_2_1", id: "abc-0-0", line: lines[0] },
      { subject: "site.a.flow_option.2001:db8::1", id: "abc-0-1", line: lines[1] },
      { subject: "site.a.telemetry.192_0_2_9", id: "abc-0-2", line: lines[2] },
    ]);
  });

  await t.test("what is too large is refused, and nothing else", async () => {
    const manager = await jetstreamManager(reader);
    await manager.streams.add({ name: "SMALL", subjects: ["small.>"], max_msg_size: 300 });
    const long = (bytes: number): string => `{"flow.export.ip.addr":"192.0.2.1","pad":"${"x".repeat(bytes)}"}`;
    const { outcome } = await deliver(natsServer(place, { SUBJECT: "small" }), [
      numberedFlow(1),
      long(400),
      long(1_100_000),
      numberedFlow(2),
    ]);
    assert.deepEqual(outcome.retry, []);
    const reasons = outcome.refused.map(({ index, reason }) => [index, reason] as const).toSorted(([a], [b]) => a - b);
    assert.deepEqual(reasons, [
      [1, "message size exceeds maximum allowed"],
      [2, "the record is longer than the server's max_payload"],
    ]);
    assert.equal((await readStream(reader, "SMALL")).length, 2);
  });

  await t.test("a full stream, none at all, one that says nothing", async () => {
    const manager = await jetstreamManager(reader);
    await manager.streams.add({ name: "FULL", subjects: ["full.>"], max_msgs: 1, discard: "new" });
    const full = natsServer(place, { SUBJECT: "full" });
    const { outcome } = await deliver(full, [numberedFlow(1), numberedFlow(2)]);
    assert.deepEqual([outcome.refused, outcome.retry, outcome.fault?.blame], [[], [1], "operator"]);
    const none = natsServer(place, { SUBJECT: "nothing", STREAM_CREATE: false });
    await assert.rejects(deliver(none), /no stream takes the subjects nothing\.>/);
    await manager.streams.add({ name: "MUTE", subjects: ["mute.>"], no_ack: true });
    await assert.rejects(deliver(natsServer(place, { SUBJECT: "mute" })), /MUTE acknowledges nothing/);
    await manager.streams.add({ name: "SHORT", subjects: ["short.>"], duplicate_window: 1_000_000_000 });
    const { warnings } = await deliver(natsServer(place, { SUBJECT: "short" }));
    assert.match(warnings.join(), /SHORT recognises messages for 1 s only/);
    const taken = natsServer(place, { SUBJECT: "other", STREAM_NAME: "SHORT" });
    await assert.rejects(deliver(taken), /the stream SHORT cannot be created: /);
  });

  await t.test("what cannot be reached", async () => {
    await assert.rejects(deliver(natsServer("127.0.0.1:1")), /127\.0\.0\.1:1 refuses connections/);
    await assert.rejects(deliver(natsServer("no-such-host.invalid:4222")), /host name of no-such-host\.invalid:4222/);
    const monitor = String(partner["monitor"]).replace("http://", "");
    await assert.rejects(deliver(natsServer(monitor, { TIMEOUT: 0.5 })), /127\.0\.0\.1:\d+/);
    await assert.rejects(deliver(natsServer(place, tlsSettings())), /TLS|tls/);
  });

  await t.test("the ledger", async (u) => {
    const proxy = await startFaultProxy(u, host, Number(port));
    const config = natsServer(`127.0.0.1:${proxy.port}`, {
      SUBJECT: "ledger",
      STREAM_NAME: "LEDGER",
      TIMEOUT: 0.8,
    });
    const adapter = adapterOf("NATS", config);
    // The server may have been killed.
    const numbers = async () => {
      const late = await connect({ servers: place });
      const held = await readStream(late, "LEDGER");
      await late.close();
      return held.map(({ line }) => (JSON.parse(line) as { n: number }).n);
    };
    const options = { records: 100_000, step: 200, faultMs: 150, config: { TIMEOUT: 1, BATCH_MAX_BYTES: 100_000 } };
    let kills = 2;
    const restart = async (): Promise<void> => {
      if (kills-- <= 0) return;
      killPartner(partner);
      proxy.fault = "pass";
      await sleep(1500);
    };
    await keepLedger(u, { adapter, proxy, isExactlyOnce: true, numbers, moods: [() => {}, restart] }, options);
  });
});

test("nats: TLS, client certificates and passwords", async (t) => {
  const partner = await startPartner(t, "nats", { NATS_MTLS: "1" });
  const of = (name: string): string => String(partner[name]);
  const place = of("url").replace("tls://", "");
  const tls = tlsSettings({ ca: of("ca"), cert: of("cert"), key: of("key") });
  const config = natsServer(place, { ...tls, USERNAME: of("user"), PASSWORD: of("password") });
  assert.deepEqual(await deliver(config, [numberedFlow(1)]), { warnings: [], outcome: accepted });
  await assert.rejects(deliver({ ...config, ...tlsSettings() }), /certificate of .* is not trusted/);
  await assert.rejects(deliver({ ...config, ...tlsSettings({ ca: of("ca") }) }), /certificate|closed/);
  const wrong = { ...config, PASSWORD: "no" };
  await assert.rejects(deliver(wrong), /refuses the credentials/);
  const absent = join(tempDirectory(t), "none.creds");
  await assert.rejects(deliver({ ...config, CREDENTIALS_FILEPATH: absent }), /none\.creds cannot be read/);
});

type KeyPair = ReturnType<typeof nkeys.createUser>;

/** A JSON Web Token of NATS about a key. */
function tokenOf(issuer: KeyPair, subject: KeyPair, name: string, nats: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const head = part({ typ: "JWT", alg: "ed25519-nkey" });
  const iat = Math.trunc(Date.now() / 1000);
  const claims = part({ jti: name, iat, iss: issuer.getPublicKey(), sub: subject.getPublicKey(), name, nats });
  const signature = Buffer.from(issuer.sign(Buffer.from(`${head}.${claims}`))).toString("base64url");
  return `${head}.${claims}.${signature}`;
}

const seedOf = (pair: KeyPair): string => Buffer.from(pair.getSeed()).toString();

test("nats: tokens, NKeys, files of credentials, and what a user may not do", async (t) => {
  const folder = tempDirectory(t);
  const start = async (name: string, settings: string): Promise<string> => {
    const path = join(folder, name);
    writeFileSync(path, settings);
    const { url } = await startPartner(t, "nats", { NATS_EXTRA: path });
    return String(url).replace("nats://", "");
  };

  await t.test("a token", async () => {
    const config = natsServer(await start("token.conf", "authorization { token: secret }\n"));
    const token = (text: string) => ({ ...config, TOKEN: text });
    assert.deepEqual(await deliver(token("secret"), [numberedFlow(1)]), { warnings: [], outcome: accepted });
    await assert.rejects(deliver(token("no")), /refuses the credentials/);
  });

  await t.test("an NKey, and permissions", async () => {
    const [all, some] = [nkeys.createUser(), nkeys.createUser()];
    const may = `permissions: { publish: ["netgloss.flow.>"], subscribe: ["_INBOX.>"] }`;
    const users = `{ nkey: ${all.getPublicKey()} }, { nkey: ${some.getPublicKey()}, ${may} }`;
    const config = natsServer(await start("nkey.conf", `authorization { users: [${users}] }\n`), { TIMEOUT: 1 });
    const nkey = (pair: KeyPair) => ({ ...config, NKEY_SEED: seedOf(pair) });
    assert.deepEqual(await deliver(nkey(all), [numberedFlow(1)]), { warnings: [], outcome: accepted });
    const { warnings, outcome } = await deliver(nkey(some), [numberedFlow(2)]);
    assert.match(warnings.join(), /the streams cannot be looked at .*: whether one takes netgloss\.> shows/);
    assert.deepEqual(outcome, accepted);
    const telemetry = '{"system.ip.addr":"192.0.2.9"}';
    await assert.rejects(deliver(nkey(some), [telemetry]), /does not allow it: .*Publish.*netgloss\.telemetry/);
    await assert.rejects(deliver(nkey(nkeys.createUser())), /refuses the credentials/);
  });

  await t.test("a file of credentials", async () => {
    const [operator, user] = [nkeys.createOperator(), nkeys.createUser()];
    const [account, system] = [nkeys.createAccount(), nkeys.createAccount()];
    const open = { subs: -1, data: -1, payload: -1 };
    const limits = { ...open, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
    const storage = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
    const ofOperator = tokenOf(operator, operator, "operator", { type: "operator", version: 2 });
    const accountOf = (pair: KeyPair, all: object): string =>
      `${pair.getPublicKey()}: ${tokenOf(operator, pair, "account", { limits: all, type: "account", version: 2 })}`;
    const ofUser = tokenOf(account, user, "user", { ...open, pub: {}, sub: {}, type: "user", version: 2 });
    const accounts = `${accountOf(account, { ...limits, ...storage })}, ${accountOf(system, limits)}`;
    const place = await start(
      "jwt.conf",
      `operator: ${ofOperator}\nsystem_account: ${system.getPublicKey()}\nresolver: MEMORY\nresolver_preload: { ${accounts} }\n`,
    );
    const path = join(folder, "user.creds");
    writeFileSync(
      path,
      [
        `-----BEGIN NATS USER JWT-----\n${ofUser}\n------END NATS USER JWT------\n`,
        `-----BEGIN USER NKEY SEED-----\n${seedOf(user)}\n------END USER NKEY SEED------\n`,
      ].join("\n"),
    );
    const config = natsServer(place, { CREDENTIALS_FILEPATH: path });
    assert.deepEqual(await deliver(config, [numberedFlow(1)]), { warnings: [], outcome: accepted });
  });
});
