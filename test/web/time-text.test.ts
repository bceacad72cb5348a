import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  addressOf,
  askedOf,
  boundsOf,
  choiceOf,
  timeNames,
  type TimeChoice,
} from "../../web/src/format/time-choice.ts";
import { readTime, timeText } from "../../web/src/format/time-text.ts";
import { instantOf, offsetOf, wallTimeOf, zoneNamed } from "../../web/src/format/zone.ts";
import { runs } from "../support/runs.ts";

const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "Asia/Kathmandu",
  "Pacific/Apia",
  "Africa/Monrovia",
  "America/Sao_Paulo",
] as const;
const zone = fc.constantFrom(...zones);
/** Friday. */
const now = Date.parse("2026-11-27T13:05:30Z");

/** What is read, as from and to in UTC. */
function read(text: string, where = "UTC"): string {
  const choice = readTime(text, now, where);
  if ("fault" in choice) return `fault at ${String(choice.at)}: ${choice.fault}`;
  const { from, to } = askedOf(choice, now, where);
  return `${from} ${to}`;
}

test("times are read as people say them", () => {
  const cases: [text: string, asked: string, where?: string][] = [
    ["last 15 minutes", "-15m now"],
    ["Last hour", "-1h now"],
    ["past week", "-7d now"],
    ["2 weeks", "-14d now"],
    ["-90m", "-90m now"],
    ["6h", "-6h now"],
    ["today", "2026-11-27T00:00:00Z now"],
    ["today", "2026-11-26T23:00:00Z now", "Europe/Berlin"],
    ["yesterday", "2026-11-26T00:00:00Z 2026-11-27T00:00:00Z"],
    ["yesterday 14:00", "2026-11-26T14:00:00Z 2026-11-26T15:00:00Z"],
    ["yesterday 14:00", "2026-11-26T19:00:00Z 2026-11-26T20:00:00Z", "America/New_York"],
    ["yesterday 2 pm to 4:30 pm", "2026-11-26T14:00:00Z 2026-11-26T16:30:00Z"],
    ["yesterday 22–2", "2026-11-26T22:00:00Z 2026-11-27T02:00:00Z"],
    ["2026-11-20 8–9", "2026-11-20T08:00:00Z 2026-11-20T09:00:00Z"],
    ["2026-11-20 8-9", "2026-11-20T08:00:00Z 2026-11-20T09:00:00Z"],
    ["2026-11-20 08:00-09:30", "2026-11-20T08:00:00Z 2026-11-20T09:30:00Z"],
    ["2026-11-20T08:00-09:30", "2026-11-20T17:30:00Z 2026-11-20T18:30:00Z"],
    ["2026-11-20 22-24", "2026-11-20T22:00:00Z 2026-11-21T00:00:00Z"],
    ["2026-11-20", "2026-11-20T00:00:00Z 2026-11-21T00:00:00Z"],
    ["2026-11-20 to 2026-11-22", "2026-11-20T00:00:00Z 2026-11-23T00:00:00Z"],
    ["2026-10", "2026-10-01T00:00:00Z 2026-11-01T00:00:00Z"],
    ["2026-10", "2026-09-30T22:00:00Z 2026-10-31T23:00:00Z", "Europe/Berlin"],
    ["monday", "2026-11-23T00:00:00Z 2026-11-24T00:00:00Z"],
    ["last friday", "2026-11-20T00:00:00Z 2026-11-21T00:00:00Z"],
    ["wed 9:15", "2026-11-25T09:15:00Z 2026-11-25T10:15:00Z"],
    ["last week", "2026-11-16T00:00:00Z 2026-11-23T00:00:00Z"],
    ["this month", "2026-11-01T00:00:00Z now"],
    ["last year", "2025-01-01T00:00:00Z 2026-01-01T00:00:00Z"],
    ["8:00", "2026-11-27T08:00:00Z 2026-11-27T09:00:00Z"],
    ["14:00", "2026-11-26T14:00:00Z 2026-11-26T15:00:00Z"],
    ["12:30", "2026-11-27T12:30:00Z now"],
    ["since 8", "2026-11-27T08:00:00Z now"],
    ["since monday", "2026-11-23T00:00:00Z now"],
    ["2 hours ago to now", "2026-11-27T11:05:30Z now"],
    ["-2h to -1h", "2026-11-27T11:05:30Z 2026-11-27T12:05:30Z"],
    ["yesterday to today", "2026-11-26T00:00:00Z now"],
    ["2026-11-20T08:00:00Z/2026-11-20T08:00:01.5Z", "2026-11-20T08:00:00Z 2026-11-20T08:00:01.500Z"],
    ["2026-11-20T08:00:00+05:45 to 2026-11-20T08:00:10+05:45", "2026-11-20T02:15:00Z 2026-11-20T02:15:10Z"],
    ["2026-11-20 08:00 UTC", "2026-11-20T08:00:00Z 2026-11-20T09:00:00Z", "Asia/Kathmandu"],
    // Clocks are put back: the earlier of two; put forward: what is skipped counts on.
    ["2026-10-25 2:30", "2026-10-25T00:30:00Z 2026-10-25T01:30:00Z", "Europe/Berlin"],
    ["2026-10-25 2:30 to 2026-10-25T02:30+01:00", "2026-10-25T00:30:00Z 2026-10-25T01:30:00Z", "Europe/Berlin"],
    ["2026-03-29 2:30", "2026-03-29T01:30:00Z 2026-03-29T02:30:00Z", "Europe/Berlin"],
    ["2026-03-29", "2026-03-28T23:00:00Z 2026-03-29T22:00:00Z", "Europe/Berlin"],
  ];
  for (const [text, asked, where] of cases) assert.equal(read(text, where), asked, text);
});

