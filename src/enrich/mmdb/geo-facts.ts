import type { GeoValue } from "../settings.ts";
import { enrichedObjects } from "../address/enriched-object.ts";
import type { DataReader, Wanted } from "./data-reader.ts";
import {
  type FieldWriter,
  isName,
  maxNameBytes,
  maxStart,
  starts,
  writeText,
  type WriteFacts,
} from "./record-renderer.ts";

/** The names below the object, in the order of output. */
const suffixes: Readonly<Record<GeoValue, string>> = {
  city: ".geo.city.name",
  continent_code: ".geo.continent.code",
  continent: ".geo.continent.name",
  country_code: ".geo.country.code",
  country: ".geo.country.name",
  location: ".geo.loc.coord",
  timezone: ".geo.tz.name",
};

/** The letters of the code of a country or continent; no name is that short. */
const codeLength = 2;

/** The slots of a name in the language of the settings and in English. */
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
/** The slots of the flat layouts of IPinfo and others, in which `country` and `continent` are a code or a name. */
const flat = {
  city: 15,
  continent: 16,
  continentCode: 17,
  continentName: 18,
  country: 19,
  countryCode: 20,
  countryName: 21,
  latitude: 22,
  longitude: 23,
  timeZone: 24,
} as const;
export const placeSlots = 25;

/** Returns the parts to read of a database of places: MaxMind's City and Country, those of DB-IP in the same layout, and IPinfo's. */
export function wantedOfPlaces(language: string): Wanted {
  const names = ([own, english]: NameSlots) =>
    [
      "names",
      { keys: [[language, { slot: own }], ...(language === "en" ? [] : [["en", { slot: english }] as const])] },
    ] as const;
  return {
    keys: [
      ["city", { keys: [names(citySlots)], scalar: flat.city }],
      ["continent", { keys: [["code", { slot: continentCode }], names(continentSlots)], scalar: flat.continent }],
      [
        "country",
        { slot: country, keys: [["iso_code", { slot: countryCode }], names(countrySlots)], scalar: flat.country },
      ],
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
      ["continent_code", { slot: flat.continentCode }],
      ["continent_name", { slot: flat.continentName }],
      ["country_code", { slot: flat.countryCode }],
      ["country_name", { slot: flat.countryName }],
      ["lat", { slot: flat.latitude }],
      ["latitude", { slot: flat.latitude }],
      ["lng", { slot: flat.longitude }],
      ["longitude", { slot: flat.longitude }],
      ["timezone", { slot: flat.timeZone }],
    ],
  };
}

/**
 * Writes the fields of a database of places: `.geo.city.name`, `.geo.continent.code|name`, `.geo.country.code|name`, `.geo.loc.coord`
 * (`latitude,longitude` in degrees, the text form of an Elasticsearch geo_point) and `.geo.tz.name`. If the country is unknown, the
 * country where the block is registered takes its place. Data of any other shape is left out.
 */
export function createWritePlaces(values: ReadonlySet<GeoValue>): WriteFacts {
  const byPosition = enrichedObjects.map(({ name }) => starts(name, suffixes));

  /** Returns the first slot with a name; the last slot if none has one. */
  const first = (found: DataReader, ...slots: readonly number[]): number =>
    slots.find((slot) => isName(found, slot)) ?? (slots.at(-1) as number);
  /** Returns the slot of a code or of a name, where one slot (`either`) may have the one or the other. */
  const codeIn = (found: DataReader, own: number, either: number): number =>
    isName(found, own) || found.length(either) !== codeLength ? own : either;
  const nameIn = (found: DataReader, own: number, either: number): number =>
    isName(found, own) || found.length(either) === codeLength ? own : either;

  /** Returns the slot that contains the text of a value. */
  const slotOf = (value: Exclude<GeoValue, "location">, found: DataReader): number => {
    const hasCountry = found.has(country);
    if (value === "city") return first(found, ...citySlots, flat.city);
    if (value === "continent_code")
      return first(found, continentCode, codeIn(found, flat.continentCode, flat.continent));
    if (value === "continent")
      return first(found, ...continentSlots, nameIn(found, flat.continentName, flat.continent));
    if (value === "country_code")
      return hasCountry ? countryCode : first(found, codeIn(found, flat.countryCode, flat.country), registeredCode);
    if (value === "country")
      return hasCountry
        ? first(found, ...countrySlots)
        : first(found, nameIn(found, flat.countryName, flat.country), ...registeredSlots);
    return first(found, timeZone, flat.timeZone);
  };

  const wanted = (Object.keys(suffixes) as GeoValue[]).filter((value) => values.has(value));
  return {
    maxLength: wanted.length * (maxStart + maxNameBytes),
    fields(found, position, into: FieldWriter) {
      const names = byPosition[position] as (typeof byPosition)[number];
      for (let i = 0; i < wanted.length; i++) {
        const value = wanted[i] as GeoValue;
        if (value === "location") {
          const given =
            coordinates(found.number(latitude), found.number(longitude)) ??
            coordinates(degrees(found, flat.latitude), degrees(found, flat.longitude));
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

/** Returns degrees from a number or, as in IPinfo's databases, from a text. */
function degrees(found: DataReader, slot: number): number | undefined {
  const text = found.text(slot);
  return /^-?\d{1,3}(?:\.\d{1,12})?$/.test(text) ? Number(text) : found.number(slot);
}

function coordinates(north: number | undefined, east: number | undefined): string | undefined {
  if (north === undefined || east === undefined) return undefined;
  return Math.abs(north) <= 90 && Math.abs(east) <= 180 ? `"${String(north)},${String(east)}"` : undefined;
}
