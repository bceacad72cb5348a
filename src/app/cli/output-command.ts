import { outputKinds } from "../../output/kinds.ts";
import { systemClock } from "../../base/report/index.ts";
import { storeOutput, storeOutputNames } from "../outputs/store-outputs.ts";
import { testOutput } from "../outputs/test-output.ts";
import { addClientOptions, clientOf } from "./client/client-options.ts";
import { throughApi, type DefineCommand } from "./command.ts";
import { addConfigOption, commandSettings } from "./command.ts";
import { exitCodes } from "./terminal.ts";

/** Defines `output test`, which sends one record to a store and reports the result, and `output resend`, which sends refused records again. */
export const defineOutput: DefineCommand = (output, context) => {
  const { terminal, setExitCode } = context;
  const resend = addClientOptions(output.command("resend <name>").helpGroup(throughApi))
    .description("send the dead letters of an output again: records that its store refused")
    .action(async (name: string) => {
      const client = await clientOf(resend, terminal);
      const path = `/api/v1/outputs/${encodeURIComponent(name)}/resend`;
      const { records } = (await client.ask("POST", path)) as { records: number };
      terminal.out(
        records === 0
          ? `${name}: there are no dead letters\n`
          : `${name}: ${records} dead letters are being sent again\n`,
      );
    });
  const test = addConfigOption(output.command("test <name>"))
    .description(
      `send one record to an output, also to one that is off: ${outputKinds.map(({ name }) => name).join(", ")}, or one of yours such as kafka-edge`,
    )
    .action(async (name: string) => {
      const { settings } = await commandSettings(test, terminal);
      const found = storeOutput(name, settings);
      if (found === undefined) {
        terminal.err(`error: there is no output ${name}: one of ${storeOutputNames(settings).join(", ")}\n`);
        setExitCode(exitCodes.usage);
        return;
      }
      const { steps, warnings, fault } = await testOutput(found, systemClock);
      for (const warning of warnings) terminal.err(`warning: ${warning}\n`);
      if (steps.includes("connected")) terminal.out(`${name}: connected\n`);
      if (fault === undefined) {
        terminal.out(`${name}: one record was sent and acknowledged\n`);
        return;
      }
      terminal.err(`error: ${name}: ${fault}\n`);
      setExitCode(exitCodes.failure);
    });
};
