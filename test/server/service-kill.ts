// A collector under writes by REST and gRPC is killed at any moment: what it had answered is in the file, and of what it had
// not answered all or nothing.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { parse } from "yaml";
import { metadataSettings, startCollectorProcess, type CollectorProcess } from "../support/collector-process.ts";
import { until } from "../support/until.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { createUdmClient, type UdmClient } from "./udm-clients.ts";

const clients = 4;
/** Of each client; a batch writes one name to all of them. */
const keysOfClient = ["10", "11", "12"];

/** The names that the keys of a client may have: those of the last answered batch, or of the one that was under way. */
interface Expected {
  answered: string;
  underWay: string;
}

/** @returns what was done in all. */
export async function killRounds(
  t: TestContext,
  rounds: number,
): Promise<{ answered: number; keptUnanswered: number }> {
  const path = join(tempDirectory(t), "ipaddrs.yml");
  const expected: Expected[] = Array.from({ length: clients }, () => ({ answered: "", underWay: "" }));
  let answered = 0;
  let keptUnanswered = 0;
  for (let round = 0; round < rounds; round++) {
    const collector = await startCollectorProcess({ settings: metadataSettings(path) });
    await sameAsServed(collector, path);
    const port = Number(new URL(collector.api).port);
    const lanes = expected.map(async (state, client) => {
      const kind = client % 2 === 0 ? "REST HTTP/1.1" : "gRPC by grpc-js";
      const by = createUdmClient(kind, { port, ca: undefined, prefix: "" });
      await writeUntilGone(by, client, state, round, () => void answered++);
      by.close();
    });
    const before = answered;
    await until("some writes are answered", () => answered > before + (round % 5));
    // Answers and saves alternate: all parts of a save are hit in the course of the rounds.
    await new Promise((resolve) => setTimeout(resolve, round % 6));
    collector.child.kill("SIGKILL");
    await Promise.all(lanes);
    const names = await namesInFile(path);
    for (const [client, state] of expected.entries()) {
      const found = new Set(keysOfClient.map((host) => names.get(`10.0.${client}.${host}`) ?? ""));
      assert.equal(found.size, 1, `round ${round}: a batch is there in part: ${[...found].join()}`);
      const [name = ""] = found;
      const allowed = [state.answered, state.underWay];
      assert.ok(allowed.includes(name), `round ${round}: ${name} is there, not ${allowed.join(" or ")}`);
      if (name !== state.answered) keptUnanswered++;
      state.answered = name;
    }
  }
  assert.ok(answered >= rounds, `only ${answered} batches were answered`);
  return { answered, keptUnanswered };
}

async function writeUntilGone(
  by: UdmClient,
  client: number,
  state: Expected,
  round: number,
  onAnswer: () => void,
): Promise<void> {
  for (let i = 0; ; i++) {
    state.underWay = `r${round}-${i}`;
    const name = state.underWay;
    const requests = keysOfClient.map((host) => ({ udm: { key: `10.0.${client}.${host}`, name } }));
    const method = state.answered === "" ? "batchCreateUdms" : "batchUpdateUdms";
    const outcome = await by.call(method, { requests }).catch(() => undefined);
    // A connection that broke off may be an answer of its own kind.
    if (outcome?.code !== "ok") return;
    state.answered = name;
    onAnswer();
  }
}

async function namesInFile(path: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(path, "utf8").catch(() => "");
  const content = parse(text, { schema: "failsafe" }) as Record<string, { name: string }> | null;
  return new Map(Object.entries(content ?? {}).map(([key, { name }]) => [key, name]));
}

async function sameAsServed(collector: CollectorProcess, path: string): Promise<void> {
  const { body } = await collector.call("ListUdms", {});
  const udms = (body["udms"] ?? []) as { key: string; name: string }[];
  assert.deepEqual(new Map(udms.map(({ key, name }) => [key, name])), new Map(await namesInFile(path)));
}
