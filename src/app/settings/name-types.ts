import { type SettingType, hasControl } from "./setting-type.ts";

/** A user name for HTTP basic authentication, where a colon ends the name (RFC 7617). May be empty. */
export const userName: SettingType<string> = {
  expected: "text without a colon",
  parse: (value) => (hasControl(value) || value.includes(":") ? undefined : value),
  format: (value) => value,
};

export const languageCode: SettingType<string> = {
  expected: "a language code such as en or pt-BR",
  parse: (value) => (/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})?$/.test(value) ? value : undefined),
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

/** A name in the head of a message of syslog (RFC 5424, 6). */
export function printable(maxLength: number): SettingType<string> {
  return {
    expected: `printable ASCII without blanks, ${maxLength} at most`,
    parse: (value) => (/^[!-~]+$/.test(value) && value.length <= maxLength ? value : undefined),
    format: (value) => value,
  };
}
