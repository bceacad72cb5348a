// What a command costs until it has ended, against Node that does nothing. They take turns; the fastest of each counts, for
// whatever else the host does only adds.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { reportRow } from "../support/bench-report.ts";

const bin = join(import.meta.dirname, "../../../bin/netgloss.js");
const rounds = 15;
const commands: Readonly<Record<string, { readonly argv: readonly string[]; readonly code: number }>> = {
  "bare node": { argv: ["-e", "0"], code: 0 },
  "netgloss --help": { argv: [bin, "--help"], code: 0 },
  "netgloss version": { argv: [bin, "version"], code: 0 },
  "netgloss config print": { argv: [bin, "config", "print"], code: 0 },
  // Nobody listens on the discard port: what remains is the client.
  "netgloss udm list": { argv: [bin, "udm", "list", "--url", "http://127.0.0.1:9"], code: 6 },
  "netgloss udm get": { argv: [bin, "udm", "get", "192.0.2.1", "--url", "http://127.0.0.1:9"], code: 6 },
  "netgloss udm explain": { argv: [bin, "udm", "explain", "192.0.2.1", "--url", "http://127.0.0.1:9"], code: 6 },
  "netgloss serve --help": { argv: [bin, "serve", "--help"], code: 0 },
};

const fastest = new Map<string, number>();
for (let round = 0; round < rounds; round++) {
  for (const [what, { argv, code }] of Object.entries(commands)) {
    const begin = performance.now();
    const { status, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
    const ms = performance.now() - begin;
    if (status !== code) throw new Error(`${what} ended with ${status}: ${stderr}`);
    fastest.set(what, Math.min(fastest.get(what) ?? Infinity, ms));
  }
}
const bare = fastest.get("bare node") ?? Number.NaN;
for (const [what, value] of fastest) {
  if (what === "bare node") continue;
  reportRow({ what, value, unit: "ms", peer: { what: "bare node", value: bare }, goal: "≤ 150 ms" });
}
