// The Helm chart: linted, and what it makes of its values judged by the schemas of Kubernetes and by netgloss itself.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { parseAllDocuments } from "yaml";
import { requireProgram } from "../../support/require-program.ts";
import { tempDirectory } from "../../support/temp-directory.ts";

const root = join(import.meta.dirname, "../../../..");
const chart = join(root, "packaging/helm/netgloss");

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

const cases = {
  "as it is": "",
  "with all that can be asked for": `
replicas: 3
settings: { SVC_API_BASIC_AUTH_ENABLE: true, SVC_API_BASIC_AUTH_USERNAME: operator }
secrets:
  - { setting: SVC_API_BASIC_AUTH_PASSWORD, secret: netgloss-api, key: password }
  - { setting: SVC_OUTPUT_KAFKA_SASL_PASSWORD, secret: netgloss-api, key: kafka }
serviceMonitor: { enabled: true, labels: { release: prometheus } }
persistence: { storageClass: fast, size: 50Gi }
flows: { type: NodePort, annotations: { a: b } }
image: { repository: registry.example.com/netgloss, tag: "1", pullSecrets: [{ name: registry }] }
podAnnotations: { a: b }
podLabels: { team: noc }
nodeSelector: { disk: ssd }
tolerations: [{ key: flows, operator: Exists }]
topologySpreadConstraints:
  - { maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: { matchLabels: { team: noc } } }
`,
  "without what can be left out": `
persistence: { enabled: false }
podDisruptionBudget: { enabled: false }
flows: { type: ClusterIP }
`,
};

function helm(t: TestContext): string | undefined {
  return requireProgram(t, "helm", "go install helm.sh/helm/v3/cmd/helm@v3.22.0");
}

function run(program: string, args: readonly string[]): { status: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  return { status, said: `${stdout}${stderr}` };
}

for (const [name, values] of Object.entries(cases)) {
  test(`the chart, ${name}: Kubernetes takes what it makes, and netgloss the settings in it`, (t) => {
    const program = helm(t);
    const hint = "pip install kubernetes-validate==1.37.0";
    const validate = program === undefined ? undefined : requireProgram(t, "kubernetes-validate", hint);
    if (program === undefined || validate === undefined) return;
    const directory = tempDirectory(t);
    const valuesPath = join(directory, "values.yaml");
    writeFileSync(valuesPath, values);
    const lint = run(program, ["lint", "--strict", chart, "--values", valuesPath]);
    assert.equal(lint.status, 0, lint.said);
    const made = run(program, ["template", "mine", chart, "--kube-version", "1.31.0", "--values", valuesPath]);
    assert.equal(made.status, 0, made.said);
    const path = join(directory, "made.yaml");
    writeFileSync(path, made.said);
    const judged = run(validate, ["--kubernetes-version", "1.31", "--strict", path]);
    assert.equal(judged.status, 0, judged.said);

    const resources = parseAllDocuments(made.said).map((one) => one.toJS() as Resource);
    const known = resources.filter(({ kind }) => kind !== "ServiceMonitor");
    assert.equal(judged.said.match(/ passed for resource /g)?.length, known.length, judged.said);
    const settings = resources.find(({ kind }) => kind === "ConfigMap")?.data?.["netgloss.yml"] ?? "";
    assert.match(settings, /SVC_FLOW_SERVER_UDP_ENABLE: true/);
    // In the pod these paths are there.
    const secrets = join(directory, "etc/netgloss/secrets/netgloss-api");
    mkdirSync(secrets, { recursive: true });
    for (const key of ["password", "kafka"]) writeFileSync(join(secrets, key), "secret\n");
    const settingsPath = join(directory, "netgloss.yml");
    const state = join(directory, "state");
    mkdirSync(state);
    const moved = settings
      .replaceAll("/var/lib/netgloss", state)
      .replaceAll("/etc/netgloss", join(directory, "etc/netgloss"));
    writeFileSync(settingsPath, moved);
    const netgloss = [
      join(root, "bin/netgloss.js"),
      "config",
      "check",
      "--strict",
      "--running",
      "--config",
      settingsPath,
    ];
    const checked = run(process.execPath, netgloss);
    assert.equal(checked.status, 0, checked.said);
  });
}

test("the chart refuses values that cannot be right", (t) => {
  const program = helm(t);
  if (program === undefined) return;
  const refused = [
    ["replicas=many", /replicas/],
    ["settings.svc_api_port=8080", /svc_api_port/],
    ["flows.type=Nothing", /flows\/type/],
    ["secrets[0].setting=X", /secrets\/0/],
    ["nonsense=1", /nonsense/],
  ] as const;
  for (const [value, expected] of refused) {
    const args = ["template", "mine", chart, "--kube-version", "1.31.0", "--set", value];
    const { status, said } = run(program, args);
    assert.notEqual(status, 0, value);
    assert.match(said, expected);
  }
});
