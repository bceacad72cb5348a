import type { Role } from "../../access/index.ts";
import { formatAddress, parseAddress, parseKey, unmapAddress } from "../../ip/index.ts";
import { Secret } from "../../text/index.ts";

/** Those of the room of access, which is too large to be loaded for their names. */
const roles = Object.keys({ viewer: true, editor: true, admin: true } satisfies Record<Role, true>) as Role[];

/** How the text of a setting becomes a value. Every source of settings carries text. */
export interface SettingType<T> {
  /** What a value looks like, as a noun: "an integer from 0 to 65535". */
  readonly expected: string;
  /** @returns undefined when the text is not such a value. */
  parse(text: string): T | undefined;
  /** The text that `parse` reads back. */
  format(value: T): string;
  /** Never shown; may be given as the name of a file; no flag of its own, because others see a command line. */
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

/** Also 1 and 0, yes and no. */
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

/** What another type takes, or the one word. */
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

/** The path of a file or directory, relative ones from the working directory; empty means none. */
export const path: SettingType<string> = {
  expected: "a path",
  parse: (value) => (hasControl(value) ? undefined : value),
  format: (value) => value,
};

/** A user name for HTTP basic authentication, where a colon ends the name (RFC 7617). May be empty. */
export const userName: SettingType<string> = {
  expected: "text without a colon",
  parse: (value) => (hasControl(value) || value.includes(":") ? undefined : value),
  format: (value) => value,
};

/** An address to listen on. */
export const listenAddress: SettingType<string> = {
  expected: "an IP address",
  parse: (value) => (parseAddress(value) === undefined ? undefined : value),
  format: (value) => value,
};

/** A name server: its address, with or without a port (`192.0.2.53`, `192.0.2.53:5353`, `[2001:db8::53]:5353`). */
export const nameServer: SettingType<string> = {
  expected: "an IP address, or <IPv4 address>:<port>, or [<IPv6 address>]:<port>",
  parse(value) {
    const [, address = value, port = "53"] =
      /^([0-9.]+):([0-9]{1,5})$/.exec(value) ?? /^\[(.*:.*)\]:([0-9]{1,5})$/.exec(value) ?? [];
    const isPort = Number(port) >= 1 && Number(port) <= 65_535;
    return parseAddress(address) !== undefined && isPort ? value : undefined;
  },
  format: (value) => value,
};

export const languageCode: SettingType<string> = {
  expected: "a language code such as en or pt-BR",
  parse: (value) => (/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})?$/.test(value) ? value : undefined),
  format: (value) => value,
};

export const hostName: SettingType<string> = {
  expected: "a host name",
  parse: (value) => (/^[a-z0-9]([a-z0-9.-]{0,252})$/i.test(value) ? value : undefined),
  format: (value) => value,
};

/** A server: `host:port`, `[2001:db8::1]:9200`, or a URL of http or https without credentials. */
export const serverAddress: SettingType<string> = {
  expected: "<host>:<port>, or a URL of http or https without user and password",
  parse(value) {
    const isUrl = /^https?:\/\//i.test(value);
    if (!isUrl && !/^(\[[0-9a-f:.]+\]|[a-z0-9]([a-z0-9._-]*[a-z0-9])?):[0-9]{1,5}$/i.test(value)) return undefined;
    const url = URL.canParse(isUrl ? value : `http://${value}`)
      ? new URL(isUrl ? value : `http://${value}`)
      : undefined;
    const isUsable = url !== undefined && url.username === "" && url.password === "" && url.search + url.hash === "";
    return isUsable && url.port !== "0" ? value : undefined;
  },
  format: (value) => value,
};

/** The Cloud ID of Elastic Cloud: `<name>:<base64 of host$elasticsearch$kibana>`. */
export const cloudId: SettingType<string> = {
  expected: "a Cloud ID, <name>:<base64>, or empty",
  parse: (value) => (value === "" || cloudIdUrl(value) !== undefined ? value : undefined),
  format: (value) => value,
};

/** The URL of Elasticsearch that a Cloud ID names; undefined when it names none. */
export function cloudIdUrl(id: string): string | undefined {
  const encoded = id.slice(id.lastIndexOf(":") + 1);
  const [host = "", part = ""] = Buffer.from(encoded, "base64").toString("utf8").split("$");
  const [, domain = "", port = "443"] = /^([a-z0-9.-]+)(?::([0-9]{1,5}))?$/i.exec(host) ?? [];
  const [, name = "", ownPort = port] = /^([a-z0-9-]+)(?::([0-9]{1,5}))?$/i.exec(part) ?? [];
  return domain === "" || name === "" ? undefined : `https://${name}.${domain}:${ownPort}`;
}

