import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { readPeriod, readSchedule, ZoneClock, type Schedule } from "../../src/app/index.ts";
import { runs } from "../support/runs.ts";

const halfHour = 1_800_000;
const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "Asia/Kathmandu",
  "America/Sao_Paulo",
];
const read = (text: string): Schedule => readSchedule(text) ?? assert.fail(text);
const iso = (at: number): string => new Date(at).toISOString().replace(":00.000Z", "Z");

test("words of schedules and periods", () => {
  const good = [
    "hourly",
    "hourly :15",
    "daily 07:00",
    "weekdays 07:00,19:30",
    "mon,wed-fri 00:00",
    "sat-sun 23:59",
    "monthly 1 07:00",
    "monthly 31 07:00",
    "monthly last 18:00",
  ];
  for (const text of good) assert.ok(readSchedule(text) !== undefined, text);
  const many = Array.from({ length: 25 }, (_, at) => `00:${String(at).padStart(2, "0")}`).join();
  const bad = [
    "",
    "daily",
    "daily 24:00",
    "daily 7:00",
    "hourly :60",
    "hourly 07:00",
    "monday 07:00",
    "monthly 0 07:00",
  ];
  for (const text of [
    ...bad,
    "monthly 32 07:00",
    "monthly 07:00",
    "daily 07:00 x",
    "mon-tue-wed 07:00",
    `daily ${many}`,
  ])
    assert.equal(readSchedule(text), undefined, text);
  assert.deepEqual(["day", "90m", "24h", "400d"].map(readPeriod), ["day", 5_400_000, 86_400_000, 34_560_000_000]);
  assert.deepEqual(["", "401d", "0h", "1w", "year"].map(readPeriod), Array(5).fill(undefined));
});

test("when clocks are set, a time that there is not comes as much later, one that there is twice comes once", () => {
  const berlin = new ZoneClock("Europe/Berlin");
  const nextOf = (text: string, after: string): string => iso(berlin.next(read(text), Date.parse(after)));
  assert.equal(nextOf("daily 02:30", "2026-03-28T12:00:00Z"), "2026-03-29T01:30Z");
  assert.equal(nextOf("daily 02:30", "2026-03-29T01:30:00Z"), "2026-03-30T00:30Z");
  assert.equal(nextOf("daily 02:30", "2026-10-24T12:00:00Z"), "2026-10-25T00:30Z");
  assert.equal(nextOf("daily 02:30", "2026-10-25T00:30:00Z"), "2026-10-26T01:30Z");
  assert.equal(nextOf("monthly last 18:00", "2028-02-01T00:00:00Z"), "2028-02-29T17:00Z");
  assert.equal(nextOf("monthly 31 18:00", "2026-04-01T00:00:00Z"), "2026-04-30T16:00Z");
  assert.equal(
    iso(new ZoneClock("Asia/Kathmandu").next(read("hourly :15"), Date.parse("2026-01-01T00:00:00Z"))),
    "2026-01-01T00:30Z",
  );
  let at = Date.parse("2026-01-01T00:00:00Z");
  for (let day = 0; day < 365; day++) at = berlin.next(read("daily 02:30"), at);
  assert.equal(iso(at), "2026-12-31T01:30Z", "each day once");
});

test("a period is of the calendar of the zone, or of so many hours", () => {
  const berlin = new ZoneClock("Europe/Berlin");
  const due = Date.parse("2026-03-30T05:00:00Z");
  const rangeOf = (text: string): string[] => {
    const { from, to } = berlin.range(readPeriod(text) ?? 0, due);
    return [iso(from), iso(to)];
  };
  assert.deepEqual(rangeOf("day"), ["2026-03-28T23:00Z", "2026-03-29T22:00Z"], "a day of 23 hours");
  assert.deepEqual(rangeOf("week"), ["2026-03-22T23:00Z", "2026-03-29T22:00Z"]);
  assert.deepEqual(rangeOf("month"), ["2026-01-31T23:00Z", "2026-02-28T23:00Z"]);
  assert.deepEqual(rangeOf("hour"), ["2026-03-30T04:00Z", "2026-03-30T05:00Z"]);
  assert.deepEqual(rangeOf("90m"), ["2026-03-30T03:30Z", "2026-03-30T05:00Z"]);
});

test("the next time is later, of the schedule by the clock on the wall, and none before it is left out", () => {
  const time = fc.integer({ min: 0, max: 47 }).map((half) => half * 30);
  const schedule: fc.Arbitrary<Schedule> = fc.oneof(
    fc.record({
      kind: fc.constant("weekdays" as const),
      days: fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1 }),
      times: fc.uniqueArray(time, { minLength: 1, maxLength: 3 }).map((times) => times.toSorted((a, b) => a - b)),
    }),
    fc.record({ kind: fc.constant("hourly" as const), minute: fc.constantFrom(0, 30) }),
  );
  const start = Date.UTC(2026, 0, 1) / halfHour;
  const after = fc.integer({ min: start, max: start + 17_520 }).map((half) => half * halfHour);
  fc.assert(
    fc.property(schedule, fc.constantFrom(...zones), after, (given, zone, from) => {
      const format = new Intl.DateTimeFormat("en-GB", {
        timeZone: zone,
        weekday: "short",
        hour: "2-digit",
        minute: "2-digit",
        hourCycle: "h23",
      });
      const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
      const isOn = (at: number): boolean => {
        const [, day = "", hour, minute] = /^(\w+),? (\d+):(\d+)$/.exec(format.format(at)) ?? [];
        if (given.kind === "hourly") return Number(minute) === given.minute;
        return (
          given.kind === "weekdays" &&
          given.days.includes(days.indexOf(day)) &&
          given.times.includes(60 * Number(hour) + Number(minute))
        );
      };
      const clock = new ZoneClock(zone);
      const next = clock.next(given, from);
      assert.ok(next > from);
      const isSecond = (at: number): boolean => isOn(at - 2 * halfHour) || isOn(at - halfHour);
      for (let at = from + halfHour; at < next; at += halfHour)
        assert.ok(!isOn(at) || isSecond(at), `${iso(at)} is left out before ${iso(next)}`);
      // Where it is not of the schedule by the clock on the wall, that clock was set forward just before.
      const wall = (at: number): number => at + clock.offsetAt(at);
      assert.ok(isOn(next) || wall(next) - wall(next - 2 * halfHour) > 2 * halfHour);
    }),
    runs(200),
  );
});
