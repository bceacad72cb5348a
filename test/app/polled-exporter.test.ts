import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cleanUp } from "../support/clean-up.ts";
import { createSnmpAgent, listen } from "../support/snmp-agent/index.ts";
import { smallTable } from "../support/snmp-session-fixture.ts";
import { startFlowCollector } from "../support/flow-collector.ts";
import { netflow5 } from "../../packages/testkit/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

for (const pool of ["main", "1"]) {
  test(`an exporter of flows becomes a device by itself: its flows have names without a file, threads: ${pool}`, async (t) => {
    const agent = await listen(createSnmpAgent({ table: smallTable }));
    cleanUp(t, () => agent.close());
    const directory = tempDirectory(t);
    const networks = join(directory, "networks.yml");
    writeFileSync(
      networks,
      `exporters:\n  allow: [127.0.0.0/8]\n  port: ${agent.port}\n  communities: [wrong, public]\n  timeout: 100\n  retries: 2\n`,
    );
    const { send, collector } = await startFlowCollector(t, {
      SVC_PROCESSOR_POOL_SIZE: pool,
      SVC_INPUT_SNMP_ENABLE: "true",
      SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH: directory,
      SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH: networks,
      SVC_INPUT_SNMP_DISCOVERY_CANDIDATES: "flow",
    });
    const flow = netflow5([{}]);
    const record = await until("the names", async () => {
      const one = await send(flow);
      return "flow.in.netif.name" in one && one;
    });
    assert.deepEqual([record["flow.in.netif.name"], record["flow.out.netif.name"]], ["lo", "eth0"]);
    const file = readFileSync(join(directory, "discovered/r1.yml"), "utf8");
    assert.match(file, /^# It was looked for as an exporter of flows\.$/m);
    const { candidates } = (await (
      await fetch(`http://127.0.0.1:${collector.apiPort()}/api/v1/snmp/candidates`)
    ).json()) as {
      candidates: unknown[];
    };
    assert.deepEqual(candidates, [], "what is a device is no candidate");
  });
}
