import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  countMappings,
  environmentSettings,
  mappingOf,
  netObservNames,
  netObservPage,
  parseEnvFile,
  parseSettingsFile,
  readSettings,
  settingNames,
  settingOf,
  SettingsError,
  type GivenSetting,
  type SettingsReading,
} from "../../src/app/index.ts";
import { cloudIdUrl } from "../../src/output/index.ts";
import type { Secret } from "../../src/base/text/index.ts";
import { referenceData } from "../support/reference-data.ts";

const root = join(import.meta.dirname, "../../..");
const data = referenceData("netobserv");

function read(...layers: GivenSetting[][]): SettingsReading {
  return readSettings(layers, (path) => `content of ${path}`);
}

const env = (values: Record<string, string>): GivenSetting[] => environmentSettings(values);

test("docs/reference/netobserv-settings.md is what `npm run generate` writes", () => {
  assert.equal(readFileSync(join(root, "docs/reference/netobserv-settings.md"), "utf8"), netObservPage());
});

test("the table has every public name, and nothing else", { skip: data.skip }, () => {
  const rows = readFileSync(join(data.path, "settings.tsv"), "utf8").trimEnd().split("\n");
  const examples = new Map(rows.map((row) => row.split("\t")).map(([name = "", example = ""]) => [name, example]));
  assert.deepEqual(new Map(Object.entries(netObservNames).map(([name, { example }]) => [name, example])), examples);
});

test("the public names are known, and most are settings here", (t) => {
  const { same, accepted, missing } = countMappings();
  t.diagnostic(`of ${same + accepted + missing} names ${same} same, ${accepted} accepted, ${missing} missing`);
  assert.equal(same + accepted + missing, 284);
  assert.ok(same >= 200, `${same} are the same`);
  assert.ok(same + accepted >= 240, `${accepted} are accepted`);
});

test("an alias sets its setting, in the words of the other product, too", () => {
  for (const suffix of Object.keys(netObservNames)) {
    const mapping = mappingOf(suffix);
    if (mapping?.kind !== "same" || !mapping.isAlias) continue;
    const { setting } = mapping;
    const example = netObservNames[suffix]?.example ?? "";
    const values = [...Object.keys(netObservNames[suffix]?.as?.values ?? {}), ...(example === "" ? [] : [example])];
    for (const text of values) {
      const { settings, origins } = read(env({ [`EF_${suffix}`]: text }));
      assert.deepEqual(settings[setting], settingOf(setting).type.parse(mapping.toText(text)), `${suffix}=${text}`);
      assert.equal(origins.get(setting), `environment, EF_${suffix}`);
    }
  }
});

test("every example value of a name is a value of its setting", () => {
  for (const [suffix, { example }] of Object.entries(netObservNames)) {
    const mapping = mappingOf(suffix);
    if (mapping?.kind !== "same" || example === "") continue;
    assert.notEqual(settingOf(mapping.setting).type.parse(mapping.toText(example)), undefined, `${suffix}=${example}`);
  }
});

test("both prefixes are read, SVC_ wins wherever it stands, and the count is noted", () => {
  const { settings, notes, origins } = read(
    [...parseSettingsFile("a.yml", "SVC_API_PORT: 1\nEF_OUTPUT_FILE_PATH: /a\nEF_LOGGER_LEVEL: debug\n")],
    env({ EF_API_PORT: "2", EF_API_TLS_CERT_FILEPATH: "/c" }),
  );
  assert.deepEqual(
    [settings.SVC_API_PORT, settings.SVC_OUTPUT_FILE_PATH, settings.SVC_API_TLS_CERT_FILEPATH, settings.SVC_LOG_LEVEL],
    [1, "/a", "/c", "debug"],
  );
  assert.equal(origins.get("SVC_OUTPUT_FILE_PATH"), "a.yml:2:1, EF_OUTPUT_FILE_PATH");
  assert.deepEqual(notes, ["4 settings by the prefix EF_"]);
});

test("a setting's own name wins over another name for it", () => {
  const { settings } = read(env({ SVC_LOG_LEVEL: "warn", SVC_LOGGER_LEVEL: "debug" }));
  assert.equal(settings.SVC_LOG_LEVEL, "warn");
});

