import type { SettingType } from "./setting-type.ts";
import { parseAddress, formatAddress, unmapAddress, parseKey } from "../ip/index.ts";

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

/** `host:port`, such as a broker of Kafka. */
export const brokerAddress: SettingType<string> = {
  expected: "<host>:<port>",
  parse: (value) => (value.includes("/") ? undefined : serverAddress.parse(value)),
  format: (value) => value,
};

/** A URL of http or https without user, password, query and fragment. */
export const webUrl: SettingType<string> = {
  expected: "a URL of http or https without user, password, query and fragment",
  parse: (value) => (/^https?:\/\//i.test(value) ? serverAddress.parse(value) : undefined),
  format: (value) => value,
};

/** An IP address or a CIDR, in canonical text. */
export const addressOrPrefix: SettingType<string> = {
  expected: "an IP address or a CIDR",
  parse: addressOrCidr,
  format: (value) => value,
};

export function addressOrCidr(text: string): string | undefined {
  const address = parseAddress(text);
  if (address !== undefined) return formatAddress(unmapAddress(address));
  try {
    const key = parseKey(text);
    return key.kind === "cidr" ? key.text : undefined;
  } catch {
    return undefined;
  }
}
