import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { MessageFramer } from "../../src/flow/intake/tcp-session.ts";
import { runs } from "../support/runs.ts";

function message(length: number, fill: number): Buffer {
  const bytes = Buffer.alloc(length, fill);
  bytes.writeUInt16BE(10, 0);
  bytes.writeUInt16BE(length, 2);
  return bytes;
}

/** What comes out of a stream that is cut at these places: messages in hex, and the fault at the end. */
function cut(stream: Buffer, cuts: readonly number[]): { messages: string[]; fault: string | undefined; held: number } {
  const framer = new MessageFramer();
  const messages: string[] = [];
  const places = [...cuts.map((place) => place % (stream.length + 1)), stream.length].toSorted((a, b) => a - b);
  let from = 0;
  for (const to of places) {
    if (to > from) framer.push(Buffer.from(stream.subarray(from, to)));
    from = to;
    for (;;) {
      const next = framer.peek();
      if (typeof next === "string") return { messages, fault: next, held: framer.held };
      if (next === undefined) break;
      messages.push(next.toString("hex"));
      framer.skip();
    }
  }
  return { messages, fault: undefined, held: framer.held };
}

const length = fc.oneof(fc.integer({ min: 16, max: 60 }), fc.integer({ min: 16, max: 5000 }), fc.constant(65_535));
const cuts = fc.array(fc.nat({ max: 400_000 }), { maxLength: 40 });

test("messages come out whole and in order, however the stream is cut; the last may be incomplete", () => {
  fc.assert(
    fc.property(fc.array(length, { maxLength: 6 }), cuts, fc.nat({ max: 15 }), (lengths, places, rest) => {
      const all = lengths.map((each, index) => message(each, index + 1));
      const stream = Buffer.concat([...all, message(16, 0xaa).subarray(0, rest)]);
      assert.deepEqual(cut(stream, places), {
        messages: all.map((each) => each.toString("hex")),
        fault: undefined,
        held: rest,
      });
    }),
    runs(100),
  );
});

test("a stream of single bytes is cut like any other", () => {
  const all = [message(16, 1), message(3000, 2)];
  const stream = Buffer.concat(all);
  const { messages } = cut(stream, [...stream.keys()]);
  assert.deepEqual(
    messages,
    all.map((each) => each.toString("hex")),
  );
});

test("hostile bytes end in a fault or wait for more; no message is taken that is none", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), cuts, (bytes, places) => {
      const { messages, fault, held } = cut(Buffer.from(bytes), places);
      for (const text of messages) {
        assert.match(text, /^000a/);
        assert.equal(Number.parseInt(text.slice(4, 8), 16), text.length / 2);
        assert.ok(text.length >= 32);
      }
      const taken = messages.join("").length / 2;
      if (fault === undefined) assert.equal(taken + held, bytes.length);
      else assert.ok(taken < bytes.length);
    }),
    runs(200),
  );
  assert.equal(cut(Buffer.from("GET / HTTP/1.1\r\n"), []).fault, "bad_version");
  assert.equal(cut(Buffer.from("0009001000000000", "hex"), []).fault, "bad_version");
  assert.equal(cut(Buffer.from("000a000f", "hex"), [1, 2, 3]).fault, "bad_length");
});