test("empty is unset: the default, or what an earlier layer said", () => {
  const empty = Object.fromEntries(settingNames.map((name) => [name, ""]));
  const { settings } = read(env(empty));
  assert.deepEqual(settings, read().settings);
  const file = parseSettingsFile("a.yml", "SVC_API_PORT: 7\n");
  assert.equal(read(file, env({ SVC_API_PORT: " " })).settings.SVC_API_PORT, 7);
});

test("booleans are true, 1, yes and false, 0, no", () => {
  for (const [text, value] of Object.entries({
    true: true,
    "1": true,
    Yes: true,
    FALSE: false,
    "0": false,
    no: false,
  })) {
    const { settings } = read(env({ SVC_OUTPUT_STDOUT_ENABLE: text }));
    assert.equal(settings.SVC_OUTPUT_STDOUT_ENABLE, value, text);
  }
});

test("a port of the old prefix turns its input on, unless something is said of it", () => {
  const isOn = (values: Record<string, string>): boolean => read(env(values)).settings.SVC_FLOW_SERVER_UDP_ENABLE;
  assert.equal(isOn({ EF_FLOW_SERVER_UDP_PORT: "9995" }), true);
  assert.equal(isOn({ EF_FLOW_SERVER_UDP_PORT: "" }), false);
  assert.equal(isOn({ EF_FLOW_SERVER_UDP_PORT: "9995", EF_FLOW_SERVER_UDP_ENABLE: "" }), true);
  assert.equal(isOn({ EF_FLOW_SERVER_UDP_PORT: "9995", EF_FLOW_SERVER_UDP_ENABLE: "false" }), false);
  assert.equal(isOn({ EF_FLOW_SERVER_UDP_PORT: "9995", SVC_FLOW_SERVER_UDP_ENABLE: "no" }), false);
  assert.equal(isOn({ SVC_FLOW_SERVER_UDP_PORT: "9995" }), false);
});

test("so does the port for traps; the transport tcp turns on TCP", () => {
  const of = (values: Record<string, string>): boolean[] => {
    const { settings } = read(env(values));
    return [settings.SVC_INPUT_TRAP_ENABLE, settings.SVC_INPUT_TRAP_LISTENER_TCP_ENABLE];
  };
  assert.deepEqual(of({ EF_INPUT_TRAP_LISTENER_PORT: "8162" }), [true, false]);
  assert.deepEqual(of({ EF_INPUT_TRAP_LISTENER_PORT: "8162", EF_INPUT_TRAP_LISTENER_TRANSPORT: "tcp" }), [true, true]);
  assert.deepEqual(of({ EF_INPUT_TRAP_LISTENER_PORT: "8162", EF_INPUT_TRAP_ENABLE: "false" }), [false, false]);
  assert.deepEqual(of({ SVC_INPUT_TRAP_LISTENER_PORT: "8162" }), [false, false]);
});

test("a directory of SNMP devices of the old prefix turns SNMP on, unless something is said of it", () => {
  const isOn = (values: Record<string, string>): boolean => read(env(values)).settings.SVC_INPUT_SNMP_ENABLE;
  const name = "INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH";
  assert.equal(isOn({ [`EF_${name}`]: "/etc/devices" }), true);
  assert.equal(isOn({ [`EF_${name}`]: "/etc/devices", SVC_INPUT_SNMP_ENABLE: "false" }), false);
  assert.equal(isOn({ [`EF_${name}`]: "" }), false);
  assert.equal(isOn({ [`SVC_${name}`]: "/etc/devices" }), false);
});

