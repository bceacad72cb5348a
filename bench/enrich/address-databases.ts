import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mmdbFile, type MmdbValue } from "../../test/support/mmdb-file.ts";

/** Writes MaxMind databases of systems and cities that know each /24 of the addresses of `address-plan.ts`. @returns their paths. */
export async function writeAddressDatabases(
  directory: string,
): Promise<{ readonly asn: string; readonly geoip: string }> {
  const paths = { asn: join(directory, "asn.mmdb"), geoip: join(directory, "city.mmdb") };
  await writeFile(paths.asn, mmdbFile(networks((n) => asSystem(n >> 3))));
  await writeFile(paths.geoip, mmdbFile(networks((n) => place(n >> 2))));
  return paths;
}

/** Each /24 of the plan's /8, in its order. */
function networks(value: (n: number) => MmdbValue): Record<string, MmdbValue> {
  const known = new Map<string, MmdbValue>();
  return Object.fromEntries(
    Array.from({ length: 65_536 }, (_, n) => {
      const made = value(n);
      const text = JSON.stringify(made);
      if (!known.has(text)) known.set(text, made);
      return [`20.${n >> 8}.${n & 255}.0/24`, known.get(text) as MmdbValue];
    }),
  );
}

function asSystem(n: number): MmdbValue {
  return { autonomous_system_number: 64_512 + n, autonomous_system_organization: `Organisation ${n}` };
}

function place(n: number): MmdbValue {
  return {
    city: { names: { en: `City ${n}` } },
    country: { iso_code: "NL", names: { en: "Netherlands" } },
    location: { latitude: (n % 180) - 90, longitude: n % 180, time_zone: "Europe/Amsterdam" },
  };
}
