import assert from "node:assert/strict";
import { test } from "node:test";
import type { SettingsOf } from "../../../src/output/index.ts";
import { adapterOf } from "../adapter-fixture.ts";
import { batchOf } from "../delivery/batch-fixture.ts";
import { startFaultProxy } from "../delivery/fault-proxy.ts";
import { keepLedger } from "../delivery/output-contract.ts";
import { startHttpServer } from "../http/http-fixture.ts";
import { startLokiServer } from "./loki-server.ts";

const signal = new AbortController().signal;

interface Push {
  readonly streams: readonly {
    readonly stream: Readonly<Record<string, string>>;
    readonly values: readonly (readonly [string, string])[];
  }[];
}

const adapterTo = (port: number, given: Partial<SettingsOf<"LOKI">> = {}) =>
  adapterOf("LOKI", {
    ADDRESSES: [`http://127.0.0.1:${port}`],
    LABEL_FIELDS: ["flow.export.ip.addr", "flow.in.netif.index"],
    ...given,
  });

const time = '"@timestamp":"2026-11-22T04:00:00.250Z"';
const lines = [
  `{${time},"flow.export.ip.addr":"192.0.2.1","x":"a\\"\\\\b\\u0001é"}`,
  `{${time},"flow.export.ip.addr":"192.0.2.2","flow.in.netif.index":7}`,
  `{${time},"flow.export.ip.addr":"192.0.2.1","x":"a\\"\\\\b\\u0001é"}`,
  `{${time},"system.ip.addr":"192.0.2.9"}`,
];

test("lines go to streams by their labels, unchanged, equal records as different entries", async (t) => {
  const server = await startHttpServer(t);
  const adapter = adapterTo(server.port, { TENANT: "edge" });
  assert.deepEqual(await adapter.open(signal), []);
  assert.deepEqual(await adapter.send(batchOf(lines), signal), { refused: [], retry: [] });
  const call = server.calls.at(-1);
  assert.equal(call?.path, "/loki/api/v1/push");
  assert.equal(call.headers["x-scope-orgid"], "edge");
  const of = { service_name: "netgloss", record_type: "flow" };
  assert.deepEqual((JSON.parse(call.body) as Push).streams, [
    {
      stream: { ...of, flow_export_ip_addr: "192.0.2.1" },
      values: [
        ["1795320000250000000", lines[0]],
        ["1795320000250000002", lines[2]],
      ],
    },
    {
      stream: { ...of, flow_export_ip_addr: "192.0.2.2", flow_in_netif_index: "7" },
      values: [["1795320000250000001", lines[1]]],
    },
    { stream: { ...of, record_type: "telemetry" }, values: [["1795320000250000003", lines[3]]] },
  ]);
  const part = { ...batchOf([lines[2] ?? ""]), positions: [2] };
  await adapter.send(part, signal);
  const again = JSON.parse(server.calls.at(-1)?.body ?? "") as Push;
  assert.equal(
    again.streams[0]?.values[0]?.[0],
    "1795320000250000002",
    "a record that is sent again is the same entry",
  );
  await adapter.close();
});

test("an entry that is refused is found by halves; credentials are judged at first contact", async (t) => {
  const server = await startHttpServer(t);
  const adapter = adapterTo(server.port);
  server.answer = (_, response) => void response.writeHead(401).end("no org id");
  await assert.rejects(adapter.open(signal), /refuses the credentials: 401 \(no org id\)/);
  server.answer = (_, response) => void response.writeHead(400).end("entry too far behind");
  await adapter.open(signal);
  await assert.rejects(adapter.send(batchOf(lines), signal), { blame: "record", message: /entry too far behind/ });
  server.answer = (_, response) => void response.writeHead(429).end("rate limit");
  await assert.rejects(adapter.send(batchOf(lines), signal), { blame: "store" });
  await adapter.close();
});

test("through every fault nothing is missing, and what is sent again is the entry that it was", async (t) => {
  const server = await startLokiServer(t);
  const proxy = await startFaultProxy(t, "127.0.0.1", server.port);
  const store = {
    adapter: adapterTo(proxy.port, { COMPRESSION: "gzip", TENANT: "edge" }),
    proxy,
    isExactlyOnce: true,
    numbers: async () => Array.from(server.lines(), (line) => (JSON.parse(line) as { n: number }).n),
    moods: [() => void (server.status = 204), () => void (server.status = 500)],
  };
  await keepLedger(t, store, { records: 20_000, step: 100, faultMs: 60 });
});
