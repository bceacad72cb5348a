import { asLabel } from "../address/objects/as-label.ts";
import { enrichedObjects } from "../address/objects/enriched-object.ts";
import type { Wanted } from "./data-reader.ts";
import { isName, maxNameBytes, maxStart, writeText } from "./place-names.ts";
import type { WriteFacts } from "./record-renderer.ts";

const [numberSlot, organisationSlot] = [0, 1];
export const systemSlots = 2;
/** A number behind an organisation. */
const maxNumber = 16;

/** What is read of the data of an ASN database (or of one that contains its fields). */
export const wantedOfSystems: Wanted = {
  keys: [
    ["autonomous_system_number", { slot: numberSlot }],
    ["autonomous_system_organization", { slot: organisationSlot }],
  ],
};

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
      const number = found.number(numberSlot) ?? 0;
      if (!Number.isInteger(number) || number <= 0 || number > 0xffff_ffff) return 0;
      into.start((starts[position] as (typeof starts)[number]).number);
      into.plain(String(number));
      return number;
    },
    organisation(found, position, into) {
      const { organisation, label } = starts[position] as (typeof starts)[number];
      const number = found.number(numberSlot) ?? 0;
      if (!isName(found, organisationSlot)) {
        into.start(label);
        into.plain(JSON.stringify(asLabel(number)));
        return;
      }
      into.start(organisation);
      writeText(found, organisationSlot, into);
      into.start(label);
      writeText(found, organisationSlot, into);
      into.extend(asLabel(number, ""));
    },
  };
}
