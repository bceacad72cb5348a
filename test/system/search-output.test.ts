import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { test } from "node:test";
import type { RecordBatch } from "../../src/output/index.ts";
import { recordFields } from "../../src/record/index.ts";
import { startFaultProxy } from "../output/delivery/fault-proxy.ts";
import { keepLedger } from "../output/delivery/output-contract.ts";
import { adapterOf } from "../output/adapter-fixture.ts";
import { searchServer, type SearchSettings } from "../output/search/search-fixture.ts";
import { startPartner, type Partner } from "../support/partner.ts";

const signal = new AbortController().signal;

/** A request to the server itself, past the proxy. */
function ask(partner: Partner, method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const { url, user, password, ca } = partner;
  const target = new URL(path, String(url));
  const send = target.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers: { "content-type": "application/json" },
      ...(user !== undefined && { auth: `${user}:${String(password)}` }),
      ...(ca !== undefined && { ca: readFileSync(String(ca)) }),
    };
    const request = send(target, options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.on("end", () => resolve(JSON.parse(text) as Record<string, unknown>));
    });
    request.on("error", reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

interface Hits {
  readonly hits: { readonly hits: readonly { readonly _source: { readonly n: number }; readonly sort: unknown[] }[] };
}

/** The numbers of all records in an index. */
async function numbersIn(partner: Partner, index: string): Promise<number[]> {
  await ask(partner, "POST", `/${index}/_refresh`);
  const numbers: number[] = [];
  for (let after: unknown[] | undefined; ;) {
    const query = {
      size: 10_000,
      sort: [{ n: "asc" }, { "flow.bytes": "asc" }],
      ...(after && { search_after: after }),
    };
    const { hits } = (await ask(partner, "POST", `/${index}/_search`, query)) as unknown as Hits;
    numbers.push(...hits.hits.map(({ _source }) => _source.n));
    if (hits.hits.length < 10_000) return numbers;
    after = hits.hits.at(-1)?.sort;
  }
}

/** A record with every field of the table, as its example. */
function fullRecord(): RecordBatch {
  const record = Object.fromEntries(recordFields.map(({ name, example }) => [name, example]));
  const chunk = Buffer.from(`${JSON.stringify(record)}\n`);
  return { id: { instance: "full", number: 0 }, chunks: [chunk], count: 1, byteLength: chunk.length, oldestAt: 0 };
}

const servers: readonly [script: string, word: "ELASTICSEARCH" | "OPENSEARCH", env: Record<string, string>][] = [
  ["elasticsearch", "ELASTICSEARCH", { ELASTIC_TLS: "1" }],
  ["opensearch", "OPENSEARCH", {}],
  ["opensearch2", "OPENSEARCH", {}],
];

for (const [script, word, env] of servers) {
  test(`${script}: records arrive once through all faults, with the types of the table`, async (t) => {
    const partner = await startPartner(t, script, env);
    const { url, user, password, ca } = partner;
    const target = new URL(String(url));
    const proxy = await startFaultProxy(t, target.hostname, Number(target.port));
    const credentials = user === undefined ? {} : { USERNAME: String(user), PASSWORD: String(password) };
    const adapterTo = (given: Partial<SearchSettings> = {}) =>
      adapterOf(word, {
        ...searchServer(`${target.protocol}//localhost:${proxy.port}`, credentials),
        TLS_CA_CERT_FILEPATH: String(ca ?? ""),
        ...given,
      });

    if (user !== undefined) {
      const stranger = adapterTo({ USERNAME: "" });
      await assert.rejects(stranger.open(signal), /refuses the credentials: 401/);
      await stranger.close();
      const distrustful = adapterTo({ TLS_CA_CERT_FILEPATH: "" });
      await assert.rejects(distrustful.open(signal), /certificate of .* is not trusted/);
      await distrustful.close();
    }

    for (const [period, index] of [
      ["rollover", "netgloss-flow"],
      ["daily", "elastiflow-flow-daily-2026.01.01"],
    ] as const) {
      // Templates of both periods would be of the same names.
      const names = period === "daily" ? { INDEX_PREFIX: "elastiflow", INDEX_SUFFIX: "daily" } : {};
      const adapter = adapterTo({
        INDEX_PERIOD: period,
        ...names,
        COMPRESSION: period === "daily" ? "gzip" : "none",
      });
      const ledger = { records: 20_000, step: 100, faultMs: 150, config: { TIMEOUT: 5, BATCH_MAX_BYTES: 200_000 } };
      await keepLedger(t, { adapter, proxy, isExactlyOnce: true, numbers: () => numbersIn(partner, index) }, ledger);
      const mapping = JSON.stringify(await ask(partner, "GET", `/${index}/_mapping/field/flow.export.ip.addr`));
      assert.match(mapping, /"type":"ip"/, `${period}: the index is of the template`);
    }

    const adapter = adapterTo();
    await adapter.open(signal);
    const outcome = await adapter.send(fullRecord(), signal);
    assert.deepEqual(outcome, { refused: [], retry: [] }, "every field of the table is of its type");
    await adapter.close();
    await ask(partner, "POST", "/netgloss-*/_refresh");
    const search = { query: { term: { "flow.src.ip.addr": "192.0.2.0/24" } } };
    const { hits } = (await ask(
      partner,
      "POST",
      "/netgloss-flow*,netgloss-telemetry*/_search",
      search,
    )) as unknown as Hits;
    assert.ok(hits.hits.length >= 1, "an address is found by its prefix");
  });
}
