import assert from "node:assert/strict";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { test, type TestContext } from "node:test";
import { createCollector, readSettings, runProgram } from "../../src/app/index.ts";
import { silentLog, systemClock } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createFakeTerminal, type FakeTerminal } from "../support/fake-terminal.ts";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  ipv4,
  netflow5,
  netflow9,
  netflow9Templates,
  uint,
  type PacketTemplate,
  flowSample,
  sflow,
} from "../../packages/testkit/index.ts";
import { freePort } from "../support/free-port.ts";
import { until } from "../support/until.ts";

type Json = Readonly<Record<string, unknown>>;

async function startCollector(t: TestContext): Promise<{ port: number; records: readonly Json[] }> {
  const given: Record<string, string> = {
    SVC_API_PORT: "0",
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
    SVC_FLOW_SERVER_UDP_PORT: "0",
    SVC_FLOW_DECODER_RELAYS: "127.0.0.1",
    SVC_PROCESSOR_POOL_SIZE: "main",
  };
  const records: Json[] = [];
  const layer = Object.entries(given).map(([name, text]) => ({ name, text, origin: "test" }));
  const collector = createCollector({
    settings: readSettings([layer], () => "").settings,
    log: silentLog,
    clock: systemClock,
    version: "0.0.0",
    sinks: [
      {
        write(lines: Uint8Array): void {
          for (const line of Buffer.from(lines).toString().split("\n"))
            if (line !== "") records.push(JSON.parse(line) as Json);
        },
      },
    ],
  });
  await collector.start();
  cleanUp(t, () => collector.stop());
  return { port: collector.flowPorts()[0] ?? 0, records };
}

/** A tee that has started. */
async function startTee(
  t: TestContext,
  ...more: string[]
): Promise<{ terminal: FakeTerminal; port: number; ended: Promise<number> }> {
  const terminal = createFakeTerminal(["tee", "--listen", "127.0.0.1:0", ...more]);
  const ended = runProgram(terminal);
  cleanUp(t, () => terminal.signals.emit("SIGTERM", "SIGTERM"));
  const port = await until("the tee's port", () => /passing flows on .*?port=(\d+)/.exec(terminal.written.err)?.[1]);
  return { terminal, port: Number(port), ended };
}

/** An exporter with an address of its own. */
async function exporter(t: TestContext, address: string): Promise<Socket> {
  const socket = createSocket("udp4");
  socket.bind(0, address);
  await once(socket, "listening");
  cleanUp(t, () => socket.close());
  return socket;
}

const flow: PacketTemplate = { id: 256, fields: fields([8, 4], [12, 4], [1, 4]) };
const other: PacketTemplate = { id: 256, fields: fields([1, 8], [8, 4]) };

