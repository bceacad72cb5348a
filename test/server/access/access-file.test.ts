import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AccessFileError,
  createToken,
  editAccessFile,
  hashPassword,
  parseAccessFile,
} from "../../../src/server/index.ts";

const hash = await hashPassword("secret");
const { hash: tokenHash } = createToken("ci");

function faultsOf(text: string): readonly string[] {
  try {
    parseAccessFile("users.yml", text);
    return [];
  } catch (error) {
    assert.ok(error instanceof AccessFileError, String(error));
    return error.faults;
  }
}

test("users and tokens are read with their roles", () => {
  const { users, tokens } = parseAccessFile(
    "users.yml",
    `users:
  alice: {role: editor, password: "${hash}"}
  bob: {role: viewer, certificate: "CN=bob, O=Example"}
tokens:
  ci: {role: editor, areas: [metadata, flow], hash: "${tokenHash}", expires: 2030-01-31T00:00:00Z}
`,
  );
  assert.equal(users.get("alice")?.role, "editor");
  assert.deepEqual(users.get("bob")?.certificate, ["CN=bob", "O=Example"]);
  assert.deepEqual(tokens.get("ci")?.areas, ["metadata", "flow"]);
  assert.equal(tokens.get("ci")?.expires, Date.UTC(2030, 0, 31));
  assert.deepEqual(parseAccessFile("users.yml", "").users, new Map());
});

test("all faults of a file are named with their places", () => {
  const text = `users:
  alice: {role: boss}
  "a:b": {role: viewer}
  carl: {role: viewer, password: secret}
  dora: {role: viewer, shoe: 43}
  emil: {role: viewer, certificate: emil}
tokens:
  a_b: {role: viewer, hash: "${tokenHash}"}
  c: {role: viewer}
  d: {role: viewer, hash: "${tokenHash}", areas: [moon]}
  e: {role: viewer, hash: "${tokenHash}", expires: soon}
groups: {}
`;
  const wanted = [
    'users.yml:2:17: user alice: role: expected one of viewer, editor, operator, admin; found "boss"',
    'users.yml:3:3: user a:b: expected a name without a colon, found "a:b"',
    "users.yml:4:34: user carl: password: expected a hash, as `netgloss user set` writes it",
    "users.yml:5:24: user dora: shoe: unknown key, expected one of role, password, certificate, scopes",
    'users.yml:6:37: user emil: certificate: expected parts of a subject, such as CN=alice,O=Example; found "emil"',
    'users.yml:8:3: token a_b: expected a name of letters, digits, dots and dashes; found "a_b"',
    "users.yml:9:3: token c: hash is missing: expected a hash, as `netgloss token create` writes it",
    'users.yml:10:110: token d: areas 1: expected one of metadata, flow, snmp, collector; found "moon"',
    'users.yml:11:111: token e: expires: expected a time such as 2027-01-31T00:00:00Z, found "soon"',
    "users.yml:12:1: groups: unknown key, expected one of users, tokens",
  ];
  const faults = faultsOf(text);
  assert.deepEqual(faults, wanted);
  assert.match(faultsOf("users: [")[0] ?? "", /^users\.yml:\d+:\d+: /);
  assert.match(faultsOf("users: 3")[0] ?? "", /expected a mapping/);
});

test("a key without a value takes no limit away", () => {
  for (const limit of ["areas:", "areas: null", 'areas: ""', "expires:"]) {
    const [fault = ""] = faultsOf(`tokens:\n  a:\n    role: viewer\n    hash: "${tokenHash}"\n    ${limit}\n`);
    assert.match(fault, /^users\.yml:5:\d+: token a: (?:areas|expires): expected .*, found (?:nothing|an empty text)$/);
  }
});

test("who or what is there twice is a fault", () => {
  assert.deepEqual(faultsOf("users:\n  a: {role: viewer, role: admin}\n  a: {role: editor}\n"), [
    'users.yml:2:21: key "role" is given twice, first at line 2, column 7',
    'users.yml:3:3: key "a" is given twice, first at line 2, column 3',
  ]);
});

test("a value may stand in a list by itself", () => {
  const list = `users:\n  a: {role: [admin], password: ["${hash}"], certificate: [CN=a]}\n`;
  const { users } = parseAccessFile("users.yml", list);
  assert.deepEqual([users.get("a")?.role, users.get("a")?.certificate], ["admin", ["CN=a"]]);
  assert.equal(faultsOf("users:\n  a: {role: viewer, certificate: [CN=a, O=b]}\n").length, 1);
});

test("a hash that would take too much memory is refused", () => {
  for (const bad of [
    hash.replace("ln=15", "ln=25"),
    hash.replace("r=8", "r=99"),
    hash.replace("p=1", "p=9"),
    "$scrypt$x",
  ]) {
    assert.equal(faultsOf(`users: {a: {role: viewer, password: "${bad}"}}`).length, 1, bad);
  }
});

test("an edit changes one user or token and keeps the others with all their fields", () => {
  const first = editAccessFile("u", "", "users", "alice", { role: "viewer", password: hash }) ?? "";
  const second = editAccessFile("u", first, "tokens", "ci", { role: "editor", areas: ["flow"], hash: tokenHash }) ?? "";
  const third = editAccessFile("u", second, "users", "alice", { role: "admin" }) ?? "";
  const { users, tokens } = parseAccessFile("u", third);
  assert.deepEqual([users.get("alice")?.role, users.get("alice")?.password !== undefined], ["admin", true]);
  assert.deepEqual(tokens.get("ci")?.areas, ["flow"]);
  const last = editAccessFile("u", third, "users", "alice", undefined) ?? "";
  assert.deepEqual([...parseAccessFile("u", last).users.keys()], []);
  assert.equal(editAccessFile("u", last, "users", "alice", undefined), undefined);
  assert.throws(() => editAccessFile("u", "users: 3", "users", "a", { role: "viewer" }), AccessFileError);
  assert.throws(() => editAccessFile("u", "", "users", "a:b", { role: "viewer" }), AccessFileError);
});
