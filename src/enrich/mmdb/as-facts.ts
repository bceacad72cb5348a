import { enrichedObjects } from "../address/objects/enriched-object.ts";
import type { Wanted } from "./data-reader.ts";
import { isName, maxNameBytes, maxStart, writeText } from "./place-names.ts";
import type { WriteFacts } from "./record-renderer.ts";

const [numberSlot, organisationSlot] = [0, 1];
export const systemSlots = 2;

/** What is read of the data of an ASN database (or of one that contains its fields). */
export const wantedOfSystems: Wanted = {
  keys: [
    ["autonomous_system_number", { slot: numberSlot }],
    ["autonomous_system_organization", { slot: organisationSlot }],
  ],
};

/** Writes the autonomous system. */
export function createWriteSystems(): WriteFacts {
  const starts = enrichedObjects.map(({ asNumberName, asOrganisationName }) => ({
    number: Buffer.from(`,"${asNumberName}":`),
    organisation: Buffer.from(`,"${asOrganisationName}":`),
  }));
  return {
    maxLength: 2 * maxStart + maxNameBytes,
    fields() {},
    number(found, position, into) {
      const number = found.number(numberSlot) ?? 0;
      if (!Number.isInteger(number) || number <= 0 || number > 0xffff_ffff) return 0;
      into.start((starts[position] as (typeof starts)[number]).number);
      into.plain(String(number));
      return number;
    },
    organisation(found, position, into) {
      if (!isName(found, organisationSlot)) return;
      into.start((starts[position] as (typeof starts)[number]).organisation);
      writeText(found, organisationSlot, into);
    },
  };
}
