import * as fc from "fast-check";
import type { Column } from "../../src/record/index.ts";

/** One column of each type, and one with arrays of it. */
export const types = ["text", "address", "integer", "unsigned", "double", "boolean", "time"] as const;
export const columns: readonly Column[] = [
  ...types.map((type) => ({ field: type, type, isArray: false })),
  ...types.map((type) => ({ field: `list.of.${type}.with.a.long.name`, type, isArray: true })),
  { field: 'a "quoted\\ näme', type: "text", isArray: false },
];

const digits = (maxLength: number): fc.Arbitrary<string> => fc.stringMatching(new RegExp(`^-?[0-9]{1,${maxLength}}$`));

/** Values as JSON has them, of all types, mostly near to what columns take. */
const scalar = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }).map((text) => JSON.stringify(text)),
  fc.constantFrom('""', '"tcp"', '"netflow"', '"\\u00e9\\n"', '"\\ud800"', '"\\/"').map(String),
  fc.string({ unit: "grapheme-ascii", minLength: 14, maxLength: 70 }).map((text) => JSON.stringify(text)),
  fc.ipV4().map((text) => `"${text}"`),
  fc.ipV6().map((text) => `"${text}"`),
  fc.stringMatching(/^[0-9a-f]{0,3}(::?[0-9A-F]{0,5}){0,8}(\.[0-9]{1,3}){0,4}$/).map((text) => `"${text}"`),
  fc.stringMatching(/^[0-9]{1,3}(\.[0-9]{0,4}){2,4}$/).map((text) => `"${text}"`),
  fc
    .date({ noInvalidDate: true, min: new Date("1600-01-01"), max: new Date("2300-01-01") })
    .map((date) => `"${date.toISOString()}"`),
  fc
    .tuple(
      fc.integer({ min: 0, max: 9999 }),
      fc.stringMatching(/^-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{1,10})?Z?$/),
    )
    .map(([year, rest]) => `"${String(year).padStart(4, "0")}${rest}"`),
  fc
    .constantFrom(
      "1677-09-21T00:12:43.145224192Z",
      "1677-09-21T00:12:43.145224191Z",
      "2262-04-11T23:47:16.854775807Z",
      "2262-04-11T23:47:16.854775808Z",
      "2026-02-30T24:00:00.5Z",
    )
    .map((text) => `"${text}"`),
  digits(22),
  fc.constantFrom("9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809"),
  fc.constantFrom("18446744073709551615", "18446744073709551616", "-0", "-1", "00000000000000000001"),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.tuple(digits(9), fc.stringMatching(/^[0-9]{1,9}$/)).map(([a, b]) => `${a}.${b}`),
  fc.constantFrom("true", "false", "null", "1e400", "1e3", "0.1", "123456789012345.5"),
);
const value = fc.oneof(
  { weight: 3, arbitrary: scalar },
  { weight: 2, arbitrary: fc.array(scalar, { maxLength: 4 }).map((items) => `[${items.join(",")}]`) },
  { weight: 1, arbitrary: fc.constantFrom('{"a":"}"}', '[["]"],[]]', "[{}]") },
);
const name = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...columns.map(({ field }) => JSON.stringify(field))) },
  { weight: 1, arbitrary: fc.string({ maxLength: 60 }).map((text) => JSON.stringify(`x${text}`)) },
  { weight: 1, arbitrary: fc.constantFrom('"\\u0074ext"', '""', '"t"') },
);
/** A name and a value, as JSON has them. */
export type Field = readonly [key: string, text: string];
const field: fc.Arbitrary<Field> = fc.tuple(name, value);
/** The fields of a line. */
export const fields = fc.array(field, { maxLength: 24 });
export const lineOf = (all: readonly Field[]): string => `{${all.map(([key, text]) => `${key}:${text}`).join(",")}}`;
/** Lines of records with the names of the columns above, whose values mostly nearly fit. */
export const anyLine = fields.map(lineOf);

const field0: Field = ['"x"', "0"];

/** What makes a line of the one before it. */
const edits: readonly ((all: Field[], at: number, other: Field) => unknown)[] = [
  (all, at, other) => all.splice(at, 1, other),
  (all, at, other) => all.splice(at, 0, other),
  (all, at) => all.splice(at, 1 + (at % 3)),
  (all, at) => all.splice(at, 0, ...all.slice(0, 2)),
  (all, at) => all.unshift(...all.splice(at, 2)),
  (all, at, [, text]) => all.splice(at, 1, [(all[at] ?? field0)[0], text]),
  (all, at, [key]) => all.splice(at, 1, [key, (all[at] ?? field0)[1]]),
  // A value that goes on where the other ends.
  (all, at) =>
    all.splice(at, 1, ...all.slice(at, at + 1).map(([key, text]): Field => [key, text.replace(/[0-9]$/u, "$&1")])),
];
const edit = fc.tuple(fc.constantFrom(...edits), fc.nat(24), field);
/** Lines of which each is like the one before, as those of a template are. */
export const likeLines = fc
  .tuple(fields, fc.array(fc.array(edit, { maxLength: 3 }), { maxLength: 16 }))
  .map(([first, turns]) => {
    const all = first.slice();
    const lines = [lineOf(all)];
    for (const turn of turns) {
      for (const [change, at, other] of turn) change(all, Math.min(at, all.length), other);
      lines.push(lineOf(all));
    }
    return lines;
  });
