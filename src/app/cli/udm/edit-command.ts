import { addClientOptions, clientOf } from "../client/client-options.ts";
import type { DefineCommand } from "../command-row.ts";

/** `udm edit`. */
export const defineEdit: DefineCommand = (edit, { terminal }) => {
  addClientOptions(edit).action(async (keys: readonly string[]) => {
    const { editEntries } = await import("./edit-entries.ts");
    await editEntries(await clientOf(edit, terminal), keys, terminal);
  });
};