/** A broker of Kafka. */
export const brokerAddress: SettingType<string> = {
  expected: "<host>:<port>",
  parse: (value) => (value.includes("/") ? undefined : serverAddress.parse(value)),
  format: (value) => value,
};

/** A server of NATS. */
export const natsAddress: SettingType<string> = {
  expected: "<host>:<port>, nats://<host>:<port> or tls://<host>:<port>",
  parse: (value) => (brokerAddress.parse(value.replace(/^(nats|tls):\/\//, "")) === undefined ? undefined : value),
  format: (value) => value,
};

/** A subject of NATS, or what one begins with. */
export const natsSubject: SettingType<string> = {
  expected: "a subject: words of letters, digits, dashes and underscores with dots between them",
  parse: (value) => (/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(value) ? value : undefined),
  format: (value) => value,
};

/** A stream of NATS. */
export const natsName: SettingType<string> = {
  expected: "letters, digits, dashes and underscores, 32 at most",
  parse: (value) => (/^[A-Za-z0-9_-]{1,32}$/.test(value) ? value : undefined),
  format: (value) => value,
};

/** A topic of Kafka. */
export const topicName: SettingType<string> = {
  expected: "a topic: letters, digits, dots, dashes and underscores, 249 at most",
  parse: (value) => (/^[A-Za-z0-9._-]{1,249}$/.test(value) && !/^\.\.?$/.test(value) ? value : undefined),
  format: (value) => value,
};

/** One of some words, each of which may also be given as its number. */
export function wordOrNumber<const T extends string>(words: Readonly<Record<T, string>>): SettingType<T> {
  const entries = Object.entries(words) as [T, string][];
  return {
    expected: `one of ${entries.map(([word, number]) => `${word} (${number})`).join(", ")}`,
    parse: (text) => entries.find(([word, number]) => word === text || number === text)?.[0],
    format: (value) => value,
  };
}

/** A part of the name of an index. */
export const indexPart: SettingType<string> = {
  expected: "lower-case letters, digits, dots, dashes and underscores, 64 at most, the first a letter or digit",
  parse: (value) => (/^[a-z0-9][a-z0-9._-]{0,63}$/.test(value) ? value : undefined),
  format: (value) => value,
};

/** A name of a database or table, or what one begins with. */
export const sqlName: SettingType<string> = {
  expected: "letters, digits and underscores, 64 at most, the first no digit",
  parse: (value) => (/^[a-z_][a-z0-9_]{0,63}$/i.test(value) ? value : undefined),
  format: (value) => value,
};

/** Any text on one line. */
export const plainText: SettingType<string> = {
  expected: "text",
  parse: (value) => (value === "" || hasControl(value) ? undefined : value),
  format: (value) => value,
};

/** A filter; whether it is one is known when the rooms that read it are there. It may have several lines. */
export const filterText: SettingType<string> = {
  expected: "a filter, see docs/filters.md",
  parse: (value) => value.trim(),
  format: (value) => value,
};

/** A name in the head of a message of syslog (RFC 5424, 6). */
export function printable(maxLength: number): SettingType<string> {
  return {
    expected: `printable ASCII without blanks, ${maxLength} at most`,
    parse: (value) => (/^[!-~]+$/.test(value) && value.length <= maxLength ? value : undefined),
    format: (value) => value,
  };
}

/** HTTP headers: `X-Tenant=edge,X-Site=north`. */
export const headers: SettingType<ReadonlyMap<string, string>> = {
  expected: "a list separated by commas, nothing twice, each <name of an HTTP header>=<value>",
  parse(value) {
    const pairs = value.trim() === "" ? [] : value.split(",").map((pair) => pair.trim().split("="));
    const found = new Map<string, string>();
    for (const [name = "", ...parts] of pairs) {
      const text = parts.join("=");
      if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name) || text === "" || hasControl(text)) return undefined;
      found.set(name.toLowerCase(), text);
    }
    return found.size === pairs.length ? found : undefined;
  },
  format: (of) => [...of].map(([name, value]) => `${name}=${value}`).join(","),
};

/** A URL of http or https without user, password, query and fragment. */
export const webUrl: SettingType<string> = {
  expected: "a URL of http or https without user, password, query and fragment",
  parse: (value) => (/^https?:\/\//i.test(value) ? serverAddress.parse(value) : undefined),
  format: (value) => value,
};

/** Roles by value of a claim: `netgloss-admins=admin,*=viewer`. The value may have `=` in it, but no comma. */
export const claimedRoles: SettingType<ReadonlyMap<string, Role>> = {
  expected: `a list separated by commas, nothing twice, each <value of the claim>=<role>, the role one of ${roles.join(", ")}`,
  parse(value) {
    const pairs = value.trim() === "" ? [] : value.split(",").map((pair) => pair.trim());
    const found = new Map<string, Role>();
    for (const pair of pairs) {
      const equals = pair.lastIndexOf("=");
      const role = roles.find((each) => each === pair.slice(equals + 1));
      if (equals < 1 || role === undefined || hasControl(pair)) return undefined;
      found.set(pair.slice(0, equals), role);
    }
    return found.size === pairs.length ? found : undefined;
  },
  format: (of) => [...of].map(([value, role]) => `${value}=${role}`).join(","),
};

/** The same type with the empty text as a further value. */
export function orEmpty(type: SettingType<string>): SettingType<string> {
  return {
    expected: `${type.expected}, or empty`,
    parse: (value) => (value === "" ? "" : type.parse(value)),
    format: (value) => value,
  };
}

/** The same type with the word `none` for the empty text. */
export function orNone(type: SettingType<string>): SettingType<string> {
  return {
    expected: `${type.expected}, or none`,
    parse: (value) => (value === "none" ? "" : type.parse(value)),
    format: (value) => (value === "" ? "none" : value),
  };
}

export const secret: SettingType<Secret> = {
  expected: "text",
  parse: (value) => (hasControl(value) ? undefined : new Secret(value)),
  format: String,
  secret: true,
};

/** Sampling rates by address or CIDR in canonical text: `192.0.2.1=1000,2001:db8::/32=512`. */
export const samplingRates: SettingType<ReadonlyMap<string, number>> = {
  expected:
    "a list separated by commas, nothing twice, each <IP address>=<rate> or <CIDR>=<rate>, the rate an integer from 1 to 4294967295",
  parse(value) {
    const rate = int(1, 0xffff_ffff);
    const pairs = value.trim() === "" ? [] : value.split(",").map((pair) => pair.trim().split("="));
    const rates = new Map<string, number>();
    for (const [exporter = "", rateText = "", ...rest] of pairs) {
      const key = addressOrCidr(exporter);
      const each = rate.parse(rateText);
      if (key === undefined || each === undefined || rest.length > 0) return undefined;
      rates.set(key, each);
    }
    return rates.size === pairs.length ? rates : undefined;
  },
  format: (rates) => [...rates].map(([exporter, rate]) => `${exporter}=${rate}`).join(","),
};

/** An IP address or a CIDR, in canonical text. */
export const addressOrPrefix: SettingType<string> = {
  expected: "an IP address or a CIDR",
  parse: addressOrCidr,
  format: (value) => value,
};

function addressOrCidr(text: string): string | undefined {
  const address = parseAddress(text);
  if (address !== undefined) return formatAddress(unmapAddress(address));
  try {
    const key = parseKey(text);
    return key.kind === "cidr" ? key.text : undefined;
  } catch {
    return undefined;
  }
}

/** Values separated by commas, blanks around them allowed; no text is the empty list. A value may not repeat. */
export function list<T>(element: SettingType<T>): SettingType<readonly T[]> {
  return {
    expected: `a list separated by commas, nothing twice, each ${element.expected}`,
    parse(value) {
      if (value.trim() === "") return [];
      const parts = value.split(",").map((part) => element.parse(part.trim()));
      const values = parts.filter((part) => part !== undefined);
      return values.length === parts.length && new Set(values).size === values.length ? values : undefined;
    },
    format: (values) => values.map((value) => element.format(value)).join(","),
  };
}

/** A list whose default is not empty: `none` is the empty list. */
export function listOrNone<T>(element: SettingType<T>): SettingType<readonly T[]> {
  const type = list(element);
  return {
    expected: `${type.expected}, or none`,
    parse: (value) => (value === "none" ? [] : type.parse(value)),
    format: (values) => (values.length === 0 ? "none" : type.format(values)),
  };
}

function hasControl(value: string): boolean {
  return /\p{Cc}/u.test(value);
}
