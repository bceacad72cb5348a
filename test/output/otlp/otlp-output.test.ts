import assert from "node:assert/strict";
import { test } from "node:test";
import { adapterOf } from "../adapter-fixture.ts";
import { batchOf } from "../delivery/batch-fixture.ts";
import { startFaultProxy } from "../delivery/fault-proxy.ts";
import { keepLedger } from "../delivery/output-contract.ts";
import { startHttpServer } from "../http/http-fixture.ts";
import { bodiesOf } from "./otlp-fixture.ts";

const signal = new AbortController().signal;

const adapterTo = (port: number) =>
  adapterOf("OTLP", {
    ADDRESSES: [`127.0.0.1:${port}`],
    ATTRIBUTE_FIELDS: ["flow.export.ip.addr", "flow.bytes"],
  });

const lines = [
  '{"@timestamp":"2026-11-22T04:00:00.250Z","flow.export.ip.addr":"192.0.2.1","flow.bytes":5,"x":"a\\"\\\\b"}',
  '{"system.ip.addr":"192.0.2.9"}',
];

test("each record is a log record: the line as body, chosen fields as attributes", async (t) => {
  const server = await startHttpServer(t);
  const adapter = adapterTo(server.port);
  assert.deepEqual(await adapter.open(signal), []);
  assert.deepEqual(await adapter.send(batchOf(lines), signal), { refused: [], retry: [] });
  const call = server.calls.at(-1);
  assert.equal(call?.path, "/v1/logs");
  const text = (stringValue: string) => ({ stringValue });
  assert.deepEqual(JSON.parse(call.body), {
    resourceLogs: [
      {
        resource: { attributes: [{ key: "service.name", value: text("netgloss") }] },
        scopeLogs: [
          {
            scope: { name: "netgloss" },
            logRecords: [
              {
                timeUnixNano: "1795320000250000000",
                observedTimeUnixNano: "1795320000250000000",
                severityNumber: 9,
                body: text(lines[0] ?? ""),
                attributes: [
                  { key: "record.type", value: text("flow") },
                  { key: "flow.export.ip.addr", value: text("192.0.2.1") },
                  { key: "flow.bytes", value: text("5") },
                ],
              },
              {
                severityNumber: 9,
                body: text(lines[1] ?? ""),
                attributes: [{ key: "record.type", value: text("telemetry") }],
              },
            ],
          },
        ],
      },
    ],
  });
  await adapter.close();
});

test("records that a server rejects in part are kept as dead letters and not sent again", async (t) => {
  const server = await startHttpServer(t);
  const adapter = adapterTo(server.port);
  await adapter.open(signal);
  server.answer = (_, response) =>
    void response.end('{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"too old"}}');
  const { refused, retry } = await adapter.send(batchOf(lines), signal);
  assert.deepEqual([refused.map(({ index }) => index), retry], [[0, 1], []]);
  assert.match(refused[0]?.reason ?? "", /rejected 1 of 2 records .*: too old/);
  server.answer = (_, response) => void response.writeHead(503, { "retry-after": "3" }).end();
  await assert.rejects(adapter.send(batchOf(lines), signal), { blame: "store", retryAfterMs: 3000 });
  server.answer = (_, response) => void response.writeHead(400).end();
  await assert.rejects(adapter.send(batchOf(lines), signal), { blame: "record" });
  await assert.rejects(adapter.open(signal), { blame: "record" });
  await adapter.close();
});

test("through every fault of the way and of the server nothing is missing", async (t) => {
  const server = await startHttpServer(t);
  const held: number[] = [];
  let status = 200;
  server.answer = (call, response) => {
    for (const body of bodiesOf(call.body)) held.push((JSON.parse(body) as { n: number }).n);
    response.writeHead(status).end("{}");
  };
  const proxy = await startFaultProxy(t, "127.0.0.1", server.port);
  const moods = [() => void (status = 200), () => void (status = 429)];
  const store = {
    adapter: adapterOf("OTLP", {
      ADDRESSES: [`http://127.0.0.1:${proxy.port}/v1/logs`],
      COMPRESSION: "gzip",
      ATTRIBUTE_FIELDS: [],
    }),
    proxy,
    isExactlyOnce: false,
    numbers: async () => held,
    moods,
  };
  await keepLedger(t, store, { records: 20_000, step: 100, faultMs: 60 });
});
