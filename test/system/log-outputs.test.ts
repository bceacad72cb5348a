import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { batchOf } from "../output/delivery/batch-fixture.ts";
import { startFaultProxy } from "../output/delivery/fault-proxy.ts";
import { keepLedger, numberedFlow } from "../output/delivery/output-contract.ts";
import { adapterOf } from "../output/adapter-fixture.ts";
import { bodiesOf } from "../output/otlp/otlp-fixture.ts";
import { startPartner } from "../support/partner.ts";

const signal = new AbortController().signal;
const accepted = { refused: [], retry: [] };

/** The records that an OpenTelemetry collector wrote to a file: bodies of log records, one message of OTLP a line. */
const bodiesIn = (path: unknown): string[] =>
  readFileSync(String(path), "utf8")
    .split("\n")
    .flatMap((line) => (line === "" ? [] : bodiesOf(line)));

test("an OpenTelemetry collector takes records by OTLP, Splunk HEC, through all faults", async (t) => {
  const partner = await startPartner(t, "otelcol");
  const { otlpHttp, hec, hecTls, ca, otlpFile, hecFile } = partner;
  const portOf = (url: unknown): number => Number(new URL(String(url)).port);
  const ledger = { records: 30_000, step: 100, faultMs: 100, config: { TIMEOUT: 2, BATCH_MAX_BYTES: 50_000 } };
  /** What is on disk after the receivers' exporters have written it. */
  const settled = () => new Promise((resolve) => setTimeout(resolve, 1500));

  await t.test("OTLP/HTTP", async (u) => {
    const proxy = await startFaultProxy(u, "127.0.0.1", portOf(otlpHttp));
    const adapter = adapterOf("OTLP", {
      ADDRESSES: [`127.0.0.1:${proxy.port}`],
      COMPRESSION: "gzip",
      ATTRIBUTE_FIELDS: ["flow.export.ip.addr"],
    });
    const numbers = async () => {
      await settled();
      return bodiesIn(otlpFile).map((body) => (JSON.parse(body) as { n: number }).n);
    };
    await keepLedger(u, { adapter, proxy, isExactlyOnce: false, numbers }, ledger);
    assert.ok(bodiesIn(otlpFile).includes(numberedFlow(1)), "lines are unchanged");
    const attribute = '"key":"flow.export.ip.addr","value":{"stringValue":"192.0.2.1"}';
    assert.ok(readFileSync(String(otlpFile), "utf8").includes(attribute), "a chosen field is an attribute");
  });

  const splunk = (url: string, caPath = "") =>
    adapterOf("SPLUNK_HEC", {
      ADDRESSES: [url],
      TOKEN: "secret",
      TLS_CA_CERT_FILEPATH: caPath,
      INDEX: "net",
      CIM_ENABLE: true,
    });
  const heldEvents = () =>
    Array.from(readFileSync(String(hecFile), "utf8").matchAll(/"key":"n","value":\{"\w+":"?([0-9]+)/g));

  await t.test("Splunk HEC", async (u) => {
    const proxy = await startFaultProxy(u, "127.0.0.1", portOf(hec));
    const numbers = async () => {
      await settled();
      return heldEvents().map(([, n]) => Number(n));
    };
    const adapter = splunk(`http://127.0.0.1:${proxy.port}`);
    await keepLedger(u, { adapter, proxy, isExactlyOnce: false, numbers }, ledger);
    const text = readFileSync(String(hecFile), "utf8");
    assert.ok(text.includes('"key":"com.splunk.index","value":{"stringValue":"net"}'), "the index");
    assert.ok(text.includes('"key":"dvc","value":{"stringValue":"192.0.2.1"}'), "an indexed field");
    // The server reads a time as a floating-point number.
    assert.ok(text.includes('"timeUnixNano":"1767225600028000000"'), "the time");
  });

  await t.test("Splunk HEC over TLS", async () => {
    const distrustful = splunk(`https://127.0.0.1:${portOf(hecTls)}`);
    await assert.rejects(distrustful.open(signal), /certificate of .* is not trusted/);
    await distrustful.close();
    const adapter = splunk(`https://127.0.0.1:${portOf(hecTls)}`, String(ca));
    assert.deepEqual(await adapter.open(signal), []);
    assert.deepEqual(await adapter.send(batchOf([numberedFlow(999_999)]), signal), accepted);
    await settled();
    assert.ok(heldEvents().some(([, n]) => n === "999999"));
    await adapter.close();
  });
});