test("programs of the old prefix are on without a setting: at their usual ports, devices and traps", () => {
  const on = (values: Record<string, string>): string => {
    const { settings } = read(env(values));
    const { SVC_FLOW_SERVER_UDP_ENABLE, SVC_INPUT_TRAP_ENABLE, SVC_INPUT_SNMP_ENABLE } = settings;
    assert.deepEqual(settings.SVC_FLOW_SERVER_UDP_PORT, [2055, 4739, 6343, 9995]);
    return [SVC_FLOW_SERVER_UDP_ENABLE && "flow", SVC_INPUT_TRAP_ENABLE && "trap", SVC_INPUT_SNMP_ENABLE && "snmp"]
      .filter(Boolean)
      .join();
  };
  assert.equal(on({ EF_LICENSE_ACCEPTED: "true", EF_OUTPUT_STDOUT_ENABLE: "true" }), "flow");
  assert.equal(on({ EF_PROCESSOR_ENRICH_NETIF_SNMP_ENABLE: "false" }), "flow");
  assert.equal(on({ EF_FLOW_SERVER_UDP_IP: "0.0.0.0" }), "flow");
  assert.equal(on({ EF_LICENSE_ACCEPTED: "true", EF_FLOW_SERVER_UDP_ENABLE: "false" }), "");
  assert.equal(on({ EF_LICENSE_ACCEPTED: "true", EF_SNMP_LICENSE_KEY: "x" }), "snmp");
  assert.equal(on({ EF_LICENSE_ACCEPTED: "true", EF_INPUT_TRAP_LISTENER_TRANSPORT: "udp" }), "trap");
  assert.equal(on({ EF_LICENSE_ACCEPTED: "true", SVC_INPUT_SNMP_ENABLE: "true" }), "snmp");
  assert.equal(on({ EF_LOGGER_LEVEL: "info", EF_PROCESSOR_ENRICH_IPADDR_DNS_ENABLE: "false" }), "");
  assert.equal(on({ SVC_PROCESSOR_ENRICH_LOCALITY_ENABLE: "true" }), "");
  const { settings } = read(env({ EF_INPUT_SNMP_PERSIST_ENABLE: "false" }));
  assert.deepEqual(settings.SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH, ["/etc/elastiflow/snmp/devices"]);
});

test("outputs by namespaces of the old prefix are outputs that have names", () => {
  const { settings, unknown, notes, warnings } = read(
    env({
      EF_EDGE_OUTPUT_KAFKA_ENABLE: "true",
      EF_EDGE_OUTPUT_KAFKA_BROKERS: "192.0.2.1:9092",
      EF_EDGE_OUTPUT_KAFKA_PRODUCER_FLUSH_BYTES: "2000000",
      EF_EDGE_OUTPUT_KAFKA_SASL_PASSWORD_FILE: "/run/p",
      EF_EDGE_OUTPUT_KAFKA_RACK_ID: "r",
      EF_NORTH_WEST_OUTPUT_ELASTICSEARCH_ENABLE: "true",
      EF_NORTH_WEST_OUTPUT_ELASTICSEARCH_TSDS_ENABLE: "true",
      EF_NORTH_WEST_OUTPUT_STDOUT_ENABLE: "true",
      EF_EDGE_OUTPUT_PIGEON_ENABLE: "true",
    }),
  );
  assert.deepEqual(
    settings.outputInstances.map(({ word, name }) => `${word} ${name}`),
    ["KAFKA EDGE", "ELASTICSEARCH NORTH_WEST"],
  );
  const kafka = settings.outputInstances[0]?.values;
  assert.equal(kafka?.BATCH_MAX_BYTES, 2_000_000);
  assert.equal((kafka as unknown as { SASL_PASSWORD: Secret }).SASL_PASSWORD.reveal(), "content of /run/p");
  assert.equal(settings.SVC_OUTPUT_KAFKA_ENABLE, false);
  assert.equal(settings.SVC_OUTPUT_STDOUT_ENABLE, true);
  assert.deepEqual(unknown, ["EF_EDGE_OUTPUT_PIGEON_ENABLE (environment)"]);
  assert.ok(notes.some((note) => note.startsWith("EF_EDGE_OUTPUT_KAFKA_RACK_ID without effect")));
  assert.ok(
    warnings.some((warning) => warning.startsWith("EF_NORTH_WEST_OUTPUT_ELASTICSEARCH_TSDS_ENABLE not supported")),
  );
});

