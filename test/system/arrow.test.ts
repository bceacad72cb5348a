// The page docs/arrow.md, run as it is written, by the readers that its users have.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess } from "../support/collector-process.ts";
import { startPartner } from "../support/partner.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";
import { openNumberedFlows } from "./ledger/numbered-flows.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../../..");
const page = readFileSync(join(root, "docs/arrow.md"), "utf8");

/** Says of a stream what its metadata and its batches are; every buffer is looked at. */
const judge = `
import json, pyarrow, urllib.request
reader = pyarrow.ipc.open_stream(urllib.request.urlopen("URL"))
rows, notes, tables = 0, [], []
while True:
    try: batch, metadata = reader.read_next_batch_with_custom_metadata()
    except StopIteration: break
    batch.validate(full=True)
    rows += batch.num_rows
    tables.append(batch)
    if metadata: notes.append(json.loads(metadata[b"tail"]))
table = pyarrow.Table.from_batches(tables)
print(json.dumps({
    "rows": rows,
    "passed": sum(note["passed"] for note in notes),
    "types": {name: str(table.schema.field(name).type) for name in ["@timestamp", "flow.bytes", "flow.src.ip.addr", "flow.src.ip.subnet.tags", "rest"]},
    "address": sorted(set(table["flow.export.ip.addr"].to_pylist())),
    "rest": sorted(json.loads(table["rest"][0].as_py())),
}))
`;

test("docs/arrow.md: curl, pyarrow and Polars read answers and flows as they go by", async (t) => {
  const { python } = await startPartner(t, "python");
  const directory = tempDirectory(t);
  const collector = await startCollectorProcess({
    settings: {
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_EXPLORE_ENABLE: "true",
      SVC_EXPLORE_PATH: join(directory, "explore"),
    },
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  const flows = await openNumberedFlows();
  cleanUp(t, () => flows.close());
  const over = new AbortController();
  const sending = (async () => {
    for (let n = 0; !over.signal.aborted; n += 3000) await flows.send(collector.flowPort, n, 3000, 3000);
  })();
  cleanUp(t, async () => {
    over.abort();
    await sending;
  });
  await until("Explore keeps flows", async () => ((await collector.metric("netgloss_explore_rows_total")) ?? 0) > 0);

  const host = new URL(collector.api).host;
  const blocks = Array.from(page.matchAll(/^```(sh|python)\n([^]*?)^```\n/gm), ([, language, text = ""]) => ({
    language,
    text: text.replaceAll("127.0.0.1:8080", host),
  }));
  assert.deepEqual(
    blocks.map(({ language }) => language),
    ["sh", "python", "sh", "python", "python"],
  );
  const printed: string[] = [];
  for (const { language, text } of blocks) {
    const args: [string, string[]] = language === "sh" ? ["sh", ["-euc", text]] : [String(python), ["-c", text]];
    printed.push((await run(...args, { cwd: directory })).stdout);
  }
  const [, answer = "", , sums = "", batches = ""] = printed;
  assert.match(answer, /datetime\[ns, UTC\][^]*\(total\)/);
  assert.match(sums, /^\[\{'flow\.export\.ip\.addr': '127\.0\.0\.1', 'flow\.bytes_sum': \d+\}\]\n$/);
  const rows = batches.trimEnd().split("\n");
  assert.ok(rows.every((row) => row.endsWith(" ['flow.src.ip.addr', 'flow.bytes']")));
  assert.equal(
    rows.reduce((sum, row) => sum + Number.parseInt(row, 10), 0),
    500,
  );

  const url = `${collector.api}/api/v1/flow/tail?format=arrow&rate=10000&limit=5000&notes=true`;
  const { stdout } = await run(String(python), ["-c", judge.replace("URL", url)]);
  const { rest, ...found } = JSON.parse(stdout) as Record<string, unknown>;
  assert.deepEqual(found, {
    rows: 5000,
    passed: 5000,
    types: {
      "@timestamp": "timestamp[ns, tz=UTC]",
      "flow.bytes": "uint64",
      "flow.src.ip.addr": "string",
      "flow.src.ip.subnet.tags": "list<item: string>",
      rest: "string",
    },
    address: ["127.0.0.1"],
  });
  assert.ok((rest as string[]).length > 0);
});
