import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { createClient, ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { fromBinary, toJson } from "@bufbuild/protobuf";
import {
  UdmToolsService,
  WatchUdmsResponseSchema,
  type WatchUdmsResponse,
} from "../../src/server/gen/udm/v1/tools_pb.ts";
import { isLong } from "../../src/server/rpc/protocol.ts";
import { ChangeFeed, FeedMeters, type FollowedChange, watchAnswer } from "../../src/server/tools/watch-udms.ts";
import { parseKey } from "../../src/base/ip/index.ts";
import { createMetrics } from "../../src/base/report/index.ts";
import type { UdmHistory } from "../../src/metadata/index.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { startTools, type ToolsFixture } from "./tools-fixture.ts";

const put = ({ ask }: ToolsFixture, key: string, name = ""): Promise<unknown> =>
  ask("batchUpsertUdms", { requests: [{ udm: { key, name } }] });

const transports: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  "Connect HTTP/1.1": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false }),
  "Connect HTTP/2": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2" }),
  "gRPC-Web": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl }),
};

async function protoOf(followed: FollowedChange | undefined): Promise<Buffer> {
  const encoded = watchAnswer(followed as FollowedChange).encode("proto");
  assert.ok(isLong(encoded));
  await encoded.size(() => true);
  return Buffer.concat([...encoded.chunks()]);
}

