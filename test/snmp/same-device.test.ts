import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { KnownDevices, type DeviceIdentity } from "../../src/snmp/sweep/reconcile.ts";
import { runs } from "../support/runs.ts";

/** A device as it stands in the rack, of which each address may be asked. */
interface Box {
  readonly engineId: "none" | "own" | "cloned";
  readonly serial: "none" | "own" | "junk";
  readonly sysObjectId: string;
  readonly sysName: string;
  /** How many addresses it has, and whether it says which. */
  readonly count: number;
  readonly tellsAddresses: boolean;
  /** Whether it also has the virtual address that routers share. */
  readonly hasVirtual: boolean;
}

const box: fc.Arbitrary<Box> = fc.record({
  engineId: fc.constantFrom("none", "own", "cloned"),
  serial: fc.constantFrom("none", "own", "junk"),
  sysObjectId: fc.constantFrom(".1.3.6.1.4.1.9.1.1", ".1.3.6.1.4.1.9.1.2"),
  sysName: fc.constantFrom("switch", "router"),
  count: fc.integer({ min: 1, max: 3 }),
  tellsAddresses: fc.boolean(),
  hasVirtual: fc.boolean(),
});

const junk = ["N/A", "0", "0000000000", "To be filled by O.E.M.", "123456789"];

/** What the box answers at each of its addresses. Copies differ by the addresses they have of their own. */
function answersOf(one: Box, place: number): DeviceIdentity[] {
  const own = Array.from({ length: one.count }, (_, i) => `10.0.${place}.${i + 1}`);
  const isCopy = one.engineId === "cloned" && one.tellsAddresses;
  const listed = one.hasVirtual && !isCopy ? [...own, "10.255.0.1"] : own;
  return own.map((address, i) => ({
    address,
    engineId: isCopy ? "80001f88" : one.engineId === "own" ? `8000000903${place}` : undefined,
    serial:
      one.serial === "none" ? undefined : one.serial === "own" ? ` FOC-${place}-A` : junk[(place + i) % junk.length],
    sysObjectId: one.sysObjectId,
    sysName: one.sysName,
    addresses: one.tellsAddresses ? listed : [],
  }));
}

test("a box is known by any of its addresses as soon as it says what it is, and never taken for another", () => {
  fc.assert(
    fc.property(
      fc.array(box, { minLength: 1, maxLength: 8 }).chain((boxes) => {
        const answers = boxes.flatMap((one, place) => answersOf(one, place).map((answer) => ({ one, place, answer })));
        return fc.shuffledSubarray(answers, { minLength: answers.length });
      }),
      (answers) => {
        const known = new KnownDevices<DeviceIdentity>();
        const added = new Map<DeviceIdentity, number>();
        for (const { one, place, answer } of answers) {
          const found = known.find(answer);
          const says = one.tellsAddresses || one.engineId === "own" || one.serial === "own";
          const isThere = says && [...added.values()].includes(place);
          assert.equal(found && added.get(found.device), isThere ? place : undefined);
          if (found !== undefined) {
            assert.match(found.reason, /^the same (engine id|serial number|addresses)|is one of its addresses$/);
            continue;
          }
          known.add(answer);
          added.set(answer, place);
        }
      },
    ),
    runs(200),
  );
});
