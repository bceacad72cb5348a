// The whole service against a model: random commands over the port, by REST or gRPC, on a store that owns a file in memory. After
// each command the file, read by a library that the collector does not use for it, holds what the model holds.
import assert from "node:assert/strict";
import type { JsonValue } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { parse } from "yaml";
import { parseKey } from "../../src/base/ip/index.ts";
import { udmFields, udmJson, type UdmEntry, type UdmField } from "../../src/metadata/index.ts";
import { faultFileIo, type FaultFileIo } from "../support/fault-file-io.ts";
import { memoryFileIo, type MemoryFileIo } from "../support/memory-file-io.ts";
import { denseKeyText, udmEntry } from "../support/udm-entry.ts";
import { modelIndex } from "../support/udm-model.ts";
import { memoryPath, storeOn } from "../support/udm-store-fixture.ts";
import { trickyTexts } from "../support/udm-write-arbitrary.ts";
import { startApi } from "./api-fixture.ts";
import { createUdmClient, type Outcome, type UdmClient, type UdmMethod } from "./udm-clients.ts";

type Wire = "REST HTTP/1.1" | "gRPC HTTP/2";

/** What a client sends of an entry. */
interface Sent {
  /** Not always a key. */
  readonly key: string;
  readonly name: string;
  readonly tags: readonly string[];
  readonly vlan: string;
  readonly internal: boolean;
  readonly metadata: Readonly<Record<string, string>>;
}

type Model = { entries: ReadonlyMap<string, UdmEntry> };

/** The collector's part behind the port, that can be started again on the same file. */
interface Real {
  readonly io: MemoryFileIo;
  readonly faults: FaultFileIo;
  call(wire: Wire, method: UdmMethod, request: JsonValue): Promise<Outcome>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

async function startReal(count: (method: UdmMethod, code: string) => void): Promise<Real> {
  const io = memoryFileIo();
  const faults = faultFileIo(io);
  const open = async () => {
    faults.arm(undefined);
    const { store } = storeOn(faults);
    await store.start();
    const endings: (() => unknown)[] = [];
    const { port } = await startApi({ after: (end) => void endings.push(end) }, { udm: store });
    const clients = new Map<Wire, UdmClient>();
    return {
      client(wire: Wire): UdmClient {
        const client = clients.get(wire) ?? createUdmClient(wire, { port, ca: undefined, prefix: "" });
        clients.set(wire, client);
        return client;
      },
      async close() {
        for (const client of clients.values()) client.close();
        for (const end of endings) await end();
        faults.arm(undefined);
        await store.stop();
      },
    };
  };
  let running = await open();
  return {
    io,
    faults,
    async call(wire, method, request) {
      const outcome = await running.client(wire).call(method, request);
      count(method, outcome.code);
      return outcome;
    },
    async restart() {
      await running.close();
      running = await open();
    },
    stop: () => running.close(),
  };
}

/** One entry of a write as the model sees it: what it would become, or why not. */
function change(
  op: "create" | "update",
  model: Model,
  sent: Sent,
  fields: readonly UdmField[],
): UdmEntry | "invalid_argument" | "already_exists" | "not_found" {
  const isBad = sent.key === "" || sent.key.includes("x") || (fields.includes("name") && sent.name.includes("\u0001"));
  if (isBad) return "invalid_argument";
  const { text } = parseKey(sent.key);
  const before = model.entries.get(text);
  if (op === "create" && before !== undefined) return "already_exists";
  if (op === "update" && before === undefined) return "not_found";
  const { name, tags, internal, metadata } = sent;
  const values = udmEntry(text, { name, tags, vlan: BigInt(sent.vlan), internal, metadata });
  const kept = Object.fromEntries(fields.map((field) => [field, values[field]]));
  return { ...(before ?? udmEntry(text)), ...kept };
}

/** A write of one or several entries. @returns the new state and the answer, or the code of the refusal. */
function changeAll(
  op: "create" | "update",
  model: Model,
  sent: readonly Sent[],
  mask: readonly UdmField[],
): { entries: Map<string, UdmEntry>; changed: UdmEntry[] } | string {
  const fields = mask.length === 0 ? udmFields : mask;
  const results = sent.map((one) => change(op, model, one, fields));
  if (results.includes("invalid_argument")) return "invalid_argument";
  // The first thing that is wrong counts.
  const seen = new Set<string>();
  for (const [i, { key }] of sent.entries()) {
    const { text } = parseKey(key);
    if (seen.has(text)) return "invalid_argument";
    seen.add(text);
    const result = results[i];
    if (typeof result === "string") return result;
  }
  const changed = results as UdmEntry[];
  const entries = new Map(model.entries);
  for (const entry of changed) entries.set(entry.key.text, entry);
  return { entries, changed };
}

type Command = fc.AsyncCommand<Model, Real>;

function command(name: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return {
    check: () => true,
    toString: () => name,
    async run(model, real) {
      await run(model, real);
      assert.deepEqual(fileContent(real.io), contentOf(model));
    },
  };
}

/** The answer of a write, which a failing disk may refuse: then nothing may have changed. */
function settle(
  model: Model,
  real: Real,
  outcome: Outcome,
  expected: { entries: ReadonlyMap<string, UdmEntry>; answer: JsonValue } | string,
): void {
  real.faults.arm(undefined);
  if (typeof expected === "string") {
    assert.equal(outcome.code, expected);
  } else if (outcome.code !== "unavailable" || !("message" in outcome) || !outcome.message.includes("injected")) {
    assert.deepEqual(outcome, { code: "ok", answer: expected.answer });
    model.entries = expected.entries;
  }
}

function jsonOf(entry: UdmEntry): JsonValue {
  return JSON.parse(udmJson(entry)) as JsonValue;
}

function udmsAnswer(name: string, items: JsonValue[]): JsonValue {
  return items.length === 0 ? {} : { [name]: items };
}

const anyWire = fc.constantFrom<Wire>("REST HTTP/1.1", "gRPC HTTP/2");
/** Few keys, so that commands meet: nested, equal in value but not in kind, and not in canonical text. */
const fewKeys = [
  ["10.0.0.0/8", "10.0.0.0/26", "10.0.0.1/26", "10.0.0.1", "10.0.0.1/32", "10.0.0.1-10.0.0.1", "10.0.0.0-10.0.0.9"],
  ["2001:DB8::0", "2001:db8::/122", "2001:db8::1-2001:db8:0::9", "2001:db8::5"],
].flat();
const anyKey = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom(...fewKeys) },
  { weight: 2, arbitrary: denseKeyText },
  { weight: 1, arbitrary: fc.constantFrom("", "x") },
);
/** What the rules for texts allow. */
const goodTexts = trickyTexts.filter((text) => text.length < 200 && !/\p{Cc}/u.test(text));
const anyText = fc.oneof(fc.constantFrom(...goodTexts), fc.constantFrom("", "a"));
const anySent: fc.Arbitrary<Sent> = fc.record({
  key: anyKey,
  name: fc.oneof({ weight: 12, arbitrary: anyText }, { weight: 1, arbitrary: fc.constant("\u0001") }),
  tags: fc.array(
    anyText.filter((text) => text !== ""),
    { maxLength: 3 },
  ),
  vlan: fc.constantFrom("0", "7", "18446744073709551615"),
  internal: fc.boolean(),
  metadata: fc.dictionary(fc.constantFrom("a", ".site.id", "__proto__", "1", "true"), anyText, { maxKeys: 3 }),
});
const anyMask = fc.subarray([...udmFields]);

