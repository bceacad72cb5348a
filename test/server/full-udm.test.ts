// The JSON of entries that is made by hand is what the library makes of their messages.
import assert from "node:assert/strict";
import { test } from "node:test";
import { toJson } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { EntryChangeSchema, FullUdmSchema } from "../../src/server/gen/udm/v1/tools_pb.ts";
import { entryChange, entryChangeJson, fullUdm, fullUdmJson } from "../../src/server/tools/full-udm.ts";
import { runs } from "../support/runs.ts";
import { denseKeyText, udmEntry } from "../support/udm-entry.ts";

const text = fc.oneof(fc.constantFrom("", "__proto__", "7", 'a"\\\n', "ü\u2028"), fc.string({ maxLength: 5 }));
const file = fc.constantFrom(
  undefined,
  { contexts: [], yaml: "  contexts: []\n" },
  { contexts: ["exporter"] as const, yaml: "  contexts:\n    - exporter\n" },
  { contexts: ["endpoint", "exporter"] as const, yaml: "  contexts:\n    - endpoint\n    - exporter\n  owner: bob\n" },
);
const anyEntry = fc
  .record({
    key: denseKeyText,
    name: text,
    tags: fc.array(text, { maxLength: 3 }),
    vlan: fc.constantFrom(0n, 1n, 2n ** 64n - 1n),
    internal: fc.boolean(),
    metadata: fc.dictionary(text, text, { maxKeys: 3, noNullPrototype: false }),
    file,
  })
  .map(({ key, file: fileOnly, ...values }) =>
    udmEntry(key, {
      ...values,
      ...(fileOnly !== undefined && { fileOnly: { contexts: [...fileOnly.contexts], yaml: fileOnly.yaml } }),
    }),
  );

test("entries and changes have the JSON of their messages", () => {
  const some = fc.option(anyEntry, { nil: undefined });
  fc.assert(
    fc.property(anyEntry, some, some, fc.constantFrom("", 'net"box'), (entry, before, after, layer) => {
      assert.deepEqual(JSON.parse(fullUdmJson(entry, layer)), toJson(FullUdmSchema, fullUdm(entry, layer)));
      const change = { before, after };
      if (before === undefined && after === undefined) return;
      assert.deepEqual(JSON.parse(entryChangeJson(change)), toJson(EntryChangeSchema, entryChange(change)));
    }),
    runs(150),
  );
});
