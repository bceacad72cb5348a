import { compareKeys, compareSpecificity, KeyError, parseKey, type Key } from "../../base/ip/index.ts";
import {
  decodeUtf8,
  defaulted,
  faultFinding,
  formatShapeFinding,
  list,
  pairsOf,
  readShape,
  mapping,
  scalar,
  YamlFault,
  type Shape,
  type ShapeFinding,
  type ShapeValue,
} from "../../base/yaml/index.ts";

export { formatShapeFinding as formatFinding };

/** Thrown for a file that cannot be used. The message names the first of the errors, and how many more there are. */
export class FileFindings extends Error {
  readonly code = "bad_file";
  readonly findings: readonly ShapeFinding[];

  constructor(findings: readonly ShapeFinding[]) {
    const [first, ...more] = findings.filter(({ severity }) => severity === "error");
    const others = more.length > 0 ? ` (and ${more.length} more)` : "";
    super(`${first === undefined ? "cannot be used" : formatShapeFinding(first)}${others}`);
    this.name = "FileFindings";
    this.findings = findings;
  }
}

export interface ReadFile<T> {
  readonly value: T;
  readonly warnings: readonly ShapeFinding[];
}

/** Gives the reader of a file of one shape. It throws FileFindings with all that is wrong, when anything is. */
export function fileReader<T>(shape: Shape<T>): (bytes: Uint8Array) => ReadFile<T> {
  return (bytes) => {
    let source: string;
    try {
      source = decodeUtf8(bytes);
    } catch (error) {
      if (error instanceof YamlFault) throw new FileFindings([faultFinding(error)]);
      throw error;
    }
    const { value, findings, hasErrors } = readShape(source, shape);
    if (hasErrors || value === undefined) throw new FileFindings(findings);
    return { value, warnings: findings };
  };
}

/** An address, a CIDR or a range. */
export const addresses: Shape<Key> = scalar("an address, a CIDR or a range", (given, at) => {
  try {
    return parseKey(given);
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    return at.error(error.message.replace(/^key /, ""));
  }
});

/** A mapping from addresses, of which each key counts once however it is spelt. */
export function byAddresses<T>(value: Shape<T>, each: string): Shape<[Key, T][]> {
  return pairsOf(addresses, value, { each, name: "<address>", identity: ({ text }) => text });
}

/** Orders keys of one family by how specific they are. */
export function mostSpecificFirst(a: { readonly key: Key }, b: { readonly key: Key }): number {
  return a.key.family === b.key.family ? compareSpecificity(a.key, b.key) : compareKeys(a.key, b.key);
}

/** A text of one line. */
export function lineOf(maxLength: number): Shape<string> {
  return scalar(
    `a text of one line, at most ${maxLength} characters`,
    (given) => (given.length <= maxLength && !/\p{Cc}/u.test(given) ? given : undefined),
    { takesNull: true },
  );
}

/** The file that says which addresses a look-up is for. */
export const selectionShape = mapping({
  include: defaulted(list(addresses), [], "Addresses that are looked up. Left out or empty: all."),
  exclude: defaulted(list(addresses), [], "Addresses that are not."),
});

/** The addresses that a look-up is for, as an operator lists them. */
export type SelectionLists = ShapeValue<typeof selectionShape>;

export const readSelection: (bytes: Uint8Array) => ReadFile<SelectionLists> = fileReader(selectionShape);

const maxRate = 0xffff_ffff;

/** The file of sampling rates: `192.0.2.1: 1000`, one of how many packets the exporter looks at. */
export const sampleRatesShape = byAddresses(
  scalar("a sampling rate, a whole number from 1 to 2^32 - 1", (given) => {
    const rate = /^[1-9][0-9]{0,9}$/.test(given) ? Number(given) : Number.NaN;
    return rate <= maxRate ? rate : undefined;
  }),
  "exporter",
).to((pairs) => new Map(pairs.map(([{ text }, rate]) => [text, rate])));

/** Reads rates by the canonical text of the key. */
export const readSampleRates: (bytes: Uint8Array) => ReadFile<ReadonlyMap<string, number>> =
  fileReader(sampleRatesShape);