const anyWriteCommand = fc
  .tuple(fc.constantFrom("create", "update"), anyWire, anySent, anyMask)
  .map(([op, wire, sent, mask]) =>
    command(`${op} ${JSON.stringify(sent)} ${mask.join()} by ${wire}`, async (model, real) => {
      const isCreate = op === "create";
      const result = changeAll(isCreate ? "create" : "update", model, [sent], isCreate ? [] : mask);
      const request = { udm: sent, ...(isCreate ? {} : { updateMask: mask.join(",") }) } as unknown as JsonValue;
      const outcome = await real.call(wire, isCreate ? "createUdm" : "updateUdm", request);
      const expected =
        typeof result === "string" ? result : { ...result, answer: jsonOf(result.changed[0] as UdmEntry) };
      settle(model, real, outcome, expected);
    }),
  );

const anyBatchCommand = fc
  .tuple(fc.constantFrom("create", "update"), anyWire, fc.array(anySent, { maxLength: 3 }), anyMask)
  .map(([op, wire, sent, mask]) =>
    command(`batch ${op} ${JSON.stringify(sent)} ${mask.join()} by ${wire}`, async (model, real) => {
      const isCreate = op === "create";
      const result = changeAll(isCreate ? "create" : "update", model, sent, isCreate ? [] : mask);
      const requests = sent.map((udm) => ({ udm }));
      const request = { requests, ...(isCreate ? {} : { updateMask: mask.join(",") }) } as unknown as JsonValue;
      const outcome = await real.call(wire, isCreate ? "batchCreateUdms" : "batchUpdateUdms", request);
      const expected =
        typeof result === "string" ? result : { ...result, answer: udmsAnswer("udms", result.changed.map(jsonOf)) };
      settle(model, real, outcome, expected);
    }),
  );