test("two collectors behind a tee get every record, in order, with its true exporter", async (t) => {
  const collectors = [await startCollector(t), await startCollector(t)];
  const metricsPort = await freePort();
  const targets = collectors.flatMap(({ port }) => ["--to", `127.0.0.1:${port}`]);
  const { terminal, port, ended } = await startTee(t, ...targets, "--metrics", String(metricsPort));
  const [a, b] = [await exporter(t, "127.0.0.2"), await exporter(t, "127.0.0.3")];
  let received = 0;
  const send = async (from: Socket, datagram: Buffer, records: number): Promise<void> => {
    from.send(datagram, port, "127.0.0.1");
    received += records;
    await until("records", () => collectors.every(({ records: got }) => got.length === received));
  };
  for (const [templates, message] of [
    [ipfixTemplates, ipfix],
    [netflow9Templates, netflow9],
  ] as const) {
    await send(a, message([templates(flow)]), 0);
    await send(b, message([templates(other)]), 0);
    for (let i = 1; i <= 3; i++) {
      await send(a, message([dataSet(flow, [ipv4("192.0.2.1"), ipv4("192.0.2.2"), uint(10 + i, 4)])]), 1);
      await send(b, message([dataSet(other, [uint(20 + i, 8), ipv4("192.0.2.3")])]), 1);
    }
  }
  await send(a, netflow5([{ bytes: 77 }]), 1);
  await send(b, sflow([flowSample([])], { agent: "127.0.0.3" }), 1);
  const bytes = [11, 21, 12, 22, 13, 23];
  for (const { records } of collectors) {
    const names = Array.from(records, (each) => each["flow.export.ip.addr"]);
    assert.deepEqual(
      names,
      Array.from({ length: 14 }, (_, i) => (i % 2 === 0 ? "127.0.0.2" : "127.0.0.3")),
    );
    assert.deepEqual(
      records.slice(0, 13).map((each) => each["flow.bytes"]),
      [...bytes, ...bytes, 77],
    );
    assert.ok(records.every((each) => each["flow.export.relay.ip.addr"] === "127.0.0.1"));
  }
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  assert.match(metrics, /^netgloss_tee_datagrams_total\{protocol="ipfix"\} 8$/m);
  assert.match(metrics, /^netgloss_tee_rewritten_total 17$/m);
  assert.match(metrics, /^netgloss_tee_drops_total\{reason="no_template"\} 0$/m);
  for (const { port: target } of collectors) {
    assert.match(metrics, new RegExp(`^netgloss_tee_sent_total\\{target="127.0.0.1:${target}"\\} 18$`, "m"));
  }
  terminal.signals.emit("SIGTERM", "SIGTERM");
  assert.equal(await ended, 0);
  assert.match(terminal.written.err, /in all .*datagrams_ipfix=8/);
});

test("what cannot be passed on is counted and said", async (t) => {
  const collector = await startCollector(t);
  const { terminal, port, ended } = await startTee(t, "--to", `127.0.0.1:${collector.port}`);
  const a = await exporter(t, "127.0.0.2");
  a.send("no flow at all", port, "127.0.0.1");
  await until("the line", () => terminal.written.err.includes("no flow protocol"));
  assert.match(terminal.written.err, /sender="?127\.0\.0\.2/);
  terminal.signals.emit("SIGTERM", "SIGTERM");
  assert.equal(await ended, 0);
  assert.match(terminal.written.err, /drops_unknown_protocol=1/);
});

test("wrong usage is said and ends with 2, a place that cannot be opened with 1", async (t) => {
  const run = async (...argv: string[]): Promise<[number, string]> => {
    const terminal = createFakeTerminal(["tee", ...argv]);
    return [await runProgram(terminal), terminal.written.err];
  };
  for (const [argv, message] of [
    [["--listen", "0"], /--to/],
    [["--to", "127.0.0.1:1"], /--listen/],
    [["--listen", "here:1", "--to", "127.0.0.1:1"], /expected a port, or an address and a port/],
    [["--listen", "70000", "--to", "127.0.0.1:1"], /expected a port/],
    [["--listen", "0", "--to", "127.0.0.1"], /expected a host and a port/],
    [["--listen", "0", "--to", "127.0.0.1:0"], /expected a host and a port/],
    [["--listen", "0", "--to", "[127.0.0.1]:1"], /expected a host and a port/],
    [["--listen", "0", "--to", "127.0.0.1:1", "--to", "127.0.0.1:1"], /twice/],
    [["--listen", "0", "--to", "127.0.0.1:1", "--mtu", "100"], /512 to 65507/],
  ] as const) {
    const [code, err] = await run(...argv);
    assert.equal(code, 2, argv.join(" "));
    assert.match(err, message);
  }
  const taken = await exporter(t, "127.0.0.1");
  const [code, err] = await run("--listen", `127.0.0.1:${taken.address().port}`, "--to", "127.0.0.1:1");
  assert.equal(code, 1);
  assert.match(err, /cannot receive flows on UDP port .*EADDRINUSE/);
  const [unknown, said] = await run("--listen", "0", "--to", "no-such-host.invalid:1");
  assert.equal(unknown, 1);
  assert.match(said, /no-such-host\.invalid:1/);
});
