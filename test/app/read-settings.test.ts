import assert from "node:assert/strict";
import { test } from "node:test";
import {
  environmentSettings,
  flagOf,
  formatSettings,
  parseSettingsFile,
  readSettings,
  settingNames,
  settingOf,
  SettingsError,
  type GivenSetting,
  type SettingsReading,
} from "../../src/app/index.ts";
import { outputKinds } from "../../src/output/index.ts";

const noFile = (path: string): string => {
  throw new Error(`no such file: ${path}`);
};

function read(env: Record<string, string>, file = "", flags: GivenSetting[] = [], readFile = noFile): SettingsReading {
  return readSettings([parseSettingsFile("netgloss.yml", file), environmentSettings(env), flags], readFile);
}

function problems(run: () => unknown): readonly string[] {
  try {
    run();
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

test("every default is a value of its type, and survives being written as text", () => {
  for (const name of settingNames) {
    const { type, default: fallback } = settingOf(name);
    if (type.secret) continue;
    assert.deepEqual(type.parse(type.format(fallback)), fallback, name);
  }
});

test("rules of settings name settings of their own output, or any by its full name", () => {
  const words = [...outputKinds.map(({ word }) => word), "STDOUT", "FILE", "MONITOR"];
  const known: readonly string[] = settingNames;
  let rules = 0;
  for (const name of settingNames) {
    const word = words.find((one) => name.startsWith(`SVC_OUTPUT_${one}_`));
    const { needs = [], belongsTo = [], conflicts = [] } = settingOf(name);
    const others = needs.flatMap(({ when = {}, must }) => Object.keys({ ...when, ...must }));
    for (const other of [...others, ...belongsTo, ...conflicts]) {
      rules++;
      assert.ok(known.includes(other) || known.includes(`SVC_OUTPUT_${word}_${other}`), `${name}: ${other}`);
    }
  }
  assert.ok(rules > 40);
});

test("everything is off and empty by default, as the contract has it", () => {
  const { settings, origins } = read({});
  for (const name of settingNames.filter((candidate) => candidate.endsWith("_ENABLE"))) {
    // How an output works is of no matter while the output is off.
    if (/^SVC_OUTPUT_.+_(?:INDEX_TEMPLATE|TLS|PRODUCER_IDEMPOTENCE)_ENABLE$/.test(name)) continue;
    // Nor how an input works while it is off, and what a fleet shares while there is none.
    if (/^SVC_PROCESSOR_DECODE_|^SVC_INPUT_SNMP_(?:PERSIST|TOPOLOGY)_|^SVC_FLEET_/.test(name)) continue;
    const isOn = /^SVC_PROCESSOR_(?:ENRICH_COMMUNITYID|ENRICH_CONVERSATIONID|SCALE_COUNTERS)_ENABLE$/.test(name);
    assert.equal(settings[name], isOn, name);
  }
  assert.equal(settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH, "");
  assert.equal(settings.SVC_API_IP, "127.0.0.1");
  assert.equal(settings.SVC_API_PORT, 8080);
  assert.equal(settings.SVC_PROCESSOR_ENRICH_IPADDR_TTL, 7200);
  assert.equal(origins.get("SVC_API_PORT"), "default");
});

test("a flag beats the environment, which beats the file, which beats the default", () => {
  const file = "SVC_API_PORT: 1\nSVC_API_IP: 10.0.0.1\nSVC_LOG_LEVEL: warn\n";
  const env = { SVC_API_PORT: "2", SVC_API_IP: "10.0.0.2" };
  const flags = [{ name: "SVC_API_PORT", text: "3", origin: "flag --svc-api-port" }];
  const { settings, origins } = read(env, file, flags);
  assert.deepEqual([settings.SVC_API_PORT, settings.SVC_API_IP, settings.SVC_LOG_LEVEL], [3, "10.0.0.2", "warn"]);
  assert.equal(origins.get("SVC_API_PORT"), "flag --svc-api-port");
  assert.equal(origins.get("SVC_API_IP"), "environment");
  assert.equal(origins.get("SVC_LOG_LEVEL"), "netgloss.yml:3:1");
});

test("values are read by their type", () => {
  const { settings } = read({
    SVC_FLOW_SERVER_UDP_PORT: "2055, 4739 ,",
    SVC_API_MAX_BODY_SIZE: "2 MiB",
    SVC_OUTPUT_FILE_MAX_SIZE: "1048576",
    SVC_FLOW_SERVER_UDP_IP: "::1",
    SVC_API_UNKNOWN_FIELDS: "ignore",
    SVC_OUTPUT_STDOUT_ENABLE: "TRUE",
    SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF: "192.0.2.1=1000, 2001:DB8::0=2, 10.0.0.0/8=4,",
  });
  assert.deepEqual(settings.SVC_FLOW_SERVER_UDP_PORT, [2055, 4739]);
  assert.equal(settings.SVC_API_MAX_BODY_SIZE, 2 * 2 ** 20);
  assert.equal(settings.SVC_OUTPUT_FILE_MAX_SIZE, 1_048_576);
  assert.equal(settings.SVC_FLOW_SERVER_UDP_IP, "::1");
  assert.equal(settings.SVC_API_UNKNOWN_FIELDS, "ignore");
  assert.equal(settings.SVC_OUTPUT_STDOUT_ENABLE, true);
  assert.deepEqual(
    [...settings.SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF],
    [
      ["192.0.2.1", 1000],
      ["2001:db8::", 2],
      ["10.0.0.0/8", 4],
    ],
  );
});

const badValues: [string, string, RegExp][] = [
  ["SVC_API_PORT", "65536", /must be an integer from 0 to 65535, not "65536"/],
  ["SVC_API_PORT", "0x50", /integer/],
  ["SVC_API_PORT", "80.0", /integer/],
  ["SVC_API_IP", "localhost", /an IP address, not "localhost"/],
  ["SVC_API_IP", "010.0.0.1", /an IP address/],
  ["SVC_FLOW_SERVER_UDP_PORT", "2055,x", /a list separated by commas/],
  ["SVC_FLOW_SERVER_UDP_PORT", "2055,2055", /nothing twice/],
  ["SVC_FLOW_SERVER_UDP_PORT", "2055,,4739", /a list/],
  ["SVC_FLOW_SERVER_UDP_PORT", ",2055", /a list/],
  ["SVC_LOG_LEVEL", "trace", /one of debug, info, warn, error, silent, not "trace"/],
  ["SVC_LOG_FORMAT", "JSON", /json or text/],
  ["SVC_API_TLS_ENABLE", "on", /true or false, not "on"/],
  ["SVC_API_MAX_BODY_SIZE", "1MB", /KiB, MiB or GiB/],
  ["SVC_API_MAX_BODY_SIZE", "9999GiB", /from 1KiB to 1GiB/],
  ["SVC_OUTPUT_FILE_PATH", "a\u0000b", /a path/],
  ["SVC_API_BASIC_AUTH_USERNAME", "a:b", /without a colon/],
  ["SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF", "192.0.2.1=0", /<IP address>=<rate>/],
  ["SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF", "192.0.2.1=1,,", /<IP address>=<rate>/],
  ["SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF", "192.0.2.1=1=2", /<IP address>=<rate>/],
  ["SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF", "::ffff:192.0.2.1=1,192.0.2.1=2", /nothing twice/],
  ["SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF", "192.0.2.1-192.0.2.9=1", /<CIDR>=<rate>/],
  ["SVC_API_ALLOWED_HOSTS", "example.org,*.org", /a host name/],
];

for (const [name, text, message] of badValues) {
  test(`${name}=${JSON.stringify(text)} is refused, saying what is expected`, () => {
    const [problem, ...others] = problems(() => read({ [name]: text }));
    assert.match(problem ?? "", message);
    assert.ok(problem?.startsWith(`environment: ${name} must be `), problem);
    assert.deepEqual(others, []);
  });
}

test("all problems are reported at once, each with its place", () => {
  const found = problems(() => read({ SVC_API_PORT: "x" }, "SVC_LOG_LEVEL: loud\nSVC_API_PROT: 1\n"));
  assert.deepEqual(found, [
    "netgloss.yml:2:1: SVC_API_PROT is not a setting: is SVC_API_PORT meant?",
    'netgloss.yml:1:1: SVC_LOG_LEVEL must be one of debug, info, warn, error, silent, not "loud"',
    'environment: SVC_API_PORT must be an integer from 0 to 65535, not "x"',
  ]);
});

test("a name one or two edits from a known one is a mistake, a farther one a warning", () => {
  assert.match(problems(() => read({ SVC_API_PORTS: "1" }))[0] ?? "", /is SVC_API_PORT meant/);
  assert.match(problems(() => read({ SVC_API_BASIC_AUTH_PASWORD_FIL: "x" }))[0] ?? "", /PASSWORD_FILE meant/);
  const { unknown } = read({ SVC_OUTPUT_PIGEON_ENABLE: "true", SVC_REDIS_SERVICE_HOST: "10.0.0.1", PATH: "/bin" });
  assert.deepEqual(unknown, ["SVC_OUTPUT_PIGEON_ENABLE (environment)", "SVC_REDIS_SERVICE_HOST (environment)"]);
});

test("in a file, a name of another prefix is a mistake", () => {
  assert.deepEqual(
    problems(() => read({}, "port: 1\n")),
    ['netgloss.yml:1:1: "port" is not a setting'],
  );
});

test("a secret comes from a file, without the line feed at its end, and never shows", () => {
  const env = {
    SVC_API_BASIC_AUTH_ENABLE: "true",
    SVC_API_BASIC_AUTH_USERNAME: "admin",
    SVC_API_BASIC_AUTH_PASSWORD_FILE: "/run/secrets/password",
  };
  const reading = read(env, "SVC_API_BASIC_AUTH_PASSWORD: weaker\n", [], () => "hunter2\n");
  assert.equal(reading.settings.SVC_API_BASIC_AUTH_PASSWORD.reveal(), "hunter2");
  const shown = [
    JSON.stringify(reading.settings),
    String(reading.settings.SVC_API_BASIC_AUTH_PASSWORD),
    formatSettings(reading),
  ].join();
  assert.doesNotMatch(shown, /hunter2/);
  assert.match(formatSettings(reading), /# SVC_API_BASIC_AUTH_PASSWORD: hidden {2}# environment, file \/run\/secrets/);
});

test("a bad secret is not quoted, an unreadable file is named", () => {
  assert.deepEqual(
    problems(() => read({ SVC_API_BASIC_AUTH_PASSWORD: "a\u0007" })),
    ["environment: SVC_API_BASIC_AUTH_PASSWORD must be text"],
  );
  assert.match(
    problems(() => read({ SVC_API_BASIC_AUTH_PASSWORD_FILE: "/nowhere" }))[0] ?? "",
    /cannot read the file of SVC_API_BASIC_AUTH_PASSWORD: no such file: \/nowhere/,
  );
  assert.match(
    problems(() => read({ SVC_API_BASIC_AUTH_PASSWORD_FILE: "/x", SVC_API_BASIC_AUTH_PASSWORD: "y" }))[0] ?? "",
    /both set: keep one/,
  );
});

test("combinations that cannot work are refused", () => {
  assert.deepEqual(
    problems(() => read({ SVC_API_BASIC_AUTH_ENABLE: "true", SVC_API_TLS_ENABLE: "true" })),
    [
      "SVC_API_BASIC_AUTH_USERNAME must be set, because SVC_API_BASIC_AUTH_ENABLE is true",
      "SVC_API_BASIC_AUTH_PASSWORD must be set, because SVC_API_BASIC_AUTH_ENABLE is true",
      "SVC_API_TLS_CERT_FILEPATH must be set, because SVC_API_TLS_ENABLE is true",
      "SVC_API_TLS_KEY_FILEPATH must be set, because SVC_API_TLS_ENABLE is true",
    ],
  );
  assert.match(problems(() => read({ SVC_OUTPUT_FILE_ENABLE: "true" }))[0] ?? "", /SVC_OUTPUT_FILE_PATH must be set/);
});

test("what is probably not meant is a warning", () => {
  assert.match(read({}).warnings.join(), /no input is on/);
  assert.match(read({ SVC_FLOW_SERVER_UDP_ENABLE: "true" }).warnings.join(), /no output is on/);
});

test("the printed settings are a settings file that gives the same settings", () => {
  const env = { SVC_FLOW_SERVER_UDP_PORT: "1,2", SVC_OUTPUT_FILE_PATH: "/a b/#c: 'd\"", SVC_API_IP: "::1" };
  const first = read(env);
  const second = read({}, formatSettings(first));
  assert.deepEqual(second.settings, first.settings);
});

test("the flag of a setting is its name in lower case with dashes", () => {
  assert.equal(flagOf("SVC_API_PORT"), "--svc-api-port");
});