/** A feed, and why it has ended who follows. */
function feedOf(history: () => UdmHistory, limits: ConstructorParameters<typeof ChangeFeed>[1]) {
  const metrics = createMetrics();
  const feed = new ChangeFeed(history, limits, new FeedMeters(metrics), { reject: () => {} });
  const ends = async (): Promise<unknown[]> => {
    const families = await metrics.everything();
    const ended = families.find(({ name }) => name === "netgloss_api_change_watchers_ended_total");
    return [...(ended?.samples ?? [])].flatMap(([{ reason }, count]) => (count > 0 ? [reason] : []));
  };
  return { feed, ends };
}

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

  test("a client that reads too slowly is ended when it is too far behind, and has to list again", async (t) => {
    const tools = await startTools(t, "");
    const { feed, ends } = feedOf(() => tools.store.history, { maxWatchers: 1, maxWatchedBytes: 1e6 });
    const slow = feed.follow({ after: undefined, filter: undefined, signal: new AbortController().signal });
    await slow.next();
    const first = slow.next();
    const key = parseKey("10.0.0.1");
    const write = (n: number): Promise<unknown> =>
      tools.store.submit([{ op: "edit", key, edit: () => ({ entry: udmEntry("10.0.0.1", { vlan: BigInt(n) }) }) }]);
    await write(1);
    assert.equal((await first).value.last, 1);
    // It has caught up, and then reads nothing for as long as 5001 changes take.
    const waiting = slow.next();
    for (let n = 2; n <= 5503; n += 500) {
      await Promise.all(Array.from({ length: 500 }, (_, i) => write(n + i)));
    }
    assert.equal((await waiting).value.last, 2);
    // It still gets those that had been read for it.
    const readOn = async (): Promise<void> => {
      for (let n = 0; n < 100; n++) await slow.next();
    };
    await assert.rejects(readOn(), (error) =>
      /failed_precondition.* changes behind: list the entries again/.test(ConnectError.from(error).message),
    );
    assert.deepEqual(await ends(), ["behind"]);
    assert.equal(feed.followers, 0);
  });

  test("a big change is read and made once for all, and those behind share a bounded memory", async (t) => {
    const { store } = await startTools(t, "");
    const lists: unknown[] = [];
    const history: UdmHistory = {
      isOn: () => store.history.isOn(),
      epoch: () => store.history.epoch(),
      last: () => store.history.last(),
      first: () => store.history.first(),
      list: (query) => {
        lists.push(query);
        return store.history.list(query);
      },
      get: (number) => store.history.get(number),
      headsBetween: (from, to, limit) => store.history.headsBetween(from, to, limit),
      lastOf: (keys) => store.history.lastOf(keys),
      watch: (listener) => store.history.watch(listener),
    };
    const { feed, ends } = feedOf(() => history, { maxWatchers: 100, maxWatchedBytes: 500_000 });
    const follow = async (after?: number): Promise<AsyncGenerator<FollowedChange>> => {
      const followed = feed.follow({ after, filter: undefined, signal: new AbortController().signal });
      await followed.next();
      return followed;
    };
    const keys = Array.from({ length: 2000 }, (_, i) => parseKey(`10.0.${i >> 8}.${i & 255}`));
    const write = async (name: string): Promise<void> => {
      await store.submit(
        keys.map((key) => ({ op: "edit", key, edit: () => ({ entry: udmEntry(key.text, { name }) }) })),
      );
    };
    const current = await Promise.all(Array.from({ length: 50 }, () => follow()));
    const waiting = current.map((one) => one.next());
    await write("a");
    const got = await Promise.all(waiting);
    assert.equal(lists.length, 1, "read once");
    assert.equal(new Set(got.map(({ value }) => (value as FollowedChange).change)).size, 1);
    const [one, other] = got.map(({ value }) => watchAnswer(value as FollowedChange).encode("json"));
    assert.ok(one === other && one !== undefined && isLong(one), "made once");
    const size = (await one.size(() => true)) ?? 0;
    const text = Buffer.concat([...one.chunks()]).toString();
    assert.equal(text.length, size);
    assert.deepEqual(
      JSON.parse(text),
      toJson(WatchUdmsResponseSchema, fromBinary(WatchUdmsResponseSchema, await protoOf(got[0]?.value))),
    );
    const held = feed.heldBytes;
    assert.ok(held > 0.9 * size && held < 1.1 * size, `${held} for ${size}`);
    // None of them takes it. Others who are at older changes fill the memory, until one of them gets nothing.
    await write("b");
    await write("c");
    await write("d");
    const second = await follow(1);
    assert.equal((await second.next()).value.last, 2);
    const third = await follow(2);
    await assert.rejects(third.next(), (error) =>
      /resource_exhausted.*have not taken fill \d+ bytes: watch again after change 2/.test(
        ConnectError.from(error).message,
      ),
    );
    const newest = await follow(3);
    assert.equal((await newest.next()).value.last, 4, "what is newest is for everybody");
    assert.deepEqual(await ends(), ["bytes"]);
    for (const followed of [...current, second, newest]) await followed.return(undefined);
    assert.equal(feed.heldBytes, 0);
  });

  test("what sources change is in it, with their layer, unless it is left out; it cannot be undone", async (t) => {
    const tools = await startTools(t, "");
    await tools.store.layers.setNames(["netbox"]);
    await put(tools, "10.0.0.1");
    await tools.store.layers.replace("netbox", [udmEntry("10.0.0.2", { name: "a" })], "RunSource");
    await put(tools, "10.0.0.3");
    const client = createClient(UdmToolsService, createGrpcTransport({ baseUrl: tools.api.url }));
    const watch = async (request: object, count: number): Promise<unknown[]> => {
      const seen: unknown[] = [];
      for await (const message of client.watchUdms(request)) {
        if (seen.push([...shown(message), message.change?.layer]) === count) break;
      }
      return seen.slice(1);
    };
    const own = [1, "10.0.0.1", ""];
    const last = [3, "10.0.0.3", ""];
    assert.deepEqual(await watch({}, 4), [own, [2, "10.0.0.2", "netbox"], last]);
    assert.deepEqual(await watch({ withoutLayers: true }, 3), [own, last]);
    assert.deepEqual(await watch({ filter: "layer = netbox" }, 2), [[2, "10.0.0.2", "netbox"]]);
    const listed = await tools.ask("listChanges", { withoutLayers: true, withoutEntries: true });
    assert.deepEqual(
      (listed["changes"] as { number: number }[]).map(({ number }) => number),
      [3, 1],
    );
    const found = await tools.ask("searchUdms", { layers: true, filter: "key in 10.0.0.0/30" });
    assert.deepEqual(found["udms"], [
      { key: "10.0.0.1" },
      { key: "10.0.0.2", name: "a", layer: "netbox" },
      { key: "10.0.0.3" },
    ]);
    const undo = await tools.call("undoChange", { id: 2 });
    assert.ok("message" in undo && /change 2 is one of the source netbox/.test(undo.message), JSON.stringify(undo));
    const exported = await tools.call("exportUdms", { format: "csv", filter: "layer = netbox" });
    assert.ok("message" in exported && /asks for layers/.test(exported.message), JSON.stringify(exported));
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
    const epoch = tools.store.history.epoch();
    assert.deepEqual(seen, [
      ["at", `${epoch}.1`, undefined],
      ["change", `${epoch}.2`, "10.0.0.2"],
      ["change", `${epoch}.3`, "10.0.0.3"],
    ]);
    // A client comes again with the id of the last event, after a history that was lost, too.
    const follow = (id: string): Promise<Response> => fetch(tools.api.url + path, { headers: { "last-event-id": id } });
    const again = await follow(`${epoch}.2`);
    for await (const { id } of events(again.body as ReadableStream<Uint8Array>)) if (id === `${epoch}.3`) break;
    const other = await follow(`${"0".repeat(32)}.2`);
    assert.equal(other.status, 400);
    assert.match(
      await other.text(),
      /the numbers of changes began again since the client was here: list the entries again/,
    );
    const client = createClient(UdmToolsService, createGrpcTransport({ baseUrl: tools.api.url }));
    for await (const first of client.watchUdms({ after: 2, epoch })) {
      assert.equal(first.epoch, epoch);
      break;
    }
    const refused = client.watchUdms({ after: 2, epoch: "0" })[Symbol.asyncIterator]().next();
    await assert.rejects(refused, /failed_precondition.*began again/);
  });

  test("what is wrong has its status", async (t) => {
    const tools = await startTools(t, "");
    for (const query of ["after=x", "filter=nam%20%3D%20x", "after=7", "without_layers=1"]) {
      assert.equal((await fetch(`${tools.api.url}${path}?${query}`)).status, 400, query);
    }
  });
});
