import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { runProgram } from "../../src/app/index.ts";
import { framings, ipPacketWith, pcapFile, pcapngFile } from "../support/capture-file.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { counterSample, sflow, structure } from "../../packages/testkit/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";

type Json = Readonly<Record<string, unknown>>;

async function replay(
  env: Record<string, string>,
  ...argv: string[]
): Promise<{ code: number; records: Json[]; err: string }> {
  const terminal = createFakeTerminal(["replay", ...argv], env);
  const code = await runProgram(terminal);
  const lines = terminal.written.out.split("\n").filter((line) => line !== "");
  return { code, records: lines.map((line) => JSON.parse(line) as Json), err: terminal.written.err };
}

const time = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const flow = netflowV5Datagram([{ source: "10.0.0.1", destination: "10.0.0.2" }]);
const counters = sflow([counterSample([structure(1, Buffer.alloc(88))])]);

/** A capture of a flow of each family, and of packets that are none. */
function capture(t: TestContext, name = "a.pcap"): { path: string; directory: string } {
  const directory = tempDirectory(t);
  const path = join(directory, name);
  const frame = framings[0]?.[2] ?? ((packet: Buffer) => packet);
  const packets = [
    ipPacketWith(flow, [192, 0, 2, 7], [40_000, 2055]),
    ipPacketWith(counters, [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7], [40_001, 6343]),
    ipPacketWith(Buffer.from("\x12\x34 a question"), [192, 0, 2, 8], [40_002, 53]),
    Buffer.alloc(40),
  ].map((packet, i) => ({ time: time + i * 1000, bytes: frame(packet) }));
  writeFileSync(path, name.endsWith("ng") ? pcapngFile(packets, { linkType: 1 }) : pcapFile(packets, { linkType: 1 }));
  return { path, directory };
}

for (const name of ["a.pcap", "a.pcapng"]) {
  test(`records of ${name} have the senders and times of the capture, and names of the settings' metadata`, async (t) => {
    const { path, directory } = capture(t, name);
    const metadata = join(directory, "ipaddrs.yml");
    writeFileSync(metadata, "10.0.0.1: {name: web}\n");
    const before = readFileSync(metadata, "utf8");
    const { code, records, err } = await replay(
      {
        SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
        SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
        SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: metadata,
      },
      path,
    );
    assert.equal(code, 0, err);
    assert.equal(err, "2 datagrams of flows, 2 records, 1 datagrams of other protocols, 1 packets that are not UDP\n");
    const [first, second] = records;
    assert.equal(first?.["flow.export.ip.addr"], "192.0.2.7");
    assert.ok(Object.values(first ?? {}).includes("web"), JSON.stringify(first));
    assert.equal(second?.["flow.export.ip.addr"], "2001:db8::7");
    assert.equal(second?.["@timestamp"], new Date(time + 1000).toISOString());
    assert.equal(readFileSync(metadata, "utf8"), before);
  });
}

test("the outputs of the settings take the records when asked to", async (t) => {
  const { path, directory } = capture(t);
  const output = join(directory, "records.ndjson");
  const { code, records } = await replay(
    { SVC_OUTPUT_FILE_ENABLE: "true", SVC_OUTPUT_FILE_PATH: output },
    "--outputs",
    path,
    path,
  );
  assert.equal(code, 0);
  assert.deepEqual(records, []);
  assert.equal(readFileSync(output, "utf8").split("\n").length, 5);
});

test("records that a store refuses are named, and the exit code says so", async (t) => {
  const { path, directory } = capture(t);
  let refused: string | undefined;
  const judged = async (request: IncomingMessage): Promise<number> => {
    const body = await readText(request);
    const [first = ""] = body.split("\n");
    if (first !== "") refused ??= first;
    return refused !== undefined && body.includes(refused) ? 400 : 200;
  };
  const server = createServer((request, response) => {
    void judged(request).then((status) => response.writeHead(status).end());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp(t, () => server.close());
  const { code, err } = await replay(
    {
      SVC_OUTPUT_GENERIC_HTTP_ENABLE: "true",
      SVC_OUTPUT_GENERIC_HTTP_ADDRESSES: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      SVC_OUTPUT_GENERIC_HTTP_RETRY_BACKOFF: "10",
      SVC_STATE_DIRECTORY_PATH: directory,
    },
    "--outputs",
    path,
  );
  assert.equal(code, 1);
  assert.match(err, /^error: output http: 1 records were refused/m);
});

test("settings that cannot be used are named, and so are outputs that are not on; nothing is replayed", async (t) => {
  const { path } = capture(t);
  const filter = await replay({ SVC_PROCESSOR_FILTER_KEEP: "src > 7" }, path);
  assert.deepEqual([filter.code, filter.records], [78, []]);
  assert.match(filter.err, /^error: SVC_PROCESSOR_FILTER_KEEP:1:5: src is an address/);
  const key = await replay({ SVC_PROCESSOR_ANONYMIZE_METHOD: "cryptopan" }, path);
  assert.equal(key.code, 78);
  assert.match(key.err, /^error: SVC_PROCESSOR_ANONYMIZE_KEY_PATH/);
  const none = await replay({}, "--outputs", path);
  assert.equal(none.code, 2);
  assert.match(none.err, /^error: no output is on/);
});

test("only some ports, and a capture without flows", async (t) => {
  const { path } = capture(t);
  const some = await replay({}, "--port", "6343", path);
  assert.deepEqual([some.code, some.records.length], [0, 1]);
  assert.match(some.err, /2 datagrams to other ports/);
  const none = await replay({}, "--port", "1", path);
  assert.deepEqual([none.code, none.records.length], [1, 0]);
  assert.equal((await replay({}, "--port", "x", path)).code, 2);
});

test("a capture that is damaged gives what is before the fault; one that is not there is named", async (t) => {
  const { path, directory } = capture(t);
  const cut = join(directory, "cut.pcap");
  writeFileSync(cut, readFileSync(path).subarray(0, 200));
  const damaged = await replay({}, cut);
  assert.deepEqual([damaged.code, damaged.records.length], [1, 1]);
  assert.match(damaged.err, /^error: .*cut\.pcap: the capture ends within a packet, at byte 200$/m);
  const missing = await replay({}, join(directory, "none.pcap"));
  assert.equal(missing.code, 1);
  assert.match(missing.err, /^error: .*none\.pcap: no such file$/m);
});
