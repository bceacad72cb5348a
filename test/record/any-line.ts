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
/** Lines of records with the names of the columns above, whose values mostly nearly fit. */
export const anyLine = fc
  .array(fc.tuple(name, value), { maxLength: 24 })
  .map((fields) => `{${fields.map(([key, text]) => `${key}:${text}`).join(",")}}`);
