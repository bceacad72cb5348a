import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { dataSet, fields, ipfix, ipfixTemplates, type PacketTemplate } from "../../packages/testkit/index.ts";
import { startFlowCollector } from "../support/flow-collector.ts";
import { tempDirectory } from "../support/temp-directory.ts";

for (const threads of ["main", "1"]) {
  test(`elements of a file reach the decoder, with ${threads} decoding threads`, async (t) => {
    const path = join(tempDirectory(t), "elements.yml");
    writeFileSync(path, "9/1: shop.name, string\n");
    const { send } = await startFlowCollector(t, {
      SVC_FLOW_DECODER_ELEMENTS_PATH: path,
      SVC_PROCESSOR_POOL_SIZE: threads,
    });
    const template: PacketTemplate = { id: 256, fields: fields([1, "variable", 9]) };
    const record = await send(ipfix([ipfixTemplates(template), dataSet(template, [Buffer.from("corner")])]));
    assert.equal(record["shop.name"], "corner");
  });
}
