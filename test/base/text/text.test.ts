import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { hashText, nearName, quote, Secret } from "../../../src/base/text/index.ts";

test("a long or hostile text is cut and quoted in messages", () => {
  assert.equal(quote("a".repeat(128)), `"${"a".repeat(128)}"`);
  assert.equal(quote("a".repeat(129)), `"${"a".repeat(128)}…"`);
  assert.equal(quote("😀".repeat(129)), `"${"😀".repeat(128)}…"`);
  assert.equal(quote("😀".repeat(128)), `"${"😀".repeat(128)}"`);
  assert.equal(quote("a".repeat(10_000_000)).length, 131);
  assert.equal(quote('say "hi"\n'), String.raw`"say \"hi\"\n"`);
  assert.equal(quote("\x1b[31m\x7f\x9b\u2028\ud800"), String.raw`"\u001b[31m\u007f\u009b\u2028\ud800"`);
  assert.equal(quote("\u200b10.0.0.1\ufeff\u202e"), String.raw`"\u200b10.0.0.1\ufeff\u202e"`);
  assert.equal(quote("👩\u200d💻"), '"👩\u200d💻"', "a joiner is a part of what is seen");
});

test("the nearest name is offered, two edits away at most", () => {
  const names = ["poll_interval", "timeout", "retries"];
  assert.equal(nearName("pol_interval", names), "poll_interval");
  assert.equal(nearName("TIMEOTU", names), "timeout");
  assert.equal(nearName("retire_all", names), undefined);
  assert.equal(nearName("ip", ["id", "if"]), "id");
});

test("a secret shows itself to nobody who does not ask for it", () => {
  const secret = new Secret("sesame");
  for (const shown of [String(secret), JSON.stringify({ secret }), inspect({ secret })]) {
    assert.doesNotMatch(shown, /sesame/);
  }
  assert.deepEqual([secret.reveal(), secret.isSet, new Secret("").isSet], ["sesame", true, false]);
});

test("texts are hashed by FNV-1a", () => {
  assert.deepEqual(["", "a", "foobar"].map(hashText), [0x811c9dc5, 0xe40c292c, 0xbf9cf968]);
});
