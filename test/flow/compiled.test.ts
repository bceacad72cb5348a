import assert from "node:assert/strict";
import { test } from "node:test";
import { createFlowTwins } from "../support/flow-twins.ts";
import { goldenCases } from "./golden-cases.ts";

/** Cases without anything rare: all their records are of compiled code. */
const isCompiled =
  /everyday|softflowd-(netflow5|ipfix)|netflow[15]-two|netflow9-(fire|forw|variable)|ipfix-(milli|micro|enterprise|mapped)/;

for (const [name, datagrams] of goldenCases) {
  for (const optionsRecords of [true, false]) {
    test(`compiled as interpreted: ${name}${optionsRecords ? ", with options" : ""}`, async () => {
      const twins = await createFlowTwins({ optionsRecords });
      for (const datagram of datagrams) {
        if ("bytes" in datagram) twins.send(datagram.bytes, datagram);
        else twins.send(datagram);
      }
      const { compiled, interpreted } = await twins.finish();
      if (isCompiled.test(name)) assert.deepEqual([compiled > 0, interpreted], [true, 0]);
    });
  }
}
