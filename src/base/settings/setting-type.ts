import { Secret } from "../text/index.ts";

/** Converts the text of a setting to a value. Every source of settings carries text. */
export interface SettingType<T> {
  /** The form of a value, as a noun phrase: "an integer from 0 to 65535". */
  readonly expected: string;
  /** Reads a value. @returns undefined when the text is no such value. */
  parse(text: string): T | undefined;
  /** Returns the text that `parse` reads back. */
  format(value: T): string;
  /** True for a value that is never shown. It may be given as a file name, and has no flag of its own, because other users can see a command line. */
  readonly secret?: true;
}

const booleans = new Map([
  ["true", true],
  ["1", true],
  ["yes", true],
  ["false", false],
  ["0", false],
  ["no", false],
]);

/** A bool; 1 and 0, yes and no are accepted as well. */
export const bool: SettingType<boolean> = {
  expected: "true or false",
  parse: (text) => booleans.get(text.toLowerCase()),
  format: String,
};

export function int(min: number, max: number, unit = ""): SettingType<number> {
  return {
    expected: `an integer from ${min} to ${max}${unit === "" ? "" : `, in ${unit}`}`,
    parse(text) {
      if (!/^-?[0-9]{1,15}$/.test(text)) return undefined;
      const value = Number(text);
      return value >= min && value <= max ? value : undefined;
    },
    format: String,
  };
}

/** Returns a type that accepts the values of another type, or one word. */
export function orWord<const Word extends string, T>(word: Word, type: SettingType<T>): SettingType<Word | T> {
  return {
    expected: `${word}, or ${type.expected}`,
    parse: (text) => (text === word ? word : type.parse(text)),
    format: (value) => (value === word ? word : type.format(value as T)),
  };
}

const unitBytes = { "": 1, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 } as const;

/** A number of bytes: `1048576`, `1024KiB`, `1 MiB`. */
export function size(min: number, max: number): SettingType<number> {
  return {
    expected: `a size from ${formatSize(min)} to ${formatSize(max)}: bytes, or a number with KiB, MiB or GiB`,
    parse(text) {
      const match = /^([0-9]{1,15}) ?(|B|KiB|MiB|GiB)$/.exec(text);
      if (match === null) return undefined;
      const value = Number(match[1]) * unitBytes[match[2] as keyof typeof unitBytes];
      return value >= min && value <= max ? value : undefined;
    },
    format: formatSize,
  };
}

function formatSize(bytes: number): string {
  for (const unit of ["GiB", "MiB", "KiB"] as const) {
    if (bytes >= unitBytes[unit] && bytes % unitBytes[unit] === 0) return `${bytes / unitBytes[unit]}${unit}`;
  }
  return String(bytes);
}

export function oneOf<const T extends string>(values: readonly T[]): SettingType<T> {
  return {
    expected: values.length === 2 ? values.join(" or ") : `one of ${values.join(", ")}`,
    parse: (text) => values.find((value) => value === text),
    format: (value) => value,
  };
}

/** The path of a file or directory. Relative paths start at the working directory; empty means none. */
export const path: SettingType<string> = {
  expected: "a path",
  parse: (value) => (hasControl(value) ? undefined : value),
  format: (value) => value,
};

/** Returns a type of several words, each of which may also be given as its number. */
export function wordOrNumber<const T extends string>(words: Readonly<Record<T, string>>): SettingType<T> {
  const entries = Object.entries(words) as [T, string][];
  return {
    expected: `one of ${entries.map(([word, number]) => `${word} (${number})`).join(", ")}`,
    parse: (text) => entries.find(([word, number]) => word === text || number === text)?.[0],
    format: (value) => value,
  };
}

/** Any text on one line. */
export const plainText: SettingType<string> = {
  expected: "text",
  parse: (value) => (value === "" || hasControl(value) ? undefined : value),
  format: (value) => value,
};

/** A filter, which may have several lines. The rooms that read filters check it later. */
export const filterText: SettingType<string> = {
  expected: "a filter, see docs/filters.md",
  parse: (value) => value.trim(),
  format: (value) => value,
};

/** Returns a type that also accepts the empty text. */
export function orEmpty(type: SettingType<string>): SettingType<string> {
  return {
    expected: `${type.expected}, or empty`,
    parse: (value) => (value === "" ? "" : type.parse(value)),
    format: (value) => value,
  };
}

/** Returns a type that accepts the word `none` for the empty text. */
export function orNone(type: SettingType<string>): SettingType<string> {
  return {
    expected: `${type.expected}, or none`,
    parse: (value) => (value === "none" ? "" : type.parse(value)),
    format: (value) => (value === "" ? "none" : value),
  };
}

/** A user name for HTTP basic authentication, where a colon ends the name (RFC 7617). May be empty. */
export const userName: SettingType<string> = {
  expected: "text without a colon",
  parse: (value) => (hasControl(value) || value.includes(":") ? undefined : value),
  format: (value) => value,
};

/** Returns a type of words without blanks, such as a name in the header of a syslog message (RFC 5424, 6). */
export function printable(maxLength: number): SettingType<string> {
  return {
    expected: `printable ASCII without blanks, ${maxLength} at most`,
    parse: (value) => (/^[!-~]+$/.test(value) && value.length <= maxLength ? value : undefined),
    format: (value) => value,
  };
}

export const secret: SettingType<Secret> = {
  expected: "text",
  parse: (value) => (hasControl(value) ? undefined : new Secret(value)),
  format: String,
  secret: true,
};

/** Splits a list at commas. Blanks around parts and a comma after the last are allowed; an empty text is the empty list. */
export function partsOf(text: string): string[] {
  const parts = text.split(",").map((part) => part.trim());
  if (parts.at(-1) === "") parts.pop();
  return parts;
}

/** Returns a type of lists; see {@link partsOf}. A value may not repeat. */
export function list<T>(element: SettingType<T>): SettingType<readonly T[]> {
  return {
    expected: `a list separated by commas, nothing twice, each ${element.expected}`,
    parse(value) {
      const parts = partsOf(value).map((text) => element.parse(text));
      const values = parts.filter((part) => part !== undefined);
      return values.length === parts.length && new Set(values).size === values.length ? values : undefined;
    },
    format: (values) => values.map((value) => element.format(value)).join(","),
  };
}

/** Returns a type of lists with a default that is not empty: `none` is the empty list. */
export function listOrNone<T>(element: SettingType<T>): SettingType<readonly T[]> {
  const type = list(element);
  return {
    expected: `${type.expected}, or none`,
    parse: (value) => (value === "none" ? [] : type.parse(value)),
    format: (values) => (values.length === 0 ? "none" : type.format(values)),
  };
}

export function hasControl(value: string): boolean {
  return /\p{Cc}/u.test(value);
}
