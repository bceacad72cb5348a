import type { Role } from "../../server/index.ts";
import { type SettingType, hasControl, int, partsOf } from "./setting-type.ts";
import { addressOrCidr } from "./address-types.ts";

/** Those of the room of access, which is too large to be loaded for their names. */
const roles = Object.keys({ viewer: true, editor: true, admin: true } satisfies Record<Role, true>) as Role[];

/** HTTP headers: `X-Tenant=edge,X-Site=north`. */
export const headers: SettingType<ReadonlyMap<string, string>> = {
  expected: "a list separated by commas, nothing twice, each <name of an HTTP header>=<value>",
  parse(value) {
    const pairs = partsOf(value).map((pair) => pair.split("="));
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

/** Roles by value of a claim: `netgloss-admins=admin,*=viewer`. The value may have `=` in it, but no comma. */
export const claimedRoles: SettingType<ReadonlyMap<string, Role>> = {
  expected: `a list separated by commas, nothing twice, each <value of the claim>=<role>, the role one of ${roles.join(", ")}`,
  parse(value) {
    const pairs = partsOf(value);
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

/** Sampling rates by address or CIDR in canonical text: `192.0.2.1=1000,2001:db8::/32=512`. */
export const samplingRates: SettingType<ReadonlyMap<string, number>> = {
  expected:
    "a list separated by commas, nothing twice, each <IP address>=<rate> or <CIDR>=<rate>, the rate an integer from 1 to 4294967295",
  parse(value) {
    const rate = int(1, 0xffff_ffff);
    const pairs = partsOf(value).map((pair) => pair.split("="));
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