test("namespaces that cannot be names are refused, and outputs of two of them that are one output here are named", () => {
  const long = "A".repeat(33);
  assert.throws(() => read(env({ [`EF_${long}_OUTPUT_KAFKA_ENABLE`]: "true" })), {
    message: new RegExp(
      `^environment, EF_${long}_OUTPUT_KAFKA_ENABLE: SVC_OUTPUT_KAFKA__${long}__ENABLE is not a setting: .* 32 at most`,
    ),
  });
  const { settings, warnings } = read(
    env({
      EF_A_OUTPUT_STDOUT_FORMAT: "json",
      EF_B_OUTPUT_STDOUT_FORMAT: "json_pretty",
      EF_C_OUTPUT_STDOUT_ENABLE: "true",
    }),
  );
  assert.equal(settings.SVC_OUTPUT_STDOUT_FORMAT, "json_pretty");
  assert.ok(
    warnings.includes(
      "environment: EF_B_OUTPUT_STDOUT_FORMAT counts, and not EF_A_OUTPUT_STDOUT_FORMAT (environment): keep one",
    ),
  );
});

test("what cannot be filled in is left out and named, but not of the licence", () => {
  const source = "services:\n  a:\n    environment:\n      EF_LICENSE_KEY: ${K}\n      EF_API_PORT: ${P}\n";
  const { settings, warnings } = read(parseSettingsFile("c.yml", source));
  assert.equal(settings.SVC_API_PORT, settingOf("SVC_API_PORT").default);
  assert.deepEqual(
    warnings.filter((warning) => warning.includes("EF_")),
    ["c.yml:5:7: EF_API_PORT is left out: ${P} has no value, neither in the environment nor in .env"],
  );
});

test("services of one Compose file that contradict each other are named: here they are one program", () => {
  const of = (name: string, isOn: boolean, level: string): string =>
    `  ${name}:\n    environment:\n      EF_OUTPUT_STDOUT_ENABLE: ${isOn}\n      EF_LOGGER_LEVEL: ${level}\n`;
  const { settings, warnings } = read(
    parseSettingsFile("c.yml", `services:\n${of("flow", true, "info")}${of("snmp", false, "info")}`),
  );
  assert.equal(settings.SVC_OUTPUT_STDOUT_ENABLE, false);
  assert.deepEqual(
    warnings.filter((warning) => warning.includes("EF_")),
    ["c.yml:8:7: EF_OUTPUT_STDOUT_ENABLE counts, and not EF_OUTPUT_STDOUT_ENABLE (c.yml:4:7): keep one"],
  );
  const twice = "services:\n  a:\n    env_file: x.env\n    environment: {EF_LOGGER_LEVEL: debug}\n";
  const overridden = read(parseSettingsFile("c.yml", twice, { env: {}, read: () => "EF_LOGGER_LEVEL=info\n" }));
  assert.equal(overridden.settings.SVC_LOG_LEVEL, "debug");
  assert.ok(
    !overridden.warnings.some((warning) => warning.includes("keep one")),
    "what a service says counts before its files",
  );
});

test("names without effect are said once for each reason, what belongs to something that is off is not", () => {
  const { notes, warnings, unknown } = read(
    env({
      EF_LICENSE_KEY: "x",
      EF_ACCOUNT_ID: "y",
      EF_AWS_VPC_FLOW_LOG_S3_ENABLE: "false",
      EF_AWS_VPC_FLOW_LOG_S3_PREFIX: "AWSLogs",
      EF_PROCESSOR_IFA_ENABLE: "true",
      EF_PROCESSOR_IFA_WORKER_SIZE: "0",
      EF_OUTPUT_PIGEON_ENABLE: "true",
    }),
  );
  assert.deepEqual(notes, ["EF_LICENSE_KEY, EF_ACCOUNT_ID without effect: netgloss needs no licence"]);
  assert.deepEqual(
    warnings.filter((warning) => warning.includes("EF_")),
    [
      "EF_PROCESSOR_IFA_ENABLE, EF_PROCESSOR_IFA_WORKER_SIZE not supported, without effect: in-band flow analysis is not decoded",
    ],
  );
  assert.deepEqual(unknown, ["EF_OUTPUT_PIGEON_ENABLE (environment)"]);
});

test("a secret of the old prefix comes from its file, and is shown nowhere", () => {
  const { settings } = read(env({ EF_API_BASIC_AUTH_PASSWORD_FILE: "/run/p" }));
  assert.equal(settings.SVC_API_BASIC_AUTH_PASSWORD.reveal(), "content of /run/p");
});

