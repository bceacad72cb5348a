import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSettingsFile, refuseForeignFile } from "../../src/app/index.ts";

const given = (source: string): [string, string, string][] =>
  parseSettingsFile("f.yml", source).map(({ name, text, origin }) => [name, text, origin]);

test("values are taken as they are spelt", () => {
  assert.deepEqual(given("A: 0123\nB: 'x # y'\nC: \"a\\tb\"\nD: yes\nE: 1e3\n"), [
    ["A", "0123", "f.yml:1:1"],
    ["B", "x # y", "f.yml:2:1"],
    ["C", "a\tb", "f.yml:3:1"],
    ["D", "yes", "f.yml:4:1"],
    ["E", "1e3", "f.yml:5:1"],
  ]);
});

test("null is the empty text, quoted null is not", () => {
  assert.deepEqual(
    given("A:\nB: ~\nC: null\nD: 'null'\n").map(([, text]) => text),
    ["", "", "", "null"],
  );
});

test("a list may be a sequence", () => {
  assert.deepEqual(
    given("A: [1, 2]\nB:\n  - 3\n  - 4\nC: []\nD: 5\n").map(([name, text]) => [name, text]),
    [
      ["A", "1,2"],
      ["B", "3,4"],
      ["C", ""],
      ["D", "5"],
    ],
  );
});

test("of a Compose file the variables of its services are taken", () => {
  const source = `version: "3"
x-common: &common
  EF_LICENSE_ACCEPTED: "true"
services:
  flow:
    image: example/flow
    environment:
      <<: *common
      EF_FLOW_SERVER_UDP_PORT: 9995
      EF_API_BASIC_AUTH_PASSWORD: 'a$$b'
      EF_LOGGER_LEVEL:
      TZ: Europe/Amsterdam
  snmp:
    environment:
      - EF_INSTANCE_NAME=a=b
      - "SVC_API_PORT=8081"
      - EF_FROM_SHELL
  other: {image: x}
`;
  assert.deepEqual(given(source), [
    ["EF_FLOW_SERVER_UDP_PORT", "9995", "f.yml:9:7"],
    ["EF_API_BASIC_AUTH_PASSWORD", "a$b", "f.yml:10:7"],
    ["EF_LOGGER_LEVEL", "", "f.yml:11:7"],
    ["EF_LICENSE_ACCEPTED", "true", "f.yml:3:3"],
    ["EF_INSTANCE_NAME", "a=b", "f.yml:15:9"],
    ["SVC_API_PORT", "8081", "f.yml:16:9"],
    ["EF_FROM_SHELL", "", "f.yml:17:9"],
  ]);
});

/** The variable `EF_A` of a Compose file in the folder `p`, beside it other files. */
function filled(value: string, env: Record<string, string> = {}, files: Record<string, string> = {}) {
  const source = `services:\n  a:\n    environment: {EF_A: '${value}'}\n`;
  const read = (path: string): string | undefined => files[path];
  const [first] = parseSettingsFile("p/f.yml", source, { env, read });
  return first?.unfilled ?? first?.text;
}

test("variables of Compose are filled in by its rules: from the shell, then from .env beside the file", () => {
  const env = { SHELL: "s", EMPTY: "", BOTH: "shell" };
  const files = { "p/.env": "# comment\nexport DOT='d e'\nBOTH=dot\nnonsense\n" };
  const expected: Record<string, string> = {
    $SHELL: "s",
    "${SHELL}-$DOT$$SHELL": "s-d e$SHELL",
    "${BOTH}": "shell",
    "${NONE:-x}": "x",
    "${NONE-x}": "x",
    "${EMPTY:-x}": "x",
    "${EMPTY-x}": "",
    "${EMPTY}": "",
    "${SHELL:-x}": "s",
    "${NONE:-a${DOT}b${NONE:-c}}": "ad ebc",
    "${SHELL:+x}|${EMPTY:+x}|${EMPTY+x}|${NONE+x}": "x||x|",
    "${SHELL:?why}": "s",
    "127.0.0.1:${PORT:-9200}": "127.0.0.1:9200",
    "5$": "5$",
    "cost: $5": "cost: $5",
    "${NONE}": "${NONE} has no value, neither in the environment nor in .env",
    a$NONE: "${NONE} has no value, neither in the environment nor in .env",
    "${EMPTY:?set it in ${DOT}}": "${EMPTY} has no value: set it in d e",
    "${NONE?}": "${NONE} has no value: ",
    "${9}": "what stands in its ${…} is not a variable of Compose",
    "${constructor:-x}": "x",
    [`${"${A:-".repeat(5000)}x${"}".repeat(5000)}`]: "variables lie in each other more than 32 deep",
  };
  for (const [value, text] of Object.entries(expected)) assert.equal(filled(value, env, files), text, value);
});