const anyDelete = fc.tuple(anyWire, anyKey).map(([wire, key]) =>
  command(`delete ${key} by ${wire}`, async (model, real) => {
    const outcome = await real.call(wire, "deleteUdm", { key });
    if (key === "" || key === "x") return settle(model, real, outcome, "invalid_argument");
    const entries = new Map(model.entries);
    const isThere = entries.delete(parseKey(key).text);
    settle(model, real, outcome, isThere ? { entries, answer: {} } : "not_found");
  }),
);

const anyList = fc
  .tuple(anyWire, fc.boolean(), fc.oneof(anyKey, fc.constant("")), fc.boolean())
  .map(([wire, keysOnly, text, exact]) =>
    command(`list ${keysOnly ? "keys " : ""}${text} ${exact} by ${wire}`, async (model, real) => {
      const outcome = await real.call(wire, keysOnly ? "listUdmKeys" : "listUdms", { key: text, exact });
      if (text === "x") return assert.equal(outcome.code, "invalid_argument");
      const index = modelIndex([...model.entries.values()]);
      const key = text === "" ? undefined : parseKey(text);
      const found = (): Iterable<UdmEntry> => {
        if (key === undefined) return index.entries();
        if (exact) return [index.get(key)].filter((entry) => entry !== undefined);
        return key.kind === "ip" ? index.covering({ family: key.family, value: key.first }) : index.within(key);
      };
      const items = Array.from(found(), (entry) => (keysOnly ? entry.key.text : jsonOf(entry)));
      assert.deepEqual(outcome, { code: "ok", answer: udmsAnswer(keysOnly ? "keys" : "udms", items) });
    }),
  );

const anyCount = anyWire.map((wire) =>
  command(`count by ${wire}`, async (model, real) => {
    const count = model.entries.size;
    assert.deepEqual(await real.call(wire, "countUdms", {}), { code: "ok", answer: count === 0 ? {} : { count } });
  }),
);

const restart = fc.constant(command("restart", (_, real) => real.restart()));

const anyFault = fc.tuple(fc.integer({ min: 1, max: 14 }), fc.constantFrom("before", "short")).map(([call, kind]) =>
  command(`call ${call} of the next write goes wrong (${kind})`, async (_, { faults }) => {
    faults.arm({ call, kind: kind === "short" ? "short" : "before", code: "ENOSPC" });
  }),
);

/** The file by another library, all scalars as they are spelt. */
function fileContent(io: MemoryFileIo): Record<string, unknown> {
  const content = parse(io.text(memoryPath) ?? "", { schema: "failsafe", mapAsMap: true }) as unknown;
  if (!(content instanceof Map)) return {};
  return Object.fromEntries(
    Array.from(content as Map<string, Map<string, unknown> | string>, ([key, fields]) => [
      key,
      fields instanceof Map ? Object.fromEntries(fields) : {},
    ]),
  );
}

function contentOf(model: Model): Record<string, unknown> {
  return Object.fromEntries(
    Array.from(model.entries, ([key, { name, tags, vlan, internal, metadata }]) => [
      key,
      {
        ...(name === "" ? {} : { name }),
        ...(tags.length === 0 ? {} : { tags }),
        ...(vlan === 0n ? {} : { vlan: String(vlan) }),
        ...(internal ? { internal: "true" } : {}),
        ...(metadata.size === 0 ? {} : { metadata: new Map(metadata) }),
      },
    ]),
  );
}

/**
 * Runs this many random sequences of up to this many commands.
 *
 * @returns how often each method was called with each outcome.
 */
export async function checkService(
  numRuns: number,
  maxCommands: number,
  seed?: number,
): Promise<ReadonlyMap<string, number>> {
  const outcomes = new Map<string, number>();
  const commands = fc.commands(
    [
      anyWriteCommand,
      anyWriteCommand,
      anyBatchCommand,
      anyBatchCommand,
      anyDelete,
      anyList,
      anyCount,
      restart,
      anyFault,
      anyFault,
    ],
    { maxCommands, size: "max" },
  );
  await fc.assert(
    fc.asyncProperty(commands, async (some) => {
      const real = await startReal((method, code) => {
        const name = `${method} ${code}`;
        outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
      });
      try {
        await fc.asyncModelRun(() => ({ model: { entries: new Map<string, UdmEntry>() }, real }), some);
      } finally {
        await real.stop();
      }
    }),
    { numRuns, ...(seed !== undefined && { seed }) },
  );
  return outcomes;
}
