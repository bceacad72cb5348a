import assert from "node:assert/strict";
import { test } from "node:test";
import { SampledSink } from "../../src/app/index.ts";
import { outputsOf, plainSettings, readSettings, settingNames } from "../../src/app/settings/index.ts";
import { decodeMemory, slabBytes } from "../../src/app/threads/flow-thread-parts.ts";

const defaults = plainSettings(readSettings([], () => assert.fail("no secret files here")).settings);
const outputWords = outputsOf(defaults).map(({ show }) => show("").slice("SVC_OUTPUT_".length, -1));
const slabs = (given: object): number => decodeMemory({ ...defaults, ...given }).lines.slabs;

test("every output has a queue", () => {
  const switches = settingNames.flatMap((name) => /^SVC_OUTPUT_(\w+)_ENABLE$/.exec(name)?.[1] ?? []);
  // `ELASTICSEARCH_TLS` is a switch of an output; `MONITOR` only counts records.
  const outputs = switches.filter(
    (word) => word !== "MONITOR" && !switches.some((other) => word.startsWith(`${other}_`)),
  );
  assert.deepEqual(outputs, outputWords);
});

test("a decoding thread has slabs for the queue of whichever output is enabled", () => {
  const queue = 96 * 1024 * 1024;
  const none = slabs({});
  for (const word of outputWords) {
    const size = { [`SVC_OUTPUT_${word}_QUEUE_SIZE`]: queue };
    assert.equal(slabs(size), none, `${word} is not enabled`);
    assert.equal(slabs({ ...size, [`SVC_OUTPUT_${word}_ENABLE`]: true }), none + (2 * queue) / slabBytes, word);
  }
});

test("where neither Explore nor Watch takes records, lines go to the sink itself", () => {
  const sink = { write() {} };
  const { sink: first, flush } = SampledSink.chain(sink, [], () => assert.fail("nothing is lost"));
  assert.equal(first, sink);
  flush();
});
