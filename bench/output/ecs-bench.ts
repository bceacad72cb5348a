// What the names of the Elastic Common Schema cost a record, next to copying its line, to parsing and writing it again, and to decoding it.
import { createLineRenamer } from "../../src/output/index.ts";
import { ecsName, ecsNames } from "../../src/record/index.ts";
import { reportRow } from "../support/bench-report.ts";
import { median } from "../support/median.ts";
import { decodeLines, type Lines } from "./delivery-lines.ts";

const rounds = 7;
const { lines, nanoseconds } = decodeLines();
const count = lines.reduce((sum, one) => sum + one.count, 0);
const rename = createLineRenamer(ecsNames);
/** The same without one of some fields each, as of many templates that take turns. */
const mixed = lines.map(({ bytes, count: records }, piece) => {
  const text = Buffer.from(bytes).toString();
  const fewer = text.replaceAll(/^\{.*\}$/gm, (line, at: number) => withoutField(line, 2 + ((at + piece) % 8)));
  return { bytes: Buffer.from(fewer), count: records };
});
const renameMixed = createLineRenamer(ecsNames);

const ways = {
  rename: ({ bytes }: Lines): unknown => rename(bytes),
  mixed: (_: Lines, piece: number): unknown => renameMixed(mixed[piece]?.bytes ?? new Uint8Array()),
  copy: ({ bytes }: Lines): unknown => Uint8Array.prototype.slice.call(bytes),
  objects: ({ bytes }: Lines): unknown =>
    Buffer.from(bytes)
      .toString()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => Object.entries(JSON.parse(line) as object).map(([name, value]) => [ecsName(name), value]))
      .map((fields) => JSON.stringify(Object.fromEntries(fields))),
};

const figures: Record<keyof typeof ways, number[]> = { rename: [], mixed: [], copy: [], objects: [] };
// They take turns: the machine is the same for all.
for (let round = 0; round <= rounds; round++) {
  for (const [name, way] of Object.entries(ways) as [keyof typeof ways, (of: Lines, piece: number) => unknown][]) {
    const start = process.cpuUsage();
    for (const [piece, one] of lines.entries()) way(one, piece);
    const { user, system } = process.cpuUsage(start);
    if (round > 0) figures[name].push(((user + system) * 1000) / count);
  }
}

const value = median(figures.rename);
const report = (what: string, peer: number): void =>
  reportRow({ what: "renaming the fields of a line", value, unit: "ns/record", peer: { what, value: peer } });
report("copying it", median(figures.copy));
report("parsing and writing it", median(figures.objects));
report("decoding it, NetFlow v9 without metadata", nanoseconds);
reportRow({
  what: "renaming lines without one field or another",
  value: median(figures.mixed),
  unit: "ns/record",
  peer: { what: "renaming lines of one template", value },
});

function withoutField(line: string, index: number): string {
  const fields = line.slice(1, -1).split(/,(?=")/);
  return `{${fields.filter((_, i) => i !== index).join(",")}}`;
}
