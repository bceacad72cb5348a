import { test } from "node:test";
import { checkService } from "./service-model.ts";
import { killRounds } from "./service-kill.ts";

const sequences = Number(process.env["NETGLOSS_FUZZ_SEQUENCES"] ?? 3_000);
const kills = Number(process.env["NETGLOSS_FUZZ_KILLS"] ?? 60);

test(`${sequences} random sequences of calls do what the model does`, async (t) => {
  t.diagnostic(JSON.stringify(Object.fromEntries(await checkService(sequences, 60))));
});

test(`a collector that is killed ${kills} times keeps what it has answered`, async (t) => {
  t.diagnostic(JSON.stringify(await killRounds(t, kills)));
});
