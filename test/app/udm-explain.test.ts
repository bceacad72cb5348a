import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "js-yaml";
import { showExplanation } from "../../src/app/cli/udm/explain-command.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { startCommandWorld } from "../support/udm-commands.ts";

const plan = `10.0.0.0/8:
  name: ten
  tags: [a, b]
  metadata: {.site: AMS}
10.0.0.1:
  name: one
  tags: [b]
10.0.0.0/16:
  name: device
  contexts: [exporter]
`;

test("explain shows each field, what gave it, and what lost", async (t) => {
  const { run, runWith } = await startCommandWorld(t, { SVC_STATE_DIRECTORY_PATH: tempDirectory(t) });
  await runWith({ input: [plan] }, "udm", "apply", "-f", "-", "--yes");
  const { code, out, err } = await run("udm", "explain", "10.0.0.1", "--context", "src");
  assert.equal(code, 0, err);
  const origins: Readonly<Record<string, number>> = { "10.0.0.0/8": 1, "10.0.0.0/16": 8, "10.0.0.1": 12 };
  const origin = (key: string): string => `${key} (ipaddrs.yml:${origins[key]}, change 1 by cli, TIME)`;
  assert.equal(
    out.replace(/\d{4}-[^)]*Z/g, "TIME"),
    [
      "10.0.0.1",
      "",
      "src: below flow.src",
      `  .ip.subnet.name  "one"    ${origin("10.0.0.1")}`,
      `                   x "ten"  ${origin("10.0.0.0/8")}: 10.0.0.1 is more specific`,
      `  .ip.subnet.tags  "b"      ${origin("10.0.0.1")}`,
      `                   "a"      ${origin("10.0.0.0/8")}`,
      `                   x "b"    ${origin("10.0.0.0/8")}: a more specific entry has it already`,
      `  .site            "AMS"    ${origin("10.0.0.0/8")}`,
      `  x all fields              ${origin("10.0.0.0/16")}: the entry applies to exporter only`,
      "",
    ].join("\n"),
  );
  assert.match((await run("udm", "explain", "10.0.0.1")).out, /^src, dst: below flow\.src, flow\.dst$/m);
  const json = JSON.parse((await run("udm", "explain", "10.0.0.1", "-o", "json")).out) as object;
  assert.deepEqual(load((await run("udm", "explain", "10.0.0.1", "-o", "yaml")).out), json);
  assert.match(
    (await run("udm", "explain", "192.0.2.1")).out,
    /^192\.0\.2\.1\n\nsrc, dst, exporter, system: .*\n  nothing\n$/,
  );
});

test("explain shows what a port and an interface add", async (t) => {
  const { run } = await startCommandWorld(t, { SVC_PROCESSOR_ENRICH_PORT_NAME_ENABLE: "true" });
  const { out, err } = await run("udm", "explain", "10.0.0.1", "--port", "53/udp", "--interface", "192.0.2.1@7");
  assert.equal(err, "");
  assert.match(out, /^src, dst: below flow\.src, flow\.dst\n  \.l4\.port\.name {2}"domain" {2}the name of the port$/m);
  assert.match((await run("udm", "explain", "10.0.0.1", "--port", "853")).out, /"domain-s"/);
});

test("explain refuses what is no address, and contexts that are not known", async (t) => {
  const { run } = await startCommandWorld(t);
  const bad = await run("udm", "explain", "nonsense");
  assert.equal(bad.code, 5);
  assert.match(bad.err, /"nonsense" is not an IP address/);
  assert.equal((await run("udm", "explain", "10.0.0.1", "--context", "source")).code, 2);
  for (const port of ["0", "70000", "53/quic", "http", "53/0"]) {
    const { code, err } = await run("udm", "explain", "10.0.0.1", "--port", port);
    assert.equal(code, 2, port);
    assert.match(err, /Expected a port from 1 to 65535/);
  }
  assert.match((await run("udm", "explain", "10.0.0.1", "--interface", "7")).err, /an exporter, @ and an ifIndex/);
});

test("an explanation names layers, the file, other sources, and what counts for nothing", () => {
  const metadata = (key: string, more: object = {}): object => ({ source: "metadata", key, ...more });
  const shown = showExplanation({
    ip: "10.0.0.1",
    contexts: [
      {
        context: "src",
        fields: [
          { field: "flow.src.as.asn", value: "64500", origins: [{ source: "mmdb" }] },
          {
            field: "rack",
            value: '"r\u001b1"',
            origins: [metadata("10.0.0.1")],
            losers: [
              { field: "rack", value: '"r2"', origin: metadata("10.0.0.1", { layer: "netbox" }), reason: "so it is" },
            ],
          },
        ],
        ignored: [
          { field: "", value: "null", origin: metadata("10.0.0.0/8"), reason: "the entry applies to exporter only" },
          { field: "flow.src.ip", value: '"x"', origin: metadata("10.0.0.0/8"), reason: "in its way" },
        ],
      },
    ],
  });
  assert.equal(
    shown,
    [
      "10.0.0.1",
      "",
      "src: below flow.src",
      "  .as.asn       64500   the databases of locations and systems",
      '  rack          "r?1"   10.0.0.1 (the file)',
      '                x "r2"  10.0.0.1 (layer netbox): so it is',
      "  x all fields          10.0.0.0/8 (the file): the entry applies to exporter only",
      '  x .ip         "x"     10.0.0.0/8 (the file): in its way',
      "",
    ].join("\n"),
  );
});
