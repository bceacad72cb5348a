import assert from "node:assert/strict";
import { test } from "node:test";
import { parseKey, type Key } from "../../src/base/ip/index.ts";
import { createChangeBuffer, ChangeReader, ChangeWriter } from "../../src/metadata/index/snapshots.ts";

const range = ({ family, first, last }: Key): object => ({ family, first, last });

function setUp() {
  const buffer = createChangeBuffer();
  const state = { version: 0 };
  const reader = new ChangeReader(buffer);
  const writer = new ChangeWriter(buffer);
  return {
    state,
    read: () => reader.next(() => state.version),
    note: writer.write.bind(writer),
  };
}

test("what is written for a version that is not published yet comes with that version", () => {
  const { state, read, note } = setUp();
  assert.deepEqual(read(), { version: 0, changed: undefined });
  const keys = ["10.0.0.0/8", "255.255.255.255", "::-ffff::1", "2001:db8::1"].map(parseKey);
  note(1, keys);
  assert.deepEqual(read(), { version: 0, changed: [] });
  state.version = 1;
  assert.deepEqual(read(), { version: 1, changed: keys.map(range) });
  note(2, undefined);
  note(3, keys.slice(0, 1));
  assert.deepEqual(read(), { version: 1, changed: [] });
  state.version = 3;
  assert.deepEqual(read(), { version: 3, changed: undefined });
});

test("versions wrap around, and a reader that was overtaken learns it once", () => {
  const { state, read, note } = setUp();
  read();
  const [key] = [parseKey("10.0.0.1")];
  state.version = 2 ** 31 - 2000;
  for (let n = 0; n < 4000; n++) note((state.version = (state.version + 1) | 0), [key]);
  const { version, changed } = read();
  assert.deepEqual([version, changed?.length], [state.version, 4000]);
  for (let n = 0; n < 4097; n++) note((state.version = (state.version + 1) | 0), [key]);
  const next = state.version + 1;
  note(next, [key]);
  assert.deepEqual(read(), { version: state.version, changed: undefined });
  assert.deepEqual(read(), { version: state.version, changed: [] });
  state.version = next;
  assert.deepEqual(read(), { version: next, changed: [range(key)] });
});
