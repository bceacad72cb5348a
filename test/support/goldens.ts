import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const tests = resolve(import.meta.dirname, "../../../test");

/**
 * Expected values of the cases of a test: a file of NDJSON for each group of cases, a line `{"name", "expected"}` for each case, sorted
 * by name. With UPDATE_GOLDEN=1 the files are written instead of compared with; then read every line of the difference.
 */
export class Goldens {
  readonly #folder: string;
  readonly #groupOf: (name: string) => string;
  readonly #expected = new Map<string, unknown>();
  readonly #isUpdate = process.env["UPDATE_GOLDEN"] === "1";

  /**
   * @param folder below `test/`.
   * @param groupOf name of the file of a case, without `.ndjson`.
   */
  constructor(folder: string, groupOf: (name: string) => string) {
    this.#folder = join(tests, folder);
    this.#groupOf = groupOf;
    const files = existsSync(this.#folder) ? readdirSync(this.#folder).filter((file) => file.endsWith(".ndjson")) : [];
    for (const file of files) {
      const lines = readFileSync(join(this.#folder, file), "utf8").split("\n").slice(0, -1);
      for (const line of lines) {
        const { name, expected } = JSON.parse(line) as { name: string; expected: unknown };
        assert.equal(`${groupOf(name)}.ndjson`, file, name);
        assert.ok(!this.#expected.has(name), `${file} has ${name} twice`);
        this.#expected.set(name, expected);
      }
    }
  }

  /** Fails unless the case has this value, with its keys in this order. */
  check(name: string, actual: unknown): void {
    if (this.#isUpdate) this.#write(name, actual);
    assert.ok(this.#expected.has(name), `${this.#groupOf(name)}.ndjson has no ${name}: UPDATE_GOLDEN=1 writes it`);
    assert.equal(JSON.stringify(actual, null, 2), JSON.stringify(this.#expected.get(name), null, 2));
  }

  /** Fails unless these are the names of all cases. */
  checkNames(names: readonly string[]): void {
    assert.deepEqual([...this.#expected.keys()].toSorted(), names.toSorted());
  }

  #write(name: string, actual: unknown): void {
    this.#expected.set(name, JSON.parse(JSON.stringify(actual)));
    const group = this.#groupOf(name);
    const lines = [...this.#expected]
      .filter(([one]) => this.#groupOf(one) === group)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([one, expected]) => `${JSON.stringify({ name: one, expected })}\n`);
    writeFileSync(join(this.#folder, `${group}.ndjson`), lines.join(""));
  }

  [Symbol.iterator](): IterableIterator<[name: string, expected: unknown]> {
    return this.#expected.entries();
  }
}

/** The golden cases of datagrams: those of a protocol are a file, the others are about exporters. */
export const flowGoldens = (): Goldens =>
  new Goldens("flow/golden", (name) => /^(ipfix|netflow[1579]|sflow)(?=-)/.exec(name)?.[0] ?? "exporters");

/** The records of every golden case of datagrams, each a flat object. */
export function goldenRecords<Value>(): { name: string; records: Readonly<Record<string, Value>>[] }[] {
  return Array.from(flowGoldens(), ([name, expected]) => ({
    name,
    records: (expected as { records: Readonly<Record<string, Value>>[][] }).records.flat(),
  }));
}