test("what is no time is named, with its place", () => {
  const cases: [text: string, fault: RegExp][] = [
    ["  ", /^fault at 0: a time such as "last hour"/],
    ["soon", /^fault at 0: "soon" is no time here/],
    ["yesterday noonish", /^fault at 9: "noonish" is no time/],
    ["yesterday 25:00", /^fault at 10: 25:00 is no time of day/],
    ["yesterday 8:61", /^fault at 10: 8:61 is no time of day/],
    ["2026-02-30", /^fault at 0: there is no day 2026-02-30/],
    ["2026-13", /^fault at 0: there is no day 2026-13/],
    ["1969-12-31", /^fault at 0: times are from 1970/],
    ["1960-01-01", /^fault at 0: times are from 1970/],
    ["since 30000 days ago", /^fault at 0: times are from 1970/],
    ["2026-11-20 to 2200-01-03", /^fault at 0: times are from 1970 to 2199/],
    ["2026-11-22 to 2026-11-20", /^fault at 10: it ends before it begins/],
    ["2026-11-22 8 to", /^fault at 12: "to" is no time/],
    ["2026-11-22 8 to ", /no time|missing/],
    ["2026-12-01", /^fault at 0: it begins after now/],
    ["last 0 hours", /^fault at 0: a time of no length/],
    ["now", /needs an end/],
    ["13 pm", /no time of day/],
    ["last 999999999 days", /^fault at 0: it reaches back more than a hundred years/],
    ["since 99999 days ago", /^fault at 6: it reaches back more than a hundred years/],
    ["-999999999d to now", /^fault at 0: it reaches back/],
    ["2026-11-20T08:00+99:99", /^fault at 16: \+99:99 is no offset from UTC/],
    ["x".repeat(100_000), /^fault at 0: "x+…x+" is no time here;.{1,100}$/],
  ];
  for (const [text, fault] of cases) assert.match(read(text), fault, text);
});

