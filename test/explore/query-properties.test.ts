import { test } from "node:test";
import { openExplore, takeLines } from "./explore-fixture.ts";
import { checkAnswers, checkRegexes, checkUtilisation, now, sampleRecords } from "./query-cases.ts";
import { lineOf } from "./query-model.ts";

test("answers of the embedded store are those of a slow model over the same records", async (t) => {
  const explore = await openExplore(t, { clockNow: () => now });
  takeLines(explore, Buffer.from(sampleRecords.map(lineOf).join("")));
  await explore.flush();
  await checkAnswers((query) => explore.query(query, new AbortController().signal), sampleRecords, 40);
  await checkRegexes((query) => explore.query(query, new AbortController().signal), sampleRecords);
  await checkUtilisation((query) => explore.query(query, new AbortController().signal), sampleRecords);
});
