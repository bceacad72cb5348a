import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  anonymizeTexts,
  createAnonymizeLines,
  cutAddresses,
  type AnonymizedCounts,
} from "../../../src/output/index.ts";
import { runs } from "../../support/runs.ts";

const anonymize = anonymizeTexts(cutAddresses(16, 32), false);

function shaped(
  lines: readonly string[],
  options: Partial<Parameters<typeof createAnonymizeLines>[0]> = {},
): { lines: string[]; counts: AnonymizedCounts | undefined } {
  let counts: AnonymizedCounts | undefined;
  const shape = createAnonymizeLines({
    anonymize,
    maxRecent: 8,
    keepsExporter: true,
    count: (done) => (counts = done),
    ...options,
  });
  const text = lines.map((line) => `${line}\n`).join("");
  const result = shape(Buffer.from(text), lines.length);
  assert.equal(result?.count, lines.length);
  return { lines: Buffer.from(result.lines).toString().trimEnd().split("\n"), counts };
}

test("every text that is an address, in arrays too, but not the exporter's, and nothing else", () => {
  const line =
    '{"flow.export.ip.addr":"192.0.2.254","flow.src.ip.addr":"192.0.2.1","flow.src.mac.addr":"00:00:5e:00:53:01","flow.ie.x":["198.51.100.7","2001:db8:1::2","a\\"192.0.2.1"],"flow.src.l4.port.id":53,"a.version":"1.2.3","flow.start.timestamp":"2026-11-22T03:59:55Z","flow.client.ip.addr":"192.0.2.1"}';
  const { lines, counts } = shaped([line]);
  assert.equal(
    lines[0],
    '{"flow.export.ip.addr":"192.0.2.254","flow.src.ip.addr":"192.0.0.0","flow.src.mac.addr":"00:00:5e:00:53:01","flow.ie.x":["198.51.0.0","2001:db8::","a\\"192.0.2.1"],"flow.src.l4.port.id":53,"a.version":"1.2.3","flow.start.timestamp":"2026-11-22T03:59:55Z","flow.client.ip.addr":"192.0.0.0"}',
  );
  assert.deepEqual(counts, { addresses: 4, computed: 3, fields: 0 });
  assert.match(shaped([line], { keepsExporter: false }).lines[0] ?? "", /^\{"flow\.export\.ip\.addr":"192\.0\.0\.0",/);
});

test("identifiers that are made of addresses, and bytes in hex, do not leave", () => {
  const id = "0123456789abcdef";
  const line = `{"flow.community.id":"1:abc=","flow.conversation.id":"${id}","flow.session.id":"${id}","flow.ie.dataLinkFrameSection":"0x00","flow.hex.x":["0x01","0x02"],"flow.in.acl.id":"0x0badc0de","flow.ie.y":"0x01"}`;
  assert.deepEqual(shaped([line, '{"a":1,"flow.community.id":"1:abc="}', '{"flow.community.id":"1:abc="}']), {
    lines: ['{"flow.in.acl.id":"0x0badc0de"}', '{"a":1}', "{}"],
    counts: { addresses: 0, computed: 0, fields: 8 },
  });
  const { lines } = shaped([line], { anonymizeId: (known) => known.replace("0123", "9999") });
  assert.equal(
    lines[0],
    '{"flow.conversation.id":"9999456789abcdef","flow.session.id":"9999456789abcdef","flow.in.acl.id":"0x0badc0de"}',
  );
});

test("as the model: what it does to parsed records", () => {
  const text = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.constantFrom("0.0.0.0", "::", "1:2", "abcd", "0x12", "00:00:5e:00:53:01", "192.0.2.1:7", '"\\', "é"),
    fc.string({ maxLength: 20 }),
  );
  const value = fc.oneof(text, fc.integer(), fc.boolean(), fc.array(text, { maxLength: 3 }));
  const name = fc.constantFrom(
    "flow.export.ip.addr",
    "flow.ie.a",
    "flow.hex.b",
    "flow.community.id",
    "x",
    "y",
    "flow.z",
  );
  const record = fc.dictionary(name, value, { maxKeys: 7 });
  const changed = (each: unknown): unknown => (typeof each === "string" ? (anonymize(each) ?? each) : each);
  const isHex = (each: unknown): boolean => [each].flat()[0]?.toString().startsWith("0x") === true;
  fc.assert(
    fc.property(fc.array(record, { minLength: 1, maxLength: 5 }), (records) => {
      const expected = records.map((one) =>
        Object.fromEntries(
          Object.entries(one)
            .filter(([key, each]) => {
              const isText = typeof each === "string" || Array.isArray(each);
              if (!isText) return true;
              return key !== "flow.community.id" && !(/^flow\.(?:hex|ie)\./.test(key) && isHex(each));
            })
            .map(([key, each]) => {
              if (key.startsWith("flow.export.")) return [key, each];
              return [key, Array.isArray(each) ? each.map(changed) : changed(each)];
            }),
        ),
      );
      const { lines } = shaped(records.map((one) => JSON.stringify(one)));
      assert.deepEqual(
        lines.map((line) => JSON.parse(line) as unknown),
        expected,
      );
    }),
    runs(300),
  );
});