const instant = fc.integer({ min: 200_000, max: Math.floor(now / 1000) - 1 }).map((seconds) => seconds * 1000);
const wholeOrExact = fc.oneof(
  instant,
  // Around days, hours and changes of the clocks.
  instant.map((at) => at - (at % 86_400_000)),
  instant.map((at) => at - (at % 3_600_000)),
  instant.map((at) => at + 123),
  fc.integer({ min: -72, max: 72 }).map((halfHours) => Date.parse("2026-10-25T01:00:00Z") + halfHours * 1_800_000),
);
const choice: fc.Arbitrary<TimeChoice> = fc.oneof(
  fc.record(
    {
      kind: fc.constant("last" as const),
      count: fc.integer({ min: 1, max: 36_525 }),
      unit: fc.constantFrom("s" as const, "m" as const, "h" as const, "d" as const),
    },
    { noNullPrototype: true },
  ),
  fc.record({ kind: fc.constant("since" as const), from: wholeOrExact }, { noNullPrototype: true }),
  fc.record({ kind: fc.constant("named" as const), name: fc.constantFrom(...timeNames) }, { noNullPrototype: true }),
  fc
    .tuple(wholeOrExact, wholeOrExact)
    .filter(([one, other]) => one !== other)
    .map(([one, other]) => ({ kind: "fixed" as const, from: Math.min(one, other), to: Math.max(one, other) })),
  // Whole days and months of a zone.
  fc.tuple(instant, fc.integer({ min: 1, max: 400 }), zone).map(([at, days, where]) => {
    const wall = { ...wallTimeOf(at, where), hour: 0, minute: 0, second: 0, ms: 0 };
    return {
      kind: "fixed" as const,
      from: instantOf(wall, where),
      to: instantOf({ ...wall, day: wall.day + days }, where),
    };
  }),
);

test("what a choice is written as is read as that choice, in the box and in the address", () => {
  fc.assert(
    fc.property(choice, zone, (chosen, where) => {
      fc.pre(chosen.kind !== "fixed" || (chosen.from < now && chosen.from < chosen.to));
      assert.deepEqual(readTime(timeText(chosen, where), now, where), chosen, timeText(chosen, where));
      const { from, to } = addressOf(chosen);
      assert.deepEqual(choiceOf(from, to), chosen);
      const bounds = boundsOf(chosen, now, where);
      assert.ok(bounds !== undefined && bounds.from < bounds.to && bounds.to <= now);
    }),
    runs(2000),
  );
});

test("whatever is typed is a choice that is written and read again, or a fault with a place in it", () => {
  const words = fc.constantFrom(
    "last",
    "to",
    "–",
    "-",
    "now",
    "yesterday",
    "mon",
    "2",
    "14:00",
    "8–9",
    "2026-11-20",
    "T",
    "hours",
    "ago",
    "utc",
    "+02:00",
    "since",
    "week",
    "999999999",
    "days",
    "1970-01-01",
    "-23:59",
  );
  const typed = fc.oneof(
    fc.array(words, { maxLength: 6 }).map((parts) => parts.join(" ")),
    fc.array(words, { maxLength: 4 }).map((parts) => parts.join("")),
    fc.string(),
  );
  fc.assert(
    fc.property(typed, zone, (text, where) => {
      const found = readTime(text, now, where);
      if ("fault" in found) assert.ok(found.at >= 0 && found.at <= text.length && found.fault !== "");
      else assert.deepEqual(readTime(timeText(found, where), now, where), found, `${text}: ${timeText(found, where)}`);
    }),
    runs(4000),
  );
});

test("a time in an address that no calendar has is passed on, and not counted with", () => {
  for (const from of [
    "-999999999d",
    "0000-01-01T00:00:00Z",
    "9999-01-01T00:00:00Z",
    "2026-01-01T00:00:00+99:99",
    "x",
  ]) {
    const given = choiceOf(from, "now");
    assert.deepEqual(given, { kind: "unknown", from, to: "now" });
    assert.deepEqual(askedOf(given, now, "Europe/Berlin"), { from, to: "now" });
    assert.equal(boundsOf(given, now, "Europe/Berlin"), undefined);
    assert.equal(timeText(given, "Europe/Berlin"), `${from} to now`);
  }
});

test("clocks on the wall: each time is shown as what leads back to it or to the hour before it", () => {
  fc.assert(
    fc.property(instant, zone, (at, where) => {
      const back = instantOf(wallTimeOf(at, where), where);
      // Two times look the same only where clocks were put back in between.
      assert.ok(back === at || (back < at && at - back === offsetOf(back, where) - offsetOf(at, where)));
    }),
    runs(2000),
  );
  assert.equal(zoneNamed("europe/berlin"), "Europe/Berlin");
  assert.equal(zoneNamed("z"), "UTC");
  for (const none of ["Mars/Base", "", "+02:00", "1"]) assert.equal(zoneNamed(none), undefined);
});