test("files that env_file names are read where the service itself says nothing else; one that is not there is named", () => {
  const source = `services:
  a:
    env_file:
      - one.env
      - path: two.env
        required: false
      - three.env
      - \${FOLDER}/four.env
    environment: {EF_B: 9, EF_FROM_SHELL: }
`;
  const files: Record<string, string> = {
    "p/one.env": "EF_A=0\nEF_B=2\nOTHER=3\n",
    "/x/four.env": "EF_A=${OTHER}${FOLDER:-y}\nEF_C='$A'\nEF_D=\"$EF_A\\$$$\"\nEF_E=$NONE\nOTHER=4\nEF_F=${OTHER}\n",
  };
  const surroundings = { env: { EF_FROM_SHELL: "s", OTHER: "o", FOLDER: "/x" }, read: (path: string) => files[path] };
  assert.deepEqual(
    parseSettingsFile("p/f.yml", source, surroundings).map(({ name, text, origin, unfilled }) => [
      name,
      text,
      origin,
      unfilled,
    ]),
    [
      ["env_file", "", "p/f.yml:7:9", "there is no file three.env"],
      ["EF_A", "o/x", "p/f.yml:8:9", undefined],
      ["EF_C", "$A", "p/f.yml:8:9", undefined],
      ["EF_D", "o/x$$", "p/f.yml:8:9", undefined],
      ["EF_E", "", "p/f.yml:8:9", "${NONE} has no value, neither in the environment nor in .env"],
      ["EF_F", "o", "p/f.yml:8:9", undefined],
      ["EF_B", "9", "p/f.yml:9:19", undefined],
      ["EF_FROM_SHELL", "s", "p/f.yml:9:28", undefined],
    ],
  );
});

test("settings are found in manifests of Kubernetes and values of Helm, with their places", () => {
  const manifests = `---
apiVersion: v1
kind: ConfigMap
data: {EF_A: "1", other: "2"}
---
apiVersion: v1
kind: Secret
data: {EF_PASSWORD: ${Buffer.from("p#1").toString("base64")}}
---
apiVersion: apps/v1
kind: Deployment
spec:
  containers:
    - name: EF
      env:
        - {name: EF_B, value: "x"}
        - name: EF_C
          valueFrom: {secretKeyRef: {name: s, key: k}}
        - {name: TZ, value: UTC}
`;
  const readAll = (source: string) =>
    parseSettingsFile("m.yml", source).map(({ name, text, origin, unfilled }) => [name, unfilled ?? text, origin]);
  assert.deepEqual(readAll(manifests), [
    ["EF_A", "1", "m.yml:4:8"],
    ["EF_PASSWORD", "p#1", "m.yml:8:8"],
    ["EF_B", "x", "m.yml:16:11"],
    ["EF_C", "another object of Kubernetes has its value", "m.yml:17:11"],
  ]);
  const values = `collector:
  env: {EF_A: true, EF_B: "{{ .Values.x }}"}
  extra: ["EF_C=3", name=x]
  list: {EF_D: [1, 2], EF_E: {valueFrom: {secretKeyRef: {name: s, key: k}}}}
`;
  assert.deepEqual(readAll(values), [
    ["EF_A", "true", "m.yml:2:9"],
    ["EF_B", "a template of Helm fills it in", "m.yml:2:21"],
    ["EF_C", "3", "m.yml:3:11"],
    ["EF_D", "1,2", "m.yml:4:10"],
    ["EF_E", "another object of Kubernetes has its value", "m.yml:4:24"],
  ]);
  assert.throws(() => readAll("env:\n  EF_A: {b: 1}\n"), {
    message: "m.yml:2:9: expected a scalar: a text, number, true or false",
  });
});

test("files of settings in a ConfigMap or Secret are read as files, with their places in them", () => {
  const encoded = Buffer.from("EF_C=3\n").toString("base64");
  const source = `apiVersion: v1
kind: ConfigMap
data:
  flowcoll.yml: |
    EF_A: [1, 2]
  collector.env: |
    # comment
    EF_B=2
    OTHER=3
  metadata.yml: |
    192.0.2.1: {name: EF_A}
---
apiVersion: v1
kind: Secret
data: {secret.env: ${encoded}}
`;
  assert.deepEqual(
    parseSettingsFile("m.yml", source).map(({ name, text, origin }) => [name, text, origin]),
    [
      ["EF_A", "1,2", "m.yml:flowcoll.yml:1:1"],
      ["EF_B", "2", "m.yml:collector.env:2"],
      ["EF_C", "3", "m.yml:secret.env:1"],
    ],
  );
  assert.throws(() => given("apiVersion: v1\nkind: ConfigMap\ndata:\n  a.yml: |\n    EF_A: [1\n"), /f\.yml:a\.yml:2:1/);
});

