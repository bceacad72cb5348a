import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createCollector, readSettings, runProgram } from "../../src/app/index.ts";
import { silentLog, systemClock } from "../../src/base/report/index.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { startFlowCollector } from "../support/flow-collector.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const key = "0123456789abcdef0123456789abcdef";

test("a key that is missing or none is a fault of the settings, at config check and at start", async (t) => {
  const path = join(tempDirectory(t), "key");
  for (const [text, env, said] of [
    [
      "",
      { SVC_PROCESSOR_ANONYMIZE_METHOD: "cryptopan" },
      /SVC_PROCESSOR_ANONYMIZE_KEY_PATH: the method cryptopan needs a key/,
    ],
    [
      "",
      { SVC_PROCESSOR_ANONYMIZE_METHOD: "cryptopan", SVC_PROCESSOR_ANONYMIZE_KEY_PATH: `${path}.none` },
      /SVC_PROCESSOR_ANONYMIZE_KEY_PATH: ENOENT.*key\.none/,
    ],
    [
      "short\n",
      { SVC_PROCESSOR_ANONYMIZE_METHOD: "cryptopan", SVC_PROCESSOR_ANONYMIZE_KEY_PATH: path },
      /a key is 32 characters, or 0x and 64 hexadecimal digits; here are 5 characters/,
    ],
  ] as const) {
    writeFileSync(path, text);
    const terminal = createFakeTerminal(["config", "check", "--running"], env);
    assert.equal(await runProgram(terminal), 78);
    assert.match(terminal.written.err, said);
    const layer = Object.entries(env).map(([name, value]) => ({ name, text: value, origin: "test" }));
    const { settings } = readSettings([layer], () => "");
    assert.throws(() => createCollector({ settings, log: silentLog, clock: systemClock, version: "0" }), said);
  }
});

for (const pool of ["main", "1"]) {
  test(`addresses are replaced behind enrichment, where flows are decoded: ${pool}`, async (t) => {
    const directory = tempDirectory(t);
    const [keyPath, metadata] = [join(directory, "key"), join(directory, "ipaddrs.yml")];
    writeFileSync(keyPath, `${pool === "main" ? key : `0x${Buffer.from(key).toString("hex")}`}\n`);
    writeFileSync(metadata, "192.0.2.1:\n  name: office\n");
    const { collector, send } = await startFlowCollector(t, {
      SVC_PROCESSOR_POOL_SIZE: pool,
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: metadata,
      SVC_PROCESSOR_ANONYMIZE_METHOD: "cryptopan",
      SVC_PROCESSOR_ANONYMIZE_KEY_PATH: keyPath,
      SVC_PROCESSOR_ANONYMIZE_KEEP_PRIVATE: "true",
      SVC_PROCESSOR_FILTER_KEEP: "src = 192.0.2.1",
    });
    const record = await send(netflowV5Datagram([{ source: "192.0.2.1", destination: "10.0.0.1", bytes: 100 }]));
    assert.equal(record["flow.src.ip.addr"], "177.225.229.134");
    assert.equal(record["flow.dst.ip.addr"], "10.0.0.1");
    assert.equal(record["flow.src.ip.subnet.name"], "office");
    assert.equal(record["flow.export.ip.addr"], "127.0.0.1");
    assert.equal(record["flow.community.id"], undefined);
    assert.match(String(record["flow.conversation.id"]), /^[0-9a-f]{16}$/);
    assert.ok(!JSON.stringify(record).includes("192.0.2.1"));
    await until("the counts", async () => {
      const text = await collector.metrics.render();
      return /netgloss_flow_anonymized_computed_total [1-9]/.test(text) && /_fields_dropped_total [1-9]/.test(text);
    });
  });
}
