import assert from "node:assert/strict";
import { test } from "node:test";
import { bulkBody } from "../../../src/output/search/search-output.ts";

test("each line stands behind its action: the index that it goes to, and the identity of its record", () => {
  const positions = [0, 9, 10, 35, 36, 1295, 1296, 46_655, 46_656, 2 ** 31 + 1];
  const lines = positions.map((position) => `{"n":${position}}`);
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  const shared = Buffer.from(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  const batch = {
    id: { instance: "k3v9x2q0m1ab", number: 100 },
    chunks: [shared.subarray(0, 16), shared.subarray(16)],
    count: positions.length,
    byteLength: bytes.length,
    oldestAt: 0,
    positions,
  };
  const names = ["flows", "a-name-that-is-longer-than-all-that-was-reckoned-with-and-comes-for-each-record".repeat(3)];
  const nameOf = (line: string): string => names[line.length % 2] ?? "";
  const body = bulkBody(batch, (memory, from, to) => nameOf(memory.toString("latin1", from, to)));
  const wanted = lines.flatMap((line, i) => [
    { create: { _index: nameOf(line), _id: `k3v9x2q0m1ab-2s-${positions[i]?.toString(36)}` } },
    JSON.parse(line) as unknown,
  ]);
  const text = Buffer.from(body).toString();
  assert.ok(text.endsWith("\n"));
  assert.deepEqual(
    text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown),
    wanted,
  );
});
