import assert from "node:assert/strict";
import { test } from "node:test";
import { Sessions } from "../../../src/server/index.ts";

type Principal = Parameters<Sessions["begin"]>[0];

const nora: Principal = { name: "nora", role: "editor", by: "session" };

function rig() {
  const time = { now: 0 };
  const sessions = new Sessions(5_000, { monotonic: () => time.now });
  const begin = (of: Principal, proof: "password" | "token" | "issuer" = "password", isSecure = false): string =>
    sessions.begin({ ...of }, { proof, isSecure, current: () => of });
  return { time, sessions, begin };
}

test("a session ends with its time, is nobody else's, and goes by the cookie of its kind alone", () => {
  const { time, sessions, begin } = rig();
  const key = begin(nora);
  assert.match(key, /^[\w-]{43}$/);
  const principal = sessions.principalOf(key, false) as Principal;
  assert.deepEqual(principal, nora);
  assert.equal(sessions.principalOf(key, false), principal, "streams know it again");
  assert.equal(sessions.principalOf(`${key}x`, false), undefined);
  assert.equal(sessions.principalOf(key, true), undefined);
  assert.equal(sessions.principalOf(begin(nora, "password", true), false), undefined);
  time.now = 4_999;
  assert.equal(sessions.current(principal), principal);
  time.now = 5_000;
  assert.equal(sessions.current(principal), undefined);
  assert.equal(sessions.principalOf(key, false), undefined);
  assert.equal(sessions.size, 0);
});

test("one session ends alone; all of a user end together, and not those of a token of that name", () => {
  const { sessions, begin } = rig();
  const [first, second, third] = [begin(nora), begin(nora), begin(nora)];
  const token = begin(nora, "token");
  const other = begin({ ...nora, name: "vera" });
  assert.equal(sessions.end(first)?.name, "nora");
  assert.equal(sessions.end(first), undefined);
  assert.equal(sessions.principalOf(second, false)?.name, "nora");
  assert.equal(sessions.endAll(sessions.principalOf(second, false) as Principal), 2);
  for (const key of [second, third]) assert.equal(sessions.principalOf(key, false), undefined);
  for (const key of [token, other]) assert.notEqual(sessions.principalOf(key, false), undefined);
});

test("the token against forgery is of one session", () => {
  const { sessions, begin } = rig();
  const [one, two] = [begin(nora), begin(nora)].map((key) => sessions.principalOf(key, false) as Principal);
  const { csrfToken } = sessions.tellPage(one as Principal) ?? { csrfToken: "" };
  assert.equal(sessions.isCsrfToken(one as Principal, csrfToken), true);
  for (const text of [undefined, "", csrfToken.slice(1), `${csrfToken}x`]) {
    assert.equal(sessions.isCsrfToken(one as Principal, text), false);
  }
  assert.equal(sessions.isCsrfToken(two as Principal, csrfToken), false);
  assert.equal(sessions.isCsrfToken(nora, csrfToken), false);
});

test("the number is bounded: a user who begins again and again loses the oldest, and pushes out nobody else", () => {
  const { sessions, begin } = rig();
  const vera = begin({ ...nora, name: "vera" });
  const [first = "", ...others] = Array.from({ length: 101 }, () => begin(nora));
  assert.equal(sessions.size, 101);
  assert.equal(sessions.principalOf(first, false), undefined);
  for (const key of [vera, ...others]) assert.notEqual(sessions.principalOf(key, false), undefined);
});
