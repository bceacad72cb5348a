import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { batchOf } from "../output/delivery/batch-fixture.ts";
import { startFaultProxy } from "../output/delivery/fault-proxy.ts";
import { keepLedger, numberedFlow } from "../output/delivery/output-contract.ts";
import { adapterOf, tlsSettings } from "../output/adapter-fixture.ts";
import { syslogServer, type SyslogSettings } from "../output/syslog/syslog-fixture.ts";
import { startPartner } from "../support/partner.ts";
import { until } from "../support/until.ts";

const accepted = { refused: [], retry: [] };

/** Records of logs, as an OpenTelemetry collector writes them to a file. */
interface Log {
  readonly timeUnixNano: string;
  readonly severityText: string;
  readonly attributes?: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

const logsIn = (path: string): Log[] =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { resourceLogs: { scopeLogs: { logRecords: Log[] }[] }[] })
    .flatMap(({ resourceLogs }) => resourceLogs.flatMap(({ scopeLogs }) => scopeLogs))
    .flatMap(({ logRecords }) => logRecords)
    // What has come of a message when its connection stood still: the collector writes it as it is, and the whole comes again.
    .filter(({ attributes }) => attributes !== undefined);

const attribute = ({ attributes }: Log, key: string): unknown =>
  Object.values(attributes?.find((one) => one.key === key)?.value ?? {})[0];

const numberOf = (log: Log): number => (JSON.parse(String(attribute(log, "message"))) as { n: number }).n;

test("an OpenTelemetry collector takes records by syslog over TCP, TLS and UDP", async (t) => {
  const partner = await startPartner(t, "otelcol");
  const of = (name: string): string => String(partner[name]);
  const numbers = async () => {
    await sleep(1500);
    return logsIn(of("syslogFile")).map(numberOf);
  };
  const deliver = async (given: Partial<SyslogSettings>, server: string, lines: readonly string[]) => {
    const adapter = adapterOf("SYSLOG", syslogServer(server, given));
    const signal = AbortSignal.timeout(10_000);
    try {
      const warnings = await adapter.open(signal);
      const outcome = lines.length === 0 ? accepted : await adapter.send(batchOf(lines), signal);
      return { warnings, outcome };
    } finally {
      await adapter.close();
    }
  };
  const arrives = (n: number): Promise<Log> =>
    until(`${n} arrives`, async () => logsIn(of("syslogFile")).find((log) => numberOf(log) === n));

  await t.test("TCP, read field by field", async () => {
    const line = numberedFlow(1_000_001).replace('"n":', '"flow.src.ip.subnet.name":"Büro \\"A\\"","n":');
    assert.deepEqual(await deliver({}, of("syslog"), [line]), { warnings: [], outcome: accepted });
    const log = await arrives(1_000_001);
    assert.equal(attribute(log, "message"), line);
    assert.equal(attribute(log, "appname"), "netgloss");
    assert.equal(attribute(log, "hostname"), "collector");
    assert.equal(attribute(log, "msg_id"), "flow");
    assert.equal(attribute(log, "facility"), "16");
    assert.equal(log.severityText, "info");
    assert.equal(log.timeUnixNano, `${1_767_225_600_000 + 1_000_001}000000`);
  });

  await t.test("TLS, connections that stay, UDP", async () => {
    const tls = tlsSettings({ ca: of("ca") });
    await deliver(tls, of("syslogTls"), [numberedFlow(1_000_002)]);
    await arrives(1_000_002);
    await assert.rejects(deliver(tlsSettings(), of("syslogTls"), []), /certificate of .* is not trusted/);
    await deliver({ CONFIRM: "write", ...tls }, of("syslogTls"), [numberedFlow(1_000_003)]);
    await arrives(1_000_003);
    const { warnings } = await deliver({ PROTOCOL: "udp" }, of("syslog"), [numberedFlow(1_000_004)]);
    assert.match(warnings.join(), /is not noticed/);
    await arrives(1_000_004);
  });

  await t.test("the ledger over TCP", async (u) => {
    const before = (await numbers()).length;
    assert.equal(before, 4);
    const [host = "", port] = of("syslog").split(":");
    const proxy = await startFaultProxy(u, host, Number(port));
    const adapter = adapterOf("SYSLOG", syslogServer(`127.0.0.1:${proxy.port}`));
    const held = async () => (await numbers()).filter((n) => n < 1_000_000);
    const options = { records: 30_000, step: 100, faultMs: 100, config: { TIMEOUT: 2, BATCH_MAX_BYTES: 50_000 } };
    await keepLedger(u, { adapter, proxy, isExactlyOnce: false, numbers: held }, options);
  });
});

test("rsyslog takes records by syslog over TCP, through all faults", async (t) => {
  const { tcp, file } = await startPartner(t, "rsyslog");
  const [host = "", port] = String(tcp).split(":");
  const proxy = await startFaultProxy(t, host, Number(port));
  const adapter = adapterOf("SYSLOG", syslogServer(`127.0.0.1:${proxy.port}`));
  const numbers = async () => {
    await sleep(1500);
    // What a connection that was cut had brought of its last message.
    const whole = readFileSync(String(file), "utf8")
      .split("\n")
      .filter((line) => line.endsWith("}"));
    return whole.map((line) => (JSON.parse(line.slice(line.indexOf("{"))) as { n: number }).n);
  };
  const options = { records: 30_000, step: 100, faultMs: 100, config: { TIMEOUT: 2, BATCH_MAX_BYTES: 50_000 } };
  await keepLedger(t, { adapter, proxy, isExactlyOnce: false, numbers }, options);
});
