import { renderFields, type RenderedFields, type Value } from "../../../record/index.ts";
import { addressScope } from "../words/address-scope.ts";
import { endpointObjects, type AddressSource, type FactRenderer, type RenderedFacts } from "./address-source.ts";
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
  /** In place of the system's: the label where the exporter names no system. */
  readonly label?: string;
}

const nothing: RenderedFields = new Uint8Array();

/** Renders the facts of one address, or of all with the same: they have a generation. */
export function createFactRenderer(facts: AddressFacts, generation?: number): FactRenderer {
  const rendered: RenderedFacts[] = [];
  return {
    generation,
    render: (_, position) => (rendered[position] ??= renderFacts(facts, enrichedObjects[position] as EnrichedObject)),
  };
}

function renderFacts({ fields, as, label }: AddressFacts, object: EnrichedObject): RenderedFacts {
  const own = renderFields(fields.map(([suffix, value]) => [object.name + suffix, value]));
  const number = as === undefined ? nothing : renderFields([[object.asNumberName, as.number]]);
  const organisation =
    as !== undefined
      ? renderSystem(as, object)
      : label === undefined
        ? nothing
        : renderFields([[object.asLabelName, label]]);
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

const privateSystem = "PRIVATE";

/** Says of private addresses at the ends of flows that they are of the system `PRIVATE`, as NetObserv does. */
export function createPrivateSystems(): AddressSource {
  const renderer = createFactRenderer({ fields: [[".as.org", privateSystem]], label: privateSystem }, 1);
  return {
    objects: endpointObjects,
    find(a, b, c, d, found) {
      if (addressScope(a, b, c, d) === "private") found.add(renderer, 0);
      return Number.POSITIVE_INFINITY;
    },
    watch: () => () => {},
  };
}
