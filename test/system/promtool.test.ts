import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess } from "../support/collector-process.ts";
import { untilRecords } from "../support/flow-records.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

test("promtool finds nothing wrong with the metrics, idle or at work", async (t) => {
  const promtool = requireProgram(t, "promtool", "apt-get install prometheus");
  if (promtool === undefined) return;
  const directory = tempDirectory(t);
  const output = join(directory, "flows.ndjson");
  const metadata = join(directory, "ipaddrs.yml");
  writeFileSync(metadata, "10.0.0.0/8: {name: ten}\n");
  const collector = await startCollectorProcess({
    settings: {
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_OUTPUT_FILE_ENABLE: "true",
      SVC_OUTPUT_FILE_PATH: output,
      SVC_INPUT_SNMP_ENABLE: "true",
      SVC_STATE_DIRECTORY_PATH: join(directory, "state"),
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: metadata,
    },
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  const check = async (): Promise<string> => {
    const input = await (await fetch(`${collector.api}/metrics`)).text();
    const { status, stdout, stderr } = spawnSync(promtool, ["check", "metrics"], { input, encoding: "utf8" });
    assert.equal(`${stdout}${stderr}`, "");
    assert.equal(status, 0);
    return input;
  };

  const idle = await check();
  for (const name of ["cpu_seconds_total", "resident_memory_bytes", "open_fds", "start_time_seconds"]) {
    assert.match(idle, new RegExp(`^process_${name} [0-9.e+]+$`, "m"), name);
  }
  const socket = createSocket("udp4");
  cleanUp(t, () => socket.close());
  socket.send(netflowV5Datagram([{ source: "10.0.0.1", destination: "192.0.2.1" }]), collector.flowPort, "127.0.0.1");
  await untilRecords(output, 1);
  await collector.call("CreateUdm", { udm: { key: "10.0.0.1" } });
  await collector.call("DeleteUdm", { key: "10.9.9.9" });
  // Metrics are rendered at most once a second.
  await until("metrics of the record", async () =>
    /^netgloss_flow_exporter_records_total\{exporter="127\.0\.0\.1"\} 1$/m.test(await check()),
  );
  await collector.end();
});
