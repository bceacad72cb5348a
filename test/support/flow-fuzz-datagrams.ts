import {
  fields,
  ipv4,
  uint,
  netflow9,
  netflow9Templates,
  dataSet,
  ipfix,
  ipfixTemplates,
} from "../../packages/testkit/index.ts";
import { goldenCases } from "../flow/golden-cases.ts";
import { referenceData } from "./reference-data.ts";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What an exporter sends that does everything right: templates, options with a rate, a list, data. */
export function goodDatagrams(): Buffer[] {
  const simple = { id: 256, fields: fields([8, 4], [12, 4], [1, 4]) };
  const list = { id: 257, fields: fields([8, 4], [292, "variable"]) };
  const record = [ipv4("192.0.2.1"), ipv4("198.51.100.2"), uint(1500, 4)];
  return [
    netflow9([netflow9Templates(simple), dataSet(simple, record, record)], { domain: 900 }),
    ipfix([ipfixTemplates(simple, list)], { domain: 901 }),
    ipfix(
      [
        dataSet(simple, record),
        dataSet(list, [ipv4("192.0.2.1"), Buffer.concat([uint(3, 1), uint(256, 2), ...record, ...record])]),
      ],
      { domain: 901 },
    ),
  ];
}

/** Those of the golden cases, and recordings where they are at hand. */
export function realDatagrams(): Buffer[] {
  const golden = goldenCases.flatMap(([, sent]) => sent.map((each) => ("bytes" in each ? each.bytes : each)));
  const recordings = ["flow/vendors", "flow/telegraf"].flatMap((folder) => {
    const { path, skip } = referenceData(folder);
    if (skip !== false) return [];
    const names = readdirSync(path, { recursive: true, encoding: "utf8" });
    return names.filter((name) => /\.(dat|bin)$/.test(name)).map((name) => readFileSync(join(path, name)));
  });
  return [...golden, ...recordings].filter((bytes) => bytes.length > 0 && bytes.length <= maxReal);
}

const maxReal = 9000;
