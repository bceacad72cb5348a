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

/** Thrown for a file that cannot be used. The message has the first error and the number of the others. */
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

/** Returns a reader for files of a shape. The reader throws FileFindings with all errors, if there are any. */
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

/** The shape of an address, a CIDR or a range. */
export const addresses: Shape<Key> = scalar("an address, a CIDR or a range", (given, at) => {
  try {
    return parseKey(given);
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    return at.error(error.message.replace(/^key /, ""));
  }
});

/** Returns the shape of a mapping by addresses. Two spellings of one key are the same key. */
export function byAddresses<T>(value: Shape<T>, each: string): Shape<[Key, T][]> {
  return pairsOf(addresses, value, { each, name: "<address>", identity: ({ text }) => text });
}

/** Orders keys of one family, the most specific first. */
export function mostSpecificFirst(a: { readonly key: Key }, b: { readonly key: Key }): number {
  return a.key.family === b.key.family ? compareSpecificity(a.key, b.key) : compareKeys(a.key, b.key);
}

/** Returns the shape of a text of one line. */
export function lineOf(maxLength: number): Shape<string> {
  return scalar(
    `a text of one line, at most ${maxLength} characters`,
    (given) => (given.length <= maxLength && !/\p{Cc}/u.test(given) ? given : undefined),
    { takesNull: true },
  );
}

/** The shape of the file with the addresses that a look-up includes or excludes. */
export const selectionShape = mapping({
  include: defaulted(list(addresses), [], "Addresses that are looked up. Left out or empty: all."),
  exclude: defaulted(list(addresses), [], "Addresses that are not."),
});

/** The addresses that a look-up includes or excludes, as an operator lists them. */
export type SelectionLists = ShapeValue<typeof selectionShape>;

export const readSelection: (bytes: Uint8Array) => ReadFile<SelectionLists> = fileReader(selectionShape);

const maxRate = 0xffff_ffff;

/** The shape of the file of sampling rates: `192.0.2.1: 1000` means that the exporter samples one of 1000 packets. */
export const sampleRatesShape = byAddresses(
  scalar("a sampling rate, a whole number from 1 to 2^32 - 1", (given) => {
    const rate = /^[1-9][0-9]{0,9}$/.test(given) ? Number(given) : Number.NaN;
    return rate <= maxRate ? rate : undefined;
  }),
  "exporter",
).to((pairs) => new Map(pairs.map(([{ text }, rate]) => [text, rate])));

/** Reads sampling rates by the canonical text of the key. */
export const readSampleRates: (bytes: Uint8Array) => ReadFile<ReadonlyMap<string, number>> =
  fileReader(sampleRatesShape);
