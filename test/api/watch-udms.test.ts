import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { createClient, ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { UdmToolsService, type WatchUdmsResponse } from "../../src/api/gen/udm/v1/tools_pb.ts";
import { startTools, type ToolsFixture } from "./tools-fixture.ts";

const put = ({ ask }: ToolsFixture, key: string, name = ""): Promise<unknown> =>
  ask("batchUpsertUdms", { requests: [{ udm: { key, name } }] });

const transports: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  "Connect HTTP/1.1": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false }),
  "Connect HTTP/2": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2" }),
  "gRPC-Web": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl }),
};

const shown = ({ change, last }: WatchUdmsResponse): unknown[] => [
  last,
  ...(change?.changes ?? []).map(({ key }) => key),
];

suite("a stream of changes", { concurrency: true }, () => {
  for (const [name, transport] of Object.entries(transports)) {
    test(`by ${name}: what is kept, then what comes`, async (t) => {
      const tools = await startTools(t, "");
      await put(tools, "10.0.0.1");
      await put(tools, "10.0.0.2");
      const client = createClient(UdmToolsService, transport(tools.api.url));
      const seen: unknown[] = [];
      for await (const message of client.watchUdms({ after: 1 })) {
        seen.push(shown(message));
        if (seen.length === 2) await put(tools, "10.0.0.3");
        if (seen.length === 3) break;
      }
      assert.deepEqual(seen, [[1], [2, "10.0.0.2"], [3, "10.0.0.3"]]);
    });
  }

  test("a filter lets through entries that match before or after", async (t) => {
    const tools = await startTools(t, "");
    await tools.ask("batchUpsertUdms", {
      requests: [{ udm: { key: "10.0.0.1", name: "a" } }, { udm: { key: "10.0.0.2" } }],
    });
    await put(tools, "10.0.0.3");
    await put(tools, "10.0.0.1", "b");
    const client = createClient(UdmToolsService, createGrpcTransport({ baseUrl: tools.api.url }));
    const seen: unknown[] = [];
    for await (const message of client.watchUdms({ filter: "name = a" })) {
      if (seen.push(shown(message)) === 3) break;
    }
    assert.deepEqual(seen, [[0], [1, "10.0.0.1"], [3, "10.0.0.1"]]);
  });

  test("who asks for what is not kept, or does not exist yet, has to list again", async (t) => {
    const tools = await startTools(t, "", { historyBytes: 8000 });
    for (let i = 0; i < 60; i++) await put(tools, "10.0.0.1", `${i}${"x".repeat(100)}`);
    const client = createClient(UdmToolsService, createGrpcTransport({ baseUrl: tools.api.url }));
    for (const after of [0, 61]) {
      const first = client.watchUdms({ after })[Symbol.asyncIterator]().next();
      await assert.rejects(first, (error) =>
        /failed_precondition.*list the entries again/.test(ConnectError.from(error).message),
      );
    }
    const bad = client.watchUdms({ filter: "nam = x" })[Symbol.asyncIterator]().next();
    await assert.rejects(bad, /invalid_argument/);
  });

  test("their number is bounded", async (t) => {
    const tools = await startTools(t, "", { limits: { maxWatchers: 1 } });
    const client = createClient(UdmToolsService, createGrpcTransport({ baseUrl: tools.api.url }));
    const first = client.watchUdms({})[Symbol.asyncIterator]();
    await first.next();
    assert.equal(await tools.api.metrics.value("netgloss_api_change_watchers"), 1);
    await assert.rejects(client.watchUdms({})[Symbol.asyncIterator]().next(), /resource_exhausted/);
    await first.return?.();
  });
});

suite("server-sent events", { concurrency: true }, () => {
  const path = "/api/v1/enrich/ipaddr/changes";

  async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<Record<string, string>> {
    let text = "";
    for await (const chunk of body) {
      text += Buffer.from(chunk).toString();
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const lines = text.slice(0, end).split("\n");
        text = text.slice(end + 2);
        yield Object.fromEntries(lines.map((line) => line.split(/: (.*)/s, 2) as [string, string]));
      }
    }
  }

  test("carry what the stream carries, from where the client was", async (t) => {
    const tools = await startTools(t, "");
    await put(tools, "10.0.0.1");
    await put(tools, "10.0.0.2");
    const response = await fetch(tools.api.url + path, { headers: { "last-event-id": "1" } });
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    const seen: unknown[] = [];
    for await (const { event, id, data } of events(response.body as ReadableStream<Uint8Array>)) {
      const { change } = JSON.parse(data ?? "") as { change?: { changes: { key: string }[] } };
      seen.push([event, id, change?.changes[0]?.key]);
      if (seen.length === 2) await put(tools, "10.0.0.3");
      if (seen.length === 3) break;
    }
    assert.deepEqual(seen, [
      ["at", "1", undefined],
      ["change", "2", "10.0.0.2"],
      ["change", "3", "10.0.0.3"],
    ]);
  });

  test("what is wrong has its status", async (t) => {
    const tools = await startTools(t, "");
    for (const query of ["after=x", "filter=nam%20%3D%20x", "after=7"]) {
      assert.equal((await fetch(`${tools.api.url}${path}?${query}`)).status, 400, query);
    }
  });
});
