import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { formatAddress, parseAddress } from "../../src/base/ip/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { metadataSettings, startCollectorProcess } from "../support/collector-process.ts";
import { totalsOf, untilRecords, type FlowTotals } from "../support/flow-records.ts";
import { encodePcap, udpFrame, type PcapPacket } from "../support/pcap.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";

const versions = [
  { version: "1", name: "NetFlow v1", type: "netflow", families: [4] },
  { version: "5", name: "NetFlow v5", type: "netflow", families: [4] },
  { version: "9", name: "NetFlow v9", type: "netflow", families: [4, 6] },
  { version: "10", name: "IPFIX", type: "ipfix", families: [4, 6] },
] as const;

for (const { version, name, type, families } of versions) {
  test(`softflowd sends ${name}: flows, packets and bytes in the file are those that it sent`, async (t) => {
    if (requireProgram(t, "softflowd", "apt-get install softflowd") === undefined) return;
    const directory = tempDirectory(t);
    const output = join(directory, "flows.ndjson");
    const capture = join(directory, "capture.pcap");
    writeFileSync(capture, encodePcap(packets()));
    writeFileSync(
      join(directory, "ipaddrs.yml"),
      "10.0.0.0/16:\n  name: clients\n2001:db8::/32:\n  name: clients-v6\n",
    );
    const collector = await startCollectorProcess({
      settings: {
        ...metadataSettings(join(directory, "ipaddrs.yml")),
        SVC_FLOW_SERVER_UDP_ENABLE: "true",
        SVC_OUTPUT_FILE_ENABLE: "true",
        SVC_OUTPUT_FILE_PATH: output,
      },
    });
    cleanUp(t, () => collector.end("SIGKILL"));

    const sent = await softflowd(directory, capture, version, collector.flowPort);
    const allFlows = families.length === 2 ? flowsOfIpv4 + flowsOfIpv6 : flowsOfIpv4;
    assert.equal(sent.flows, allFlows, "softflowd sees all flows that the version can carry");
    await untilRecords(output, sent.flows);
    assert.deepEqual(await collector.end(), { code: 0, signal: null });

    const records = await untilRecords(output, sent.flows);
    assert.deepEqual(totalsOf(records), sent);
    for (const record of records) {
      assert.equal(record["flow.export.type"], type);
      assert.equal(String(record["flow.export.version.ver"]), version);
      assert.equal(record["l4.proto.name"], "UDP");
      const isIpv6 = String(record["flow.src.ip.addr"]).includes(":");
      assert.equal(record["flow.src.ip.subnet.name"], isIpv6 ? "clients-v6" : "clients");
    }
    for (const family of families) {
      for (const [i, flow] of generatedFlows(family).entries()) {
        const found = records.filter((record) => record["flow.src.ip.addr"] === flow.source);
        assert.equal(found.length, 1, flow.source);
        assert.equal(found[0]?.["flow.dst.l4.port.id"], 53);
        assert.equal(found[0]?.["flow.src.l4.port.id"], 1000 + i);
        assert.equal(found[0]?.["flow.packets"], flow.packets, flow.source);
        assert.equal(found[0]?.["flow.bytes"], flow.packets * flow.packetLength, flow.source);
      }
    }
  });
}

const flowsOfIpv4 = 120;
const flowsOfIpv6 = 40;

interface GeneratedFlow {
  readonly source: string;
  readonly packets: number;
  /** Of the IP packet. */
  readonly packetLength: number;
}

function generatedFlows(family: 4 | 6): GeneratedFlow[] {
  const count = family === 4 ? flowsOfIpv4 : flowsOfIpv6;
  const headers = (family === 4 ? 20 : 40) + 8;
  return Array.from({ length: count }, (_, i) => ({
    source:
      family === 4 ? `10.0.${i >> 4}.${i + 1}` : formatAddress({ family, value: (0x20010db8n << 96n) + BigInt(i) }),
    packets: 1 + (i % 5),
    packetLength: headers + 10 + i,
  }));
}

function packets(): PcapPacket[] {
  const start = Date.now() - 60_000;
  const made: PcapPacket[] = [];
  for (const family of [4, 6] as const) {
    for (const [i, flow] of generatedFlows(family).entries()) {
      const frame = udpFrame({
        source: addressBytes(flow.source),
        destination: addressBytes(family === 4 ? "192.0.2.53" : "2001:db8:ffff::53"),
        sourcePort: 1000 + i,
        destinationPort: 53,
        payloadLength: 10 + i,
      });
      for (let k = 0; k < flow.packets; k++) made.push({ time: start + 10 * i + k, frame });
    }
  }
  return made.toSorted((a, b) => a.time - b.time);
}

function addressBytes(text: string): Buffer {
  const address = parseAddress(text);
  if (address === undefined) throw new TypeError(`not an address: ${text}`);
  const length = address.family === 4 ? 4 : 16;
  return Buffer.from(address.value.toString(16).padStart(2 * length, "0"), "hex");
}

/** Lets softflowd read a capture and send what it saw. @returns what it says that it sent. */
async function softflowd(directory: string, capture: string, version: string, port: number): Promise<FlowTotals> {
  // Without `-c none` version 1.1.0 waits for a client on its control socket before it reads a file.
  const child = spawn(
    "softflowd",
    ["-d", "-r", capture, "-v", version, "-n", `127.0.0.1:${port}`, "-p", join(directory, "pid"), "-c", "none"],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  }
  const [code] = (await once(child, "close")) as [number];
  assert.equal(code, 0, text);
  const flows = /^Flows exported: \d+ \((\d+) records\) in \d+ packets \(0 failures\)$/m.exec(text);
  const udp = /^\s+udp \(17\):\s+(\d+)\s+(\d+)/m.exec(text);
  assert.ok(flows !== null && udp !== null, `the statistics of softflowd: ${text}`);
  return { flows: Number(flows[1]), bytes: Number(udp[1]), packets: Number(udp[2]) };
}