test("files of other collectors lead to the page that says what their settings are called here", () => {
  const of: Record<string, [page: string, files: string[]]> = {
    Akvorado: [
      "docs/change-over.md#akvorado",
      [
        "---\nkafka:\n  topic: flows\nclickhousedb:\n  servers:\n    - clickhouse:9000\ninlet:\n  - flow:\n      inputs: []\n",
        "services:\n  inlet:\n    image: ghcr.io/akvorado/akvorado:latest\n    command: inlet\n",
        "clickhouse:\n  asns:\n    64501: ACME\n",
      ],
    ],
    Telegraf: [
      "docs/change-over.md#telegraf",
      ['[agent]\n  interval = "10s"\n[[inputs.netflow]]\n  service_address = "udp://:2055"\n'],
    ],
    pmacct: [
      "docs/change-over.md#pmacct",
      [
        "! comment\ndaemonize: true\nplugins: print[a], kafka[b]\naggregate[a]: src_host, dst_host\n",
        "nfacctd_port: 2100\nnfacctd_ip: 0.0.0.0\n",
      ],
    ],
    goflow2: [
      "docs/change-over.md#goflow2",
      [
        "formatter:\n  fields:\n    - type\n    - time_received_ns\n",
        "services:\n  goflow2:\n    image: netsampler/goflow2\n    command: [-transport.file, x]\n",
        "ExecStart=/usr/bin/goflow2 -listen sflow://:6343 -transport file\n",
      ],
    ],
    nfdump: [
      "docs/change-over.md#nfdump",
      ["options='-l /var/cache/nfdump -p 2055'\n", "ExecStart=/usr/bin/nfcapd -D -w /data\n"],
    ],
    "ntopng or nProbe": [
      "docs/change-over.md#ntopng-and-nprobe",
      ["-i=tcp://127.0.0.1:5556\n-m=10.0.0.0/8\n", "--zmq=tcp://*:5556\n--collector-port=2055\n"],
    ],
    snmp_exporter: [
      "docs/change-over.md#snmp_exporter",
      ["auths:\n  public_v2:\n    community: public\n    version: 2\nmodules:\n  if_mib:\n    walk: [1.3.6.1.2.1.2]\n"],
    ],
  };
  for (const [name, [page, files]] of Object.entries(of)) {
    for (const source of files) {
      assert.throws(() => refuseForeignFile("x.conf", source), {
        name: "SettingsError",
        message: `x.conf is a configuration of ${name}, which is not read as it is: ${page} says what its settings are called here`,
      });
    }
  }
  for (const source of [
    "SVC_API_PORT: 1\nplugins: a\naggregate: b\n",
    "EF_A=1 # after goflow2 -listen\n",
    "",
    "# nothing\n",
  ]) {
    refuseForeignFile("x.conf", source);
  }
});

test("an empty file, one of comments and an empty document set nothing", () => {
  for (const source of ["", "# nothing\n", "---\n", "---\n...\n"]) assert.deepEqual(given(source), [], source);
});

const broken: [string, string, RegExp][] = [
  ["a syntax error", "A: [1\nB: 2\n", /^f\.yml:2:1: /],
  ["a tab as indentation", "A:\n\t- 1\n", /^f\.yml:2:/],
  ["a list at the top", "- A\n", /^f\.yml:1:1: expected a mapping/],
  ["a mapping as value", "A: 1\nB: {c: d}\n", /^f\.yml:2:4: expected a scalar/],
  ["a list in a list", "A: [[1]]\n", /^f\.yml:1:5: expected a scalar/],
  ["an alias without an anchor", "A: 1\nB: *x\n", /^f\.yml:2:4: alias \*x has no anchor/],
  ["a name twice", "A: 1\nB: 2\nA: 3\n", /^f\.yml:3:1: key "A" is given twice, first at line 1, column 1$/],
  ["a comma within a value of a list", "A: ['1,2']\n", /^f\.yml:1:\d+: a comma/],
  ["two documents", "A: 1\n---\nB: 2\n", /^f\.yml:3:1: a second document/],
];

for (const [what, source, message] of broken) {
  test(`${what} is refused with its place`, () => {
    assert.throws(() => parseSettingsFile("f.yml", source), { name: "SettingsError", message });
  });
}

test("any text is read or refused, never something else", () => {
  for (const source of [
    "\u0000",
    "? [a]: b",
    "!!binary A: x",
    "A: |\n  x\n",
    "%YAML 9.9\n---\nA: 1",
    "A: !!str 1",
    "\uFEFFA: 1",
  ]) {
    try {
      parseSettingsFile("f.yml", source);
    } catch (error) {
      assert.equal((error as Error).name, "SettingsError", source);
    }
  }
});
