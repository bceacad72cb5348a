import { enrichedObjects } from "../address/objects/enriched-object.ts";
import type { FoundValues, Wanted } from "./data-reader.ts";
import type { FieldWriter } from "./field-writer.ts";
import { isName, maxNameBytes, maxStart, starts, writeText } from "./place-names.ts";
import type { WriteFacts } from "./record-renderer.ts";

/** What can be said of a place; the values of the setting. */
export const geoValues = [
  "city",
  "continent",
  "continent_code",
  "country",
  "country_code",
  "location",
  "timezone",
] as const;
export type GeoValue = (typeof geoValues)[number];

/** In the order in which they go out. */
const suffixes: Readonly<Record<GeoValue, string>> = {
  city: ".geo.city.name",
  continent_code: ".geo.continent.code",
  continent: ".geo.continent.name",
  country_code: ".geo.country.code",
  country: ".geo.country.name",
  location: ".geo.loc.coord",
  timezone: ".geo.tz.name",
};

/** Where a name is found: in the language asked for, and in English. */
type NameSlots = readonly [own: number, english: number];
const citySlots: NameSlots = [0, 1];
const continentCode = 2;
const continentSlots: NameSlots = [3, 4];
const country = 5;
const [countryCode, registeredCode] = [6, 7];
const [countrySlots, registeredSlots]: readonly [NameSlots, NameSlots] = [
  [8, 9],
  [10, 11],
];
const [latitude, longitude, timeZone] = [12, 13, 14];
export const placeSlots = 15;

/** What is read of the data of a City or Country database. */
export function wantedOfPlaces(language: string): Wanted {
  const names = ([own, english]: NameSlots) =>
    [
      "names",
      { keys: [[language, { slot: own }], ...(language === "en" ? [] : [["en", { slot: english }] as const])] },
    ] as const;
  return {
    keys: [
      ["city", { keys: [names(citySlots)] }],
      ["continent", { keys: [["code", { slot: continentCode }], names(continentSlots)] }],
      ["country", { slot: country, keys: [["iso_code", { slot: countryCode }], names(countrySlots)] }],
      ["registered_country", { keys: [["iso_code", { slot: registeredCode }], names(registeredSlots)] }],
      [
        "location",
        {
          keys: [
            ["latitude", { slot: latitude }],
            ["longitude", { slot: longitude }],
            ["time_zone", { slot: timeZone }],
          ],
        },
      ],
    ],
  };
}

/**
 * Writes the fields of a City or Country database: `.geo.city.name`, `.geo.continent.code|name`, `.geo.country.code|name`,
 * `.geo.loc.coord` (`latitude,longitude` in degrees, the text form of an Elasticsearch geo_point) and `.geo.tz.name`. A country that is
 * not known is the one where the block is registered. Whatever is of another shape is left out.
 */
export function createWritePlaces(values: ReadonlySet<GeoValue>): WriteFacts {
  const byPosition = enrichedObjects.map(({ name }) => starts(name, suffixes));

  const nameOf = (found: FoundValues, [own, english]: NameSlots): number => (isName(found, own) ? own : english);

  /** Where the text of a value is found. */
  const slotOf = (value: Exclude<GeoValue, "location">, found: FoundValues): number => {
    const hasCountry = found.has(country);
    if (value === "city") return nameOf(found, citySlots);
    if (value === "continent_code") return continentCode;
    if (value === "continent") return nameOf(found, continentSlots);
    if (value === "country_code") return hasCountry ? countryCode : registeredCode;
    if (value === "country") return nameOf(found, hasCountry ? countrySlots : registeredSlots);
    return timeZone;
  };

  const wanted = (Object.keys(suffixes) as GeoValue[]).filter((value) => values.has(value));
  return {
    maxLength: wanted.length * (maxStart + maxNameBytes),
    fields(found, position, into: FieldWriter) {
      const names = byPosition[position] as (typeof byPosition)[number];
      for (let i = 0; i < wanted.length; i++) {
        const value = wanted[i] as GeoValue;
        if (value === "location") {
          const given = coordinates(found.number(latitude), found.number(longitude));
          if (given === undefined) continue;
          into.start(names[value]);
          into.plain(given);
          continue;
        }
        const slot = slotOf(value, found);
        if (!isName(found, slot)) continue;
        into.start(names[value]);
        writeText(found, slot, into);
      }
    },
    number: () => 0,
    organisation() {},
  };
}

function coordinates(north: number | undefined, east: number | undefined): string | undefined {
  if (north === undefined || east === undefined) return undefined;
  return Math.abs(north) <= 90 && Math.abs(east) <= 180 ? `"${String(north)},${String(east)}"` : undefined;
}
