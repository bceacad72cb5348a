import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { createMetrics, systemClock } from "../../src/base/report/index.ts";
import { DefinitionsLoader, definitionPathsIn, formatFinding, type LoadOutcome } from "../../src/snmp/index.ts";
import { tempDirectory } from "./temp-directory.ts";

/** Files by path; a value of undefined takes a file of the base away. */
export type Files = Readonly<Record<string, string | undefined>>;

/** A small set without a finding: one device, two tables of which one augments the other, one scalar group. */
export const baseFiles: Files = {
  "defaults/object_types.yml": "dynamic:\n  poll_interval: 60\nstable:\n  poll_interval: 3600\n",
  "enums/integer/if.yml": ".1.3.6.1.2.1.2.2.1.8:\n  1: 'up'\n  2: 'down'\n",
  "enums/bitmap/sys.yml": "# nothing yet\n",
  "enums/oid/sys.yml": "",
  "autodiscover/sysoids/all.yml": ".1.3.6.1.4.1.9.1: router\n",
  "objects/if.yml": `IF-MIB::ifTable:
  type: dynamic
  index:
    - type: Integer
      oid: .1.3.6.1.2.1.2.2.1.1
      name: netif
      syntax: InterfaceIndex
  discovery_attribute: ifDescr
  attributes:
    ifDescr:
      oid: .1.3.6.1.2.1.2.2.1.2
      name: netif.descr
      syntax: DisplayString
      tag: true
    ifOperStatus:
      oid: .1.3.6.1.2.1.2.2.1.8
      name: netif.state.oper
      syntax: EnumInteger
    ifInOctets:
      oid: .1.3.6.1.2.1.2.2.1.10
      name: netif.bytes.in
      syntax: Counter32
      metric: counter

IF-MIB::ifXTable:
  type: dynamic
  augments: IF-MIB::ifTable
  attributes:
    ifName:
      oid: .1.3.6.1.2.1.31.1.1.1.1
      name: netif.name
      syntax: DisplayString
      tag: true
    ifHCInOctets:
      oid: .1.3.6.1.2.1.31.1.1.1.6
      name: netif.bytes.in
      syntax: Counter64
      metric: counter
      overrides:
        object: IF-MIB::ifTable
        attribute: ifInOctets
`,
  "objects/sys.yaml": `SNMPv2-MIB::system:
  type: stable
  attributes:
    sysUpTime:
      oid: .1.3.6.1.2.1.1.3
      name: system.uptime
      syntax: TimeTicks
      rediscover: OnReset
`,
  "object_groups/all.yml": `netif:
  objects:
    - IF-MIB::ifTable
    - IF-MIB::ifXTable
system:
  objects:
    - SNMPv2-MIB::system
`,
  "device_groups/all.yml":
    "generic:\n  object_groups:\n    - system\nrouter:\n  object_groups:\n    - system\n    - netif\n",
  "devices/lab.yml": "r1:\n  ip: 192.0.2.1\n  communities: [sesame]\n  device_groups:\n    - router\n",
};

/** A directory of definition files that is gone after the test. */
export class DefinitionTree {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  static async make(t: TestContext, changes: Files = {}): Promise<DefinitionTree> {
    const tree = new DefinitionTree(tempDirectory(t));
    await tree.write({ ...baseFiles, ...changes });
    return tree;
  }

  async write(files: Files): Promise<void> {
    for (const [path, text] of Object.entries(files)) {
      const file = join(this.directory, path);
      await mkdir(dirname(file), { recursive: true });
      if (text === undefined) await rm(file, { force: true });
      else await writeFile(file, text);
    }
  }

  /** One load by a loader of its own. */
  async load(mode: "start" | "apply" = "start"): Promise<LoadOutcome> {
    const paths = definitionPathsIn(this.directory);
    return new DefinitionsLoader({ paths, metrics: createMetrics(), clock: systemClock }).load(mode);
  }

  /** Findings as text, paths below the directory. */
  format(outcome: LoadOutcome): string[] {
    return outcome.findings.map(
      (finding) => `${finding.severity}: ${formatFinding(finding).replaceAll(`${this.directory}/`, "")}`,
    );
  }
}
