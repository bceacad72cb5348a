import { asLabel } from "../address/objects/as-label.ts";
import { enrichedObjects } from "../address/objects/enriched-object.ts";
import type { FoundValues, Wanted } from "./data-reader.ts";
import { isName, maxNameBytes, maxStart, writeText } from "./place-names.ts";
import type { WriteFacts } from "./record-renderer.ts";

/** Numbers and organisations as they are called: by MaxMind and DB-IP, below `traits` in their larger databases, by IPinfo. */
const numberSlots = [0, 1, 2] as const;
const organisationSlots = [3, 4, 5, 6] as const;
export const systemSlots = 7;
/** A number behind an organisation. */
const maxNumber = 16;

const maxmind = (number: number, organisation: number): NonNullable<Wanted["keys"]> => [
  ["autonomous_system_number", { slot: number }],
  ["autonomous_system_organization", { slot: organisation }],
];

/** What is read of the data of an ASN database (or of one that contains its fields). */
export const wantedOfSystems: Wanted = {
  keys: [
    ...maxmind(numberSlots[0], organisationSlots[0]),
    ["traits", { keys: maxmind(numberSlots[1], organisationSlots[1]) }],
    ["asn", { slot: numberSlots[2] }],
    ["as_name", { slot: organisationSlots[2] }],
    ["name", { slot: organisationSlots[3] }],
  ],
};

/** A number, or a text such as `AS64500`; 0 for none. */
function numberOf(found: FoundValues): number {
  for (const slot of numberSlots) {
    const number = found.number(slot) ?? Number(/^AS(\d{1,10})$/i.exec(found.text(slot))?.[1] ?? 0);
    if (Number.isInteger(number) && number > 0 && number <= 0xffff_ffff) return number;
  }
  return 0;
}

/** Writes the autonomous system. */
export function createWriteSystems(): WriteFacts {
  const starts = enrichedObjects.map(({ asNumberName, asOrganisationName, asLabelName }) => ({
    number: Buffer.from(`,"${asNumberName}":`),
    organisation: Buffer.from(`,"${asOrganisationName}":`),
    label: Buffer.from(`,"${asLabelName}":`),
  }));
  return {
    maxLength: 3 * maxStart + 2 * maxNameBytes + maxNumber,
    fields() {},
    number(found, position, into) {
      const number = numberOf(found);
      if (number === 0) return 0;
      into.start((starts[position] as (typeof starts)[number]).number);
      into.plain(String(number));
      return number;
    },
    organisation(found, position, into) {
      const { organisation, label } = starts[position] as (typeof starts)[number];
      const number = numberOf(found);
      const slot = organisationSlots.find((one) => isName(found, one));
      if (slot === undefined) {
        into.start(label);
        into.plain(JSON.stringify(asLabel(number)));
        return;
      }
      into.start(organisation);
      writeText(found, slot, into);
      into.start(label);
      writeText(found, slot, into);
      into.extend(asLabel(number, ""));
    },
  };
}
