// What the command line shows without a collector.
import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pageOf, tableRows } from "./files.js";
import { asText } from "./program.js";

/** Calls whose exit code and text scripts of users rely on. SCRATCH stands for a directory with the files named below. */
const calls = [
  "version",
  "no-such-command",
  "serve --no-such-option",
  "serve --config SCRATCH/missing.yml",
  "serve --svc-api-port 70000",
  "config",
  "config check --config SCRATCH/wrong.yml",
  "config check --config SCRATCH/unknown.env",
  "config check --strict --config SCRATCH/unknown.env",
  "config check --config SCRATCH/invalid.yml",
  "config print --config SCRATCH/wrong.yml",
  "config migrate SCRATCH/missing.yml",
  "config migrate --check SCRATCH/netobserv.env",
  "udm check SCRATCH/ipaddrs.yml",
  "udm check SCRATCH/faulty.yml",
  "udm check SCRATCH/missing.yml",
  "udm list --url http://127.0.0.1:1",
  "udm list --profile missing",
  "udm list --output nothing",
  "health --url http://127.0.0.1:1",
  "doctor --url http://127.0.0.1:1",
  "filter --check bytes>1",
  "filter --check bytes>",
  "filter --check no-such-field=1",
  "replay SCRATCH/missing.pcap",
  "replay SCRATCH/wrong.yml",
  "snmp check SCRATCH/definitions",
  "snmp check SCRATCH/faulty-definitions",
  "output test no-such-output",
  "output test http",
  "user list",
  "token create ci --role nobody",
  "completion no-such-shell",
  "fleet migrate",
  "udm migrate",
];

/**
 * @param {import("./program.js").Program} program
 * @param {string} tree
 * @param {string[]} captures
 * @param {(path: string, text: string) => void} put
 */
export async function describeCommands(program, tree, captures, put) {
  /** Writes the help of a command and of those below it. */
  const describeHelp = async (/** @type {string[]} */ command) => {
    const { code, out, errors } = await program.run([...command, "--help"]);
    put(`help/${["netgloss", ...command].join("-")}.txt`, `${out}${errors}exit code ${code}`);
    if (!/^Usage:.*\[command\]/m.test(out)) return;
    for (const [, name] of out.matchAll(/^ {2}([a-z][a-z-]*)(?: |$)/gm))
      if (name !== undefined && name !== "help") await describeHelp([...command, name]);
  };
  await describeHelp([]);
  for (const shell of ["bash", "zsh", "fish"])
    put(`completion/${shell}.txt`, (await program.run(["completion", shell])).out);

  writeFiles(program.scratch, tree);
  const texts = [];
  for (const call of calls) {
    const words = call.split(" ").map((word) => word.replace("SCRATCH", program.scratch));
    texts.push(asText(words, await program.run(words)));
  }
  put("calls.txt", texts.join("\n"));

  put("config-print/defaults.txt", (await program.run(["config", "print"])).out);
  const print = ["config", "print", "--config", join(program.scratch, "examples.env")];
  put("config-print/examples.txt", asText(print, await program.run(print)));
  const migrate = ["config", "migrate", join(program.scratch, "netobserv.env")];
  put("config-migrate.txt", asText(migrate, await program.run(migrate)));

  for (const capture of captures) {
    const { code, out, errors } = await program.run(["replay", capture]);
    const records = out.split("\n").map((line) => (line === "" ? line : fieldsOf(line)));
    put(`replay/${basename(capture)}.txt`, `${records.join("\n")}${errors}exit code ${code}`);
  }
}

/** The fields of a record, one a line and sorted, as they are written. */
function fieldsOf(/** @type {string} */ line) {
  const fields = line.slice(1, -1).split(/,(?="[^"]+":)/);
  return `${fields.sort().join("\n")}\n`;
}

/** Settings that others with an example cannot do without. */
const needed = [
  "SVC_API_TLS_ENABLE=true",
  "SVC_FLEET_POSTGRESQL_URL=postgresql://netgloss@db.example.com/netgloss",
  "SVC_INPUT_SNMP_ENABLE=true",
  "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE=true",
];

function writeFiles(/** @type {string} */ scratch, /** @type {string} */ tree) {
  const write = (/** @type {string} */ name, /** @type {string} */ text) => writeFileSync(join(scratch, name), text);
  write("wrong.yml", "SVC_API_PORT: 70000\nSVC_API_TLS_ENABLE: perhaps\nSVC_API_PROT: 8080\n");
  write("unknown.env", "SVC_SOMETHING_ELSE=1\nSVC_API_PORT=0\n");
  write("invalid.yml", "SVC_API_PORT: [\n");
  write("ipaddrs.yml", "10.0.0.0/8:\n  name: office\n  tags: [wired]\n  metadata:\n    .site: AMS\n");
  write("faulty.yml", "10.0.0.0/33:\n  name: office\n10.0.0.1:\n  vlan: many\n  tgas: [x]\n");
  // Each setting of the table with its example, and each name of NetObserv that takes a value.
  const rows = tableRows(pageOf(tree, "settings.md")).map((row) => row.split(/(?<!\\) \| /));
  const examples = rows.flatMap(([name = "", , , , example = ""]) => {
    const value = /^`(.+)` \|$/.exec(example)?.[1];
    return /^\| `SVC_\w+`$/.test(name) && value !== undefined ? [`${name.slice(3, -1)}=${value}`] : [];
  });
  write("examples.env", `${[...needed, ...examples].join("\n")}\n`);
  const theirs = tableRows(pageOf(tree, "netobserv-settings.md")).flatMap((row) => {
    const [, name, value] = /^\| `([A-Z][A-Z0-9_]+)` \| (?:`([^`]*)`)? ?\|/.exec(row) ?? [];
    return name === undefined ? [] : [`EF_${name}=${value ?? "1"}\n`];
  });
  write("netobserv.env", theirs.join(""));
}