test("environment files: quotes, comments, export, units of systemd, variables of others", () => {
  const source = `# comment
; another
EF_API_PORT=8081 # the port
export SVC_API_IP='::1'
EF_A="x # y"   # z
EF_B="a\\"b\\$c"
EF_C=
EF_D='it#s'
PATH=/bin
[Service]
Environment="EF_E=one two" EF_F=three 'EF_G=four' EF_H="five six"
EF_I = spaced
`;
  const given = parseEnvFile("x.env", source).map(({ name, text }) => `${name}=${text}`);
  assert.deepEqual(given, [
    "EF_API_PORT=8081",
    "SVC_API_IP=::1",
    "EF_A=x # y",
    'EF_B=a"b$c',
    "EF_C=",
    "EF_D=it#s",
    "EF_E=one two",
    "EF_F=three",
    "EF_G=four",
    "EF_H=five six",
    "EF_I=spaced",
  ]);
  assert.equal(parseEnvFile("x.env", source)[0]?.origin, "x.env:3");
  assert.throws(
    () => parseEnvFile("x.env", "EF_A=1\nnonsense\nEnvironment=also nonsense\n"),
    (error) =>
      error instanceof SettingsError &&
      error.problems.join() === "x.env:2: expected NAME=value,x.env:3: expected NAME=value",
  );
});

test("systemd units: lines that go on, percent signs, an empty line that takes back, files of variables", () => {
  const files: Record<string, string> = { "/etc/flow.env": "EF_C=from file\nEnvironmentFile=/etc/flow.env\n" };
  const readUnit = (source: string): string[] =>
    parseEnvFile("x.conf", source, (path) => files[path]).map(
      ({ name, text, origin }) => `${name}=${text} (${origin})`,
    );
  const source = `[Unit]
Description=a collector \\
  of flows
[Service]
Environment=EF_GONE=1
Environment=
EnvironmentFile=/etc/none.env
EnvironmentFile=
Environment=EF_A=1 \\
# between
  "EF_B=100%% sure" \\
  EF_C=3
EnvironmentFile=-/etc/none.env
EnvironmentFile=/etc/flow.env
`;
  const last = source.replace("EnvironmentFile=/etc/none.env\n", "");
  assert.deepEqual(readUnit(last), [
    "EF_A=1 (x.conf:8)",
    "EF_B=100% sure (x.conf:8)",
    "EF_C=3 (x.conf:8)",
    "EF_C=from file (/etc/flow.env:1)",
  ]);
  assert.throws(
    () => readUnit(source),
    (error) =>
      error instanceof SettingsError &&
      error.problems.join() === "x.conf:7: EnvironmentFile: there is no file /etc/none.env",
  );
});

test("a name of the old prefix that is nearly a known one says so", () => {
  const { unknown } = read(env({ EF_OUTPUT_KAFKA_BROKER: "a:9092", EF_LOGER_LEVEL: "info", EF_PIGEON: "1" }));
  assert.deepEqual(unknown, [
    "EF_OUTPUT_KAFKA_BROKER (environment; is EF_OUTPUT_KAFKA_BROKERS meant?)",
    "EF_LOGER_LEVEL (environment; is EF_LOGGER_LEVEL meant?)",
    "EF_PIGEON (environment)",
  ]);
});

test("a Cloud ID gives the URL of its Elasticsearch", () => {
  const id = (text: string): string => `edge:${Buffer.from(text).toString("base64")}`;
  assert.equal(cloudIdUrl(id("eu.example.com$abc$def")), "https://abc.eu.example.com:443");
  assert.equal(cloudIdUrl(id("eu.example.com:9243$abc$def")), "https://abc.eu.example.com:9243");
  assert.equal(cloudIdUrl(id("eu.example.com:9243$abc:9244$def")), "https://abc.eu.example.com:9244");
  for (const bad of ["edge", id("eu.example.com"), id("a b$c"), id("$abc"), ""])
    assert.equal(cloudIdUrl(bad), undefined, bad);
  assert.throws(() => read(env({ EF_OUTPUT_ELASTICSEARCH_CLOUD_ID: "edge:x" })), SettingsError);
});
