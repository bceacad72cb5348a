import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanUp } from "../support/clean-up.ts";
import { startFlowCollector } from "../support/flow-collector.ts";
import {
  fields,
  ipfix,
  ipfixTemplates,
  netflow1,
  netflow7,
  netflow9,
  counterSample,
  ethernet,
  flowSample,
  ipv4Packet,
  sampledHeader,
  sflow,
  structure,
} from "../../packages/testkit/index.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { until } from "../support/until.ts";

const flowStructure = structure(1, sampledHeader(Buffer.alloc(14)));
const generic = structure(1, Buffer.alloc(88));

async function drops(metrics: string, protocol: string): Promise<string | undefined> {
  return new RegExp(`^netgloss_flow_drops_total\\{protocol="${protocol}",reason="disabled"\\} (\\d+)$`, "m").exec(
    metrics,
  )?.[1];
}

test("a protocol that is turned off is counted and not decoded; the others are", async (t) => {
  const { collector, send } = await startFlowCollector(t, {
    SVC_PROCESSOR_POOL_SIZE: "main",
    EF_PROCESSOR_DECODE_NETFLOW1_ENABLE: "false",
    EF_PROCESSOR_DECODE_NETFLOW7_ENABLE: "no",
    EF_PROCESSOR_DECODE_NETFLOW9_ENABLE: "0",
    EF_PROCESSOR_DECODE_IPFIX_ENABLE: "false",
    EF_PROCESSOR_DECODE_SFLOW5_ENABLE: "false",
  });
  const off = {
    netflow1: netflow1([]),
    netflow7: netflow7([]),
    netflow9: netflow9([]),
    ipfix: ipfix([ipfixTemplates({ id: 256, fields: fields([1, 4]) })]),
    sflow: sflow([counterSample([generic])]),
  };
  const udp = (await import("node:dgram")).createSocket("udp4");
  cleanUp(t, () => udp.close());
  for (const datagram of Object.values(off)) udp.send(datagram, collector.flowPorts()[0], "127.0.0.1");
  const url = `http://127.0.0.1:${collector.apiPort()}/metrics`;
  const readMetrics = async (): Promise<string> => (await fetch(url)).text();
  for (const protocol of Object.keys(off)) {
    await until(`${protocol} is counted`, async () => (await drops(await readMetrics(), protocol)) === "1");
  }
  const record = await send(netflowV5Datagram([{ source: "10.0.0.1", destination: "10.0.0.2" }]));
  assert.equal(record["flow.export.type"], "netflow");
  assert.equal(await drops(await readMetrics(), "netflow5"), "0");
});

test("of sFlow, flows or counters can be turned off", async (t) => {
  const both = sflow([flowSample([flowStructure]), counterSample([generic]), flowSample([flowStructure])]);
  const noFlows = await startFlowCollector(t, {
    SVC_PROCESSOR_POOL_SIZE: "main",
    SVC_PROCESSOR_DECODE_SFLOW_FLOWS_ENABLE: "false",
  });
  assert.equal((await noFlows.send(both))["flow.bytes"], undefined);
  const noCounters = await startFlowCollector(t, {
    SVC_PROCESSOR_POOL_SIZE: "main",
    SVC_PROCESSOR_DECODE_SFLOW_COUNTERS_ENABLE: "false",
  });
  const keepsHeaders = await startFlowCollector(t, {
    SVC_PROCESSOR_POOL_SIZE: "main",
    SVC_PROCESSOR_DECODE_SFLOW_FLOWS_KEEP_SAMPLES: "true",
  });
  const frame = ethernet(0x0800, ipv4Packet(Buffer.alloc(8)));
  const sampled = sflow([flowSample([sampledHeader(frame)])]);
  const kept = await keepsHeaders.send(sampled);
  assert.equal(kept["flow.ie.dataLinkFrameSection"], `0x${frame.toString("hex")}`);
  assert.equal(kept["flow.sample.header.protocol.id"], 1);
  assert.equal("flow.ie.dataLinkFrameSection" in (await noCounters.send(sampled)), false);
  const first = await noCounters.send(both);
  const second = await noCounters.send(both);
  assert.ok("flow.bytes" in first && "flow.bytes" in second);
});
