import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createCollector, readSettings, runProgram } from "../../src/app/index.ts";
import { silentLog, systemClock, type Clock } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  ipv4,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createSnmpAgent, listen, octets, oidOf } from "../support/snmp-agent/index.ts";
import { smallTable } from "../support/snmp-session-fixture.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const minute = 60_000;

test("an exporter that samples ten times more coarsely than it says is found by its counters", async (t) => {
  // Each round begins in the middle of a minute, however long the one before took: minutes of flows and of counters are the same.
  const begin = Math.ceil(systemClock.now() / minute) * minute + minute / 2;
  let ahead = begin - systemClock.now();
  const clock: Clock = { now: () => systemClock.now() + ahead, monotonic: () => systemClock.monotonic() + ahead };
  let passed = 10n ** 12n;
  const counter = (): { type: "Counter64"; value: bigint } => ({ type: "Counter64", value: passed });
  const agent = createSnmpAgent({
    clock,
    table: smallTable.with([
      { oid: oidOf("1.3.6.1.2.1.31.1.1.1.1.2"), value: octets("ge-0/0/1") },
      { oid: oidOf("1.3.6.1.2.1.31.1.1.1.6.2"), value: counter },
      { oid: oidOf("1.3.6.1.2.1.31.1.1.1.10.7"), value: counter },
    ]),
  });
  const listening = await listen(agent);
  cleanUp(t, () => listening.close());
  const devices = join(tempDirectory(t), "devices");
  mkdirSync(devices);
  writeFileSync(
    join(devices, "lab.yml"),
    `lab: {ip: 127.0.0.1, port: ${listening.port}, version: 2c, communities: [public], timeout: 10000, poll_interval: 1, ` +
      "poll_intervals: {dynamic: 1, stable: 1}}\n",
  );
  const { settings } = readSettings(
    [
      Object.entries({
        SVC_API_PORT: "0",
        SVC_FLOW_SERVER_UDP_ENABLE: "true",
        SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
        SVC_FLOW_SERVER_UDP_PORT: "0",
        SVC_PROCESSOR_POOL_SIZE: "main",
        SVC_INPUT_SNMP_ENABLE: "true",
        SVC_INPUT_SNMP_PERSIST_ENABLE: "false",
        SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH: devices,
      }).map(([name, text]) => ({ name, text, origin: "test" })),
    ],
    () => "",
  );
  const collector = createCollector({ settings, log: silentLog, clock, version: "0" });
  await collector.start();
  cleanUp(t, () => collector.stop());
  const url = `http://127.0.0.1:${collector.apiPort()}`;
  const { metrics } = collector;
  const device = { device: `127.0.0.1:${listening.port}` };

  const template: PacketTemplate = {
    id: 256,
    fields: fields([10, 4], [14, 4], [1, 8], [2, 8], [34, 4], [61, 1], [8, 4]),
  };
  const socket = createSocket("udp4");
  cleanUp(t, () => socket.close());
  const [port = 0] = collector.flowPorts();
  const received = async (): Promise<number> =>
    (await metrics.value("netgloss_flow_records_total", { protocol: "ipfix" })) ?? 0;
  await until("the first counters", async () => (await metrics.value("netgloss_snmp_counted_interfaces", {})) === 3);

  for (let round = 0; round < 9; round++) {
    const before = await received();
    // 600 MB in frames of 1018 bytes; one packet in 1000 is looked at.
    const report = dataSet(template, [
      uint(2, 4),
      uint(7, 4),
      uint(589_390, 8),
      uint(589, 8),
      uint(100, 4),
      uint(0, 1),
      ipv4("10.0.0.1"),
    ]);
    const seconds = Math.floor(clock.now() / 1000);
    socket.send(ipfix([ipfixTemplates(template), report], { sequence: round, seconds }), port, "127.0.0.1");
    await until("the flow", async () => (await received()) > before);
    passed += 600_000_000n;
    ahead = begin + (round + 1) * minute - systemClock.now();
    const polls = (await metrics.value("netgloss_snmp_device_polls_total", device)) ?? 0;
    await until(
      "polls",
      async () => ((await metrics.value("netgloss_snmp_device_polls_total", device)) ?? 0) > polls + 1,
    );
  }

  const response = await fetch(`${url}/api/v1/flow/exporters/127.0.0.1/diagnosis`);
  const { diagnoses } = (await response.json()) as { diagnoses: { id: string; evidence: Record<string, unknown> }[] };
  const found = diagnoses.find(({ id }) => id === "counters-disagree");
  assert.ok(found, JSON.stringify(diagnoses));
  assert.equal(found.evidence["cause"], "sampling-rate");
  assert.equal(found.evidence["device"], device.device);
  const [first] = found.evidence["interfaces"] as { name: string; way: string; share: number }[];
  assert.deepEqual([first?.name, first?.way], ["ge-0/0/1", "in"]);
  assert.ok(Math.abs((first?.share ?? 0) - 0.1) < 0.02, `${first?.share}`);

  const terminal = createFakeTerminal(["doctor", "127.0.0.1", "--url", url]);
  assert.equal(await runProgram(terminal), 1);
  assert.match(
    terminal.written.out,
    /WARNING counters-disagree 127\.0\.0\.1\n {2}Flows of 127\.0\.0\.1 account for (?:9\.\d|10|11) % of/,
  );
  // The ends of flows and polls are not at the same time: the share is near a tenth, and so the rate near a thousand.
  assert.match(
    terminal.written.out,
    /one packet in 1,0(?:00|24) was looked at,\s+where the records were multiplied by 100\./,
  );
});
