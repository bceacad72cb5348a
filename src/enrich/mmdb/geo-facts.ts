import type { AutonomousSystem, Fact } from "../address/address-source.ts";
import type { Wanted } from "./data-reader.ts";

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

/** Longer texts are no names of places or organisations. */
const maxText = 255;

/**
 * The fields of a record of a City or Country database: `.geo.city.name`, `.geo.continent.code|name`,
 * `.geo.country.code|name`, `.geo.loc.coord` (`latitude,longitude` in degrees, the text form of an Elasticsearch
 * geo_point) and `.geo.tz.name`. A country that is not known is the one where the block is registered.
 *
 * @param data what is wanted of it by {@link wantedOfPlaces}; whatever is of another shape is left out.
 * @param language of names; English where a name has no such form.
 */
export function geoFields(data: unknown, values: ReadonlySet<GeoValue>, language: string): Fact[] {
  const continent = member(data, "continent");
  const country = member(data, "country") ?? member(data, "registered_country");
  const location = member(data, "location");
  const given: readonly (readonly [GeoValue, string, string | undefined])[] = [
    ["city", ".geo.city.name", nameOf(member(data, "city"), language)],
    ["continent_code", ".geo.continent.code", text(member(continent, "code"))],
    ["continent", ".geo.continent.name", nameOf(continent, language)],
    ["country_code", ".geo.country.code", text(member(country, "iso_code"))],
    ["country", ".geo.country.name", nameOf(country, language)],
    ["location", ".geo.loc.coord", coordinates(member(location, "latitude"), member(location, "longitude"))],
    ["timezone", ".geo.tz.name", text(member(location, "time_zone"))],
  ];
  return given.flatMap(([value, suffix, found]): Fact[] =>
    found !== undefined && values.has(value) ? [[suffix, found]] : [],
  );
}

/** What {@link geoFields} reads of a database's data. */
export function wantedOfPlaces(language: string): Wanted {
  const languages = new Set([language, "en"]);
  const names = ["names", Array.from(languages, (one) => [one, "value"] as const)] as const;
  const country = [["iso_code", "value"], names] as const;
  return [
    ["city", [names]],
    ["continent", [["code", "value"], names]],
    ["country", country],
    ["registered_country", country],
    [
      "location",
      [
        ["latitude", "value"],
        ["longitude", "value"],
        ["time_zone", "value"],
      ],
    ],
  ];
}

/** What {@link autonomousSystem} reads. */
export const wantedOfSystems: Wanted = [
  ["autonomous_system_number", "value"],
  ["autonomous_system_organization", "value"],
];

/** The autonomous system of a record of an ASN database (or one that contains its fields). */
export function autonomousSystem(data: unknown): AutonomousSystem | undefined {
  const number = member(data, "autonomous_system_number");
  if (typeof number !== "number" || !Number.isInteger(number) || number <= 0 || number > 0xffff_ffff) return undefined;
  return { number, organisation: text(member(data, "autonomous_system_organization")) };
}

function member(data: unknown, name: string): unknown {
  return data instanceof Map ? data.get(name) : undefined;
}

function nameOf(place: unknown, language: string): string | undefined {
  const names = member(place, "names");
  return text(member(names, language)) ?? text(member(names, "en"));
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= maxText ? value : undefined;
}

function coordinates(latitude: unknown, longitude: unknown): string | undefined {
  const isWithin = (value: unknown, max: number): boolean => typeof value === "number" && Math.abs(value) <= max;
  if (!isWithin(latitude, 90) || !isWithin(longitude, 180)) return undefined;
  return `${String(latitude)},${String(longitude)}`;
}
