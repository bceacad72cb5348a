import { renderFields, type RenderedFields, type Value } from "../../../record/index.ts";
import type { FactRenderer, RenderedFacts } from "./address-source.ts";
import { asLabel } from "../objects/as-label.ts";
import { enrichedObjects, type EnrichedObject } from "../objects/enriched-object.ts";

/** A name below the object that has the address, with a dot before it (`.geo.country.code`), and its value. */
export type Fact = readonly [suffix: string, value: Value];

export interface AutonomousSystem {
  readonly number: number;
  readonly organisation: string | undefined;
}

/** What one source knows of an address. */
export interface AddressFacts {
  readonly fields: readonly Fact[];
  readonly as?: AutonomousSystem | undefined;
}

const nothing: RenderedFields = new Uint8Array();

/** Renders the facts of one address. */
export function createFactRenderer(facts: AddressFacts): FactRenderer {
  const rendered: RenderedFacts[] = [];
  return {
    generation: undefined,
    render: (_, position) => (rendered[position] ??= renderFacts(facts, enrichedObjects[position] as EnrichedObject)),
  };
}

function renderFacts({ fields, as }: AddressFacts, object: EnrichedObject): RenderedFacts {
  const own = renderFields(fields.map(([suffix, value]) => [object.name + suffix, value]));
  const number = as === undefined ? nothing : renderFields([[object.asNumberName, as.number]]);
  const organisation = as === undefined ? nothing : renderSystem(as, object);
  const all = Uint8Array.from([...own, ...number, ...organisation]);
  const numberEnd = own.length + number.length;
  return {
    from: new DataView(all.buffer),
    start: 0,
    fieldsEnd: own.length,
    numberEnd,
    end: all.length,
    system: as?.number ?? 0,
  };
}

/** What names a system: its organisation, where that is known, and its label. */
function renderSystem({ number, organisation }: AutonomousSystem, object: EnrichedObject): RenderedFields {
  const label = [object.asLabelName, asLabel(number, organisation)] as const;
  return renderFields(organisation === undefined ? [label] : [[object.asOrganisationName, organisation], label]);
}
