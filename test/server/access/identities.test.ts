import assert from "node:assert/strict";
import { before, test } from "node:test";
import {
  FailureLimit,
  Identities,
  createToken,
  hashPassword,
  lacks,
  parseAccessFile,
  type AccessList,
} from "../../../src/server/index.ts";
import { cheapHash } from "../../support/cheap-hash.ts";

const clock = { at: 0, now: () => clock.at, monotonic: () => clock.at };
const { token, hash } = createToken("ci");
let list: AccessList;
before(async () => {
  const password = await hashPassword("sécret");
  list = parseAccessFile(
    "users.yml",
    `users: {alice: {role: editor, password: "${password}"}, bob: {role: viewer, certificate: "CN=bob,O=Example"}}
tokens: {ci: {role: viewer, hash: "${hash}", expires: 1970-01-01T00:00:10Z}}`,
  );
});

const always = (): boolean => true;

test("a password is hashed once, then remembered, until the users change or ten minutes have passed", async () => {
  const identities = new Identities(clock);
  identities.replace(list);
  const alice = { name: "alice", role: "editor", by: "basic" };
  const first = identities.byPassword("alice", "sécret", always);
  assert.ok(first instanceof Promise);
  assert.deepEqual(await first, alice);
  assert.deepEqual(
    identities.byPassword("alice", "sécret", () => false),
    alice,
    "no hash is needed",
  );
  assert.deepEqual(
    await identities.byPassword("alice", "se\u0301cret", always),
    alice,
    "letters by Unicode's normal form",
  );
  assert.equal(await identities.byPassword("alice", "wrong", always), undefined);
  assert.equal(await identities.byPassword("nobody", "sécret", always), undefined);
  assert.equal(await identities.byPassword("bob", "", always), undefined, "a user without a password");
  assert.equal(
    identities.byPassword("alice", "wrong", () => false),
    "blocked",
  );
  clock.at += 600_001;
  assert.ok(identities.byPassword("alice", "sécret", always) instanceof Promise);
  await identities.byPassword("alice", "sécret", always);
  identities.replace({ ...list, users: new Map() });
  assert.equal(await identities.byPassword("alice", "sécret", always), undefined);
  clock.at = 0;
});

test("two passwords are hashed at a time, 32 wait, and the others are turned away at once", async () => {
  const identities = new Identities(clock);
  identities.replace(
    parseAccessFile("users.yml", `users: {alice: {role: editor, password: "${cheapHash("sécret")}"}}`),
  );
  const all = Array.from({ length: 40 }, (_, i) => identities.byPassword("alice", `wrong ${i}`, always));
  const answers = await Promise.all(all.map((answer) => Promise.resolve(answer)));
  assert.equal(answers.filter((answer) => answer === "busy").length, 6);
  assert.equal(answers.filter((answer) => answer === undefined).length, 34);
  assert.deepEqual(((await identities.byPassword("alice", "sécret", always)) as { name: string }).name, "alice");
});

test("a name takes as long as any other, known or not, where hashes cost differently", async () => {
  const identities = new Identities(clock);
  const users = `{cheap: {role: editor, password: "${cheapHash("a")}"}, dear: {role: editor, password: "${cheapHash("b", 14)}"}}`;
  identities.replace(parseAccessFile("users.yml", `users: ${users}`));
  const spent = async (name: string): Promise<number> => {
    const figures: number[] = [];
    for (let i = 0; i < 3; i++) {
      const start = process.cpuUsage();
      assert.equal(await identities.byPassword(name, `wrong ${i}`, always), undefined);
      const { user, system } = process.cpuUsage(start);
      figures.push(user + system);
    }
    return Math.min(...figures);
  };
  // A hash of the one costs 16 times that of the other.
  const figures = [await spent("cheap"), await spent("dear"), await spent("nobody")];
  assert.ok(Math.max(...figures) < 4 * Math.min(...figures), figures.join(", "));
  assert.equal(((await identities.byPassword("cheap", "a", always)) as { name: string }).name, "cheap");
  assert.equal(((await identities.byPassword("dear", "b", always)) as { name: string }).name, "dear");
});

test("a user that is deleted while its password is hashed is nobody", async () => {
  const identities = new Identities(clock);
  identities.replace(list);
  const pending = identities.byPassword("alice", "sécret", always);
  identities.replace({ ...list });
  assert.equal(await pending, undefined);
});

test("tokens have a secret and an end; certificates all parts of a subject", () => {
  const identities = new Identities(clock);
  identities.replace(list);
  assert.deepEqual(identities.byToken(token), { name: "ci", role: "viewer", by: "token" });
  for (const wrong of [
    token.slice(0, -1),
    `${token}A`,
    token.replace("ci", "di"),
    "",
    "ngt_ci_",
    createToken("ci").token,
  ]) {
    assert.equal(identities.byToken(wrong), undefined, wrong);
  }
  clock.at = 10_000;
  assert.equal(identities.byToken(token), undefined, "it has expired");
  clock.at = 0;
  assert.equal(identities.byCertificate(["O=Example", "CN=bob", "C=NL"])?.name, "bob");
  assert.equal(identities.byCertificate(["CN=bob"]), undefined);
  assert.equal(identities.byCertificate(["CN=alice", "O=Example"]), undefined);
});

test("roles include those below, areas limit tokens", () => {
  const who = { name: "x", role: "editor", by: "token", areas: ["metadata"] } as const;
  assert.equal(lacks(who, { role: "viewer", area: "metadata" }), undefined);
  assert.equal(lacks(who, { role: "editor", area: undefined }), undefined);
  assert.equal(lacks(who, { role: "admin", area: "metadata" }), "x has the role editor, this needs admin");
  assert.equal(lacks(who, { role: "viewer", area: "flow" }), "x is for metadata, this is flow");
});

test("ten failures block a client, and time gives them back; an IPv6 client is its /64", () => {
  const limit = new FailureLimit(clock);
  for (let i = 0; i < 10; i++) limit.failed(`2001:db8::${i}`);
  assert.ok(limit.isClientBlocked("2001:db8::ffff"));
  assert.ok(!limit.isClientBlocked("2001:db8:0:1::1"));
  assert.ok(!limit.isClientBlocked("192.0.2.1"));
  for (let i = 0; i < 10; i++) limit.failed("::ffff:192.0.2.1");
  assert.ok(limit.isClientBlocked("192.0.2.1"));
  clock.at = 6_001;
  assert.ok(!limit.isClientBlocked("192.0.2.1"));
  limit.failed("192.0.2.1");
  assert.ok(limit.isClientBlocked("192.0.2.1"));
  clock.at = 0;
});

test("failures from many clients block their user; it is known where that user has signed in", () => {
  const limit = new FailureLimit(clock);
  limit.succeeded("192.0.2.1", "vera");
  for (let i = 0; i < 30; i++) limit.failed(`198.51.100.${i}`, "vera");
  assert.ok(limit.isUserBlocked("vera"));
  assert.ok(!limit.isUserBlocked("ed"));
  assert.ok(limit.isKnown("192.0.2.1", "vera"));
  assert.ok(!limit.isKnown("203.0.113.1", "vera"));
  clock.at = 6_001;
  assert.ok(!limit.isUserBlocked("vera"));
  clock.at = 0;
});
