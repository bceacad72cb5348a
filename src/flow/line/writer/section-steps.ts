import type { RecordFields, Workspace } from "../../../record/index.ts";
import { toHex } from "../../elements/mapping/convert-type.ts";
import type { FieldSource } from "../../elements/mapping/field-source.ts";
import { bytesLayer, type BytesLayer, type CounterNames } from "../../elements/mapping/counter-names.ts";
import type { TimeFormat } from "../../elements/mapping/time-format.ts";
import { ipLengthOf, levelWithin } from "../../wire/packet/flow-level.ts";
import { createPacketSteps, type PacketSteps } from "../../wire/packet/packet-steps.ts";
import { createParsedPacket, parsePacket } from "../../wire/packet/parse-packet.ts";
import type { Step, StepBook } from "../../wire/steps/step-book.ts";
import { createStepList } from "../../wire/steps/step-list.ts";
import { readPart, type PartRead } from "../../wire/steps/step-value.ts";
import { findSection, sizeOf, startOf } from "../../wire/structured/put-section.ts";
import type { PacketSection, Plan } from "../../exporters/templates/plan.ts";
import type { FieldPlaces } from "../../wire/template/read-step.ts";
import type { LineFields } from "./line-fields.ts";
import { namePresence, type Presence } from "../program/name-presence.ts";

/** Makes steps for the kernel of the beginning of a packet in a record, as `putSection` makes fields. */
export interface SectionSteps {
  /**
   * Lists the steps of the one section that the records of a plan have.
   *
   * @param record what it has already. Fields that no step can write are added to it.
   * @returns bytes that the steps take in a line at most.
   */
  list(plan: Plan, section: PacketSection, source: FieldSource, record: LineFields): number;
  /** Where the list ends. */
  end(): number;
}

/** What happens to a step in the records of a plan. */
type Use = "add" | "drop" | "part" | "ask";

interface StepUse {
  readonly use: Use;
  /** Whether the record has each of its names. */
  readonly said: readonly Presence[];
  /** Of a block: those of its parts that are not dropped. */
  readonly parts: readonly PartUse[];
}

interface PartUse {
  readonly step: Step;
  readonly offset: number;
  readonly read: (typeof readPart)[PartRead];
  readonly of: StepUse;
}

interface Uses {
  readonly plan: Plan | undefined;
  readonly bySteps: Map<Step, StepUse>;
  readonly presence: (name: string) => Presence;
}

/** Larger numbers are no steps. */
const maxNumber = 0xffff_ffff;

export interface SectionStepsOptions {
  /** Of the kernel that writes the steps, as the book. */
  readonly workspace: Workspace;
  readonly book: StepBook;
  /** Where the fields of the record at hand are. */
  readonly places: FieldPlaces;
  readonly times: TimeFormat;
  readonly counters: CounterNames;
}

export function createSectionSteps(options: SectionStepsOptions): SectionSteps {
  const { workspace, book, places, times } = options;
  const counters = { bytes: options.counters.bytes.exported, packets: options.counters.packets.exported };
  const list = createStepList(book, workspace);
  const packet = createParsedPacket();
  const uses = new WeakMap<Plan, Uses>();
  const fields: RecordFields = new Map();
  // Most exporters send no packets: their steps take memory, and time.
  let made:
    | { readonly packets: PacketSteps; readonly count: Step; readonly bytes: Readonly<Record<BytesLayer, Step>> }
    | undefined;
  const stepsOfPackets = () =>
    (made ??= {
      packets: createPacketSteps(book),
      count: book.field(counters.packets, "number"),
      bytes: {
        l2: book.field(counters.bytes, "number", [[bytesLayer, "l2"]]),
        l3: book.field(counters.bytes, "number", [[bytesLayer, "l3"]]),
      },
    });

  /** Of the section at hand. */
  let current: Uses = { plan: undefined, bySteps: new Map(), presence: () => "maybe" };
  let record: LineFields | undefined;
  let source: FieldSource | undefined;
  let isEmpty = true;

  const useOf = (step: Step): StepUse => {
    const known = current.bySteps.get(step);
    if (known !== undefined) return known;
    const said = step.names.map(current.presence);
    const found = findUse(step, said);
    const parts = found === "part" ? (step.parts ?? []) : [];
    const use: StepUse = {
      use: found,
      said,
      parts: parts
        .map(([part, offset, read]) => ({ step: part, offset, read: readPart[read], of: useOf(part) }))
        .filter(({ of }) => of.use !== "drop"),
    };
    current.bySteps.set(step, use);
    return use;
  };

  const isThere = (said: Presence, name: string): boolean => {
    if (typeof said === "object")
      return said.values[source?.bytes[places.offsets[said.field] as number] as number] === 1;
    return said === "always" || (said === "maybe" && record?.has(name) === true);
  };
  const has = (name: string): boolean => isThere(current.presence(name), name);

  const ask = (step: Step, value: number, said: readonly Presence[]): void => {
    const { names } = step;
    let had = 0;
    for (let i = 0; i < names.length; i++) if (isThere(said[i] as Presence, names[i] as string)) had++;
    if (had === 0) list.add(step, value);
    if (had === 0 || had === names.length || source === undefined) return;
    fields.clear();
    step.put(fields, value, source);
    for (const [name, each] of fields) {
      if (has(name)) continue;
      list.give(name, each);
      record?.set(name, each);
    }
  };

  const addAs = (step: Step, value: number, { use, said, parts }: StepUse): void => {
    if (use === "add") list.add(step, value);
    else if (use === "ask") ask(step, value, said);
    else if (use === "part" && source !== undefined) {
      for (const part of parts) addAs(part.step, part.read(source.view, value + part.offset), part.of);
    }
  };
  const add = (step: Step, value: number): void => {
    isEmpty = false;
    addAs(step, value, useOf(step));
  };
  const sink = { add };

  const begin = (plan: Plan): void => {
    if (current.plan !== plan) {
      current = uses.get(plan) ?? { plan, bySteps: new Map(), presence: namePresence(plan, times) };
      uses.set(plan, current);
    }
    list.clear();
    isEmpty = true;
  };

  return {
    end: () => list.end,
    list(plan, section, from, of) {
      begin(plan);
      record = of;
      source = from;
      const { start, name, at, length } = findSection(section, from, places);
      if (length === 0) return 0;
      const { packets, count, bytes } = stepsOfPackets();
      const first = startOf(of, from.view, start, at);
      if (first !== undefined) {
        parsePacket(from.bytes, at, at + length, first, packet);
        packets.add(sink, packet, -1, levelWithin(packet, from, of));
      }
      if (isEmpty) list.give(name, toHex(from, at, length) as string);
      else if (start !== "mpls") {
        if (!has(counters.packets)) list.add(count, 1);
        const ownLength = of.get("flow.ie.ipTotalLength");
        const size = has(counters.bytes) ? undefined : sizeOf(of, ownLength, ipLengthOf(packet));
        if (size !== undefined && size.bytes > maxNumber) {
          list.give(bytesLayer, size.layer);
          list.give(counters.bytes, size.bytes);
          of.set(counters.bytes, size.bytes);
        } else if (size !== undefined) list.add(bytes[size.layer], size.bytes);
      }
      return list.takeRoom();
    },
  };
}

function findUse({ parts }: Step, said: readonly Presence[]): Use {
  if (said.every((each) => each === "never")) return "add";
  if (parts !== undefined) return "part";
  return said.every((each) => each === "always") ? "drop" : "ask";
}
