import assert from "node:assert/strict";
import { test } from "node:test";
import { DeliveryError, type SettingsOf } from "../../../src/output/index.ts";
import { adapterOf } from "../adapter-fixture.ts";
import { batchOf } from "../delivery/batch-fixture.ts";
import { startFaultProxy } from "../delivery/fault-proxy.ts";
import { keepLedger, numberedFlow } from "../delivery/output-contract.ts";
import { startHttpServer } from "../http/http-fixture.ts";

const signal = new AbortController().signal;
const accepted = { refused: [], retry: [] };

const adapterTo = (port: number, given: Partial<SettingsOf<"SPLUNK_HEC">> = {}) =>
  adapterOf("SPLUNK_HEC", { ADDRESSES: [`http://127.0.0.1:${port}`], TOKEN: "secret", INDEX: "net", ...given });

const flow =
  '{"@timestamp":"2026-11-22T04:00:00.250Z","flow.export.ip.addr":"192.0.2.1","flow.src.ip.addr":"10.0.0.1","l4.proto.name":"TCP","flow.bytes":5}';
const polled = '{"@timestamp":"2026-11-22T04:00:01Z","system.ip.addr":"192.0.2.9","ifName":"a\\"b"}';

test("records are events with time, host, index and source type, or lines", async (t) => {
  const server = await startHttpServer(t);
  server.answer = (_, response) => void response.end('{"text":"Success","code":0}');
  const event = adapterTo(server.port, { COMPRESSION: "gzip" });
  await event.send(batchOf([flow]), signal).catch((error: unknown) => assert.match(String(error), /not open/));
  assert.deepEqual(await event.open(signal), []);
  assert.deepEqual(await event.send(batchOf([flow, polled]), signal), accepted);
  const call = server.calls.at(-1);
  assert.equal(call?.path, "/services/collector/event");
  assert.equal(call.headers["authorization"], "Splunk secret");
  assert.match(String(call.headers["x-splunk-request-channel"]), /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/);
  const fixed = { index: "net", sourcetype: "netgloss" };
  assert.deepEqual(
    call.body
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown),
    [
      { ...fixed, time: 1795320000.25, host: "192.0.2.1", event: JSON.parse(flow) as unknown },
      { ...fixed, time: 1795320001, host: "192.0.2.9", event: JSON.parse(polled) as unknown },
    ],
  );
  await event.close();

  const raw = adapterTo(server.port, { FORMAT: "raw", SOURCE: "edge 1" });
  await raw.open(signal);
  await raw.send(batchOf([flow]), signal);
  assert.equal(server.calls.at(-1)?.path, "/services/collector/raw?index=net&source=edge+1&sourcetype=netgloss");
  assert.equal(server.calls.at(-1)?.body, `${flow}\n`);
  await raw.close();

  const cim = adapterTo(server.port, { CIM_ENABLE: true });
  await cim.open(signal);
  await cim.send(batchOf([flow, polled]), signal);
  const [first, second] = (server.calls.at(-1)?.body ?? "")
    .split("\n")
    .map((line) => line && (JSON.parse(line) as { fields?: unknown }));
  assert.deepEqual(first && first.fields, { src_ip: "10.0.0.1", transport: "TCP", bytes: 5, dvc: "192.0.2.1" });
  assert.equal(second && second.fields, undefined);
  await cim.close();
});

test("a batch is delivered when the server says that it is indexed", async (t) => {
  const server = await startHttpServer(t);
  let asked = 0;
  server.answer = (call, response) => {
    if (call.path === "/services/collector/ack") {
      assert.deepEqual(JSON.parse(call.body), { acks: [7] });
      response.end(JSON.stringify({ acks: { 7: ++asked === 3 } }));
    } else response.end('{"text":"Success","code":0,"ackId":7}');
  };
  const adapter = adapterTo(server.port);
  await adapter.open(signal);
  assert.deepEqual(await adapter.send(batchOf([flow]), signal), accepted);
  assert.equal(asked, 3);
  const channels = new Set(server.calls.slice(1).map(({ headers }) => headers["x-splunk-request-channel"]));
  assert.equal(channels.size, 1, "the batch and its acknowledgement have one channel");
  server.answer = (call, response) =>
    void (call.path.endsWith("ack")
      ? response.writeHead(400).end('{"text":"ACK is disabled","code":14}')
      : response.end('{"text":"Success","code":0,"ackId":8}'));
  await assert.rejects(adapter.send(batchOf([flow]), signal), {
    blame: "store",
    message: /cannot be asked: .*ACK is disabled/,
  });
  await adapter.close();
});

test("what an answer means", async (t) => {
  const server = await startHttpServer(t);
  const adapter = adapterTo(server.port);
  const answer = (status: number, body: object) =>
    (server.answer = (_, response) => void response.writeHead(status).end(JSON.stringify(body)));
  answer(403, { text: "Invalid token", code: 4 });
  await assert.rejects(adapter.open(signal), /refuses the credentials.*Invalid token/);
  answer(400, { text: "No data", code: 5 });
  assert.deepEqual(await adapter.open(signal), []);
  for (const [status, body, blame] of [
    [400, { text: "Incorrect index", code: 7 }, "operator"],
    [400, { text: "Data channel is missing", code: 10 }, "operator"],
    [400, { text: "Invalid data format", code: 6 }, "record"],
    [503, { text: "Server is busy", code: 9 }, "store"],
    [413, {}, "record"],
  ] as const) {
    answer(status, body);
    await assert.rejects(adapter.send(batchOf([flow, polled]), signal), (error) => {
      assert.ok(error instanceof DeliveryError);
      assert.equal(error.blame, blame, JSON.stringify(body));
      return true;
    });
  }
  answer(400, { text: "Event field cannot be blank", code: 13, "invalid-event-number": 1 });
  assert.deepEqual(await adapter.send(batchOf([flow, polled, flow]), signal), {
    refused: [{ index: 1, reason: "Event field cannot be blank" }],
    retry: [0, 2],
  });
  await adapter.close();
});

test("through every fault of the way and of the server nothing is missing", async (t) => {
  const server = await startHttpServer(t);
  const held: number[] = [];
  let isBusy = false;
  let acks = 0;
  server.answer = (call, response) => {
    if (isBusy) response.writeHead(503).end('{"text":"Server is busy","code":9}');
    else if (call.path.endsWith("/ack")) {
      const { acks: ids } = JSON.parse(call.body) as { acks: number[] };
      response.end(JSON.stringify({ acks: Object.fromEntries(ids.map((id) => [id, true])) }));
    } else {
      for (const line of call.body.split("\n").slice(0, -1)) {
        held.push((JSON.parse(line) as { event: { n: number } }).event.n);
      }
      response.end(JSON.stringify({ text: "Success", code: 0, ackId: acks++ }));
    }
  };
  const proxy = await startFaultProxy(t, "127.0.0.1", server.port);
  const store = {
    adapter: adapterTo(proxy.port, { COMPRESSION: "gzip" }),
    proxy,
    isExactlyOnce: false,
    numbers: async () => held,
    moods: [() => void (isBusy = false), () => void (isBusy = true)],
  };
  await keepLedger(t, store, { records: 20_000, step: 100, faultMs: 60, line: numberedFlow });
});
