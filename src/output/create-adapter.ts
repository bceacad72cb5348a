import type { Clock } from "../base/report/index.ts";
import { fieldNames } from "./delivery/line-fields.ts";
import type { OutputAdapter } from "./delivery/output-adapter.ts";
import { outputKinds, type StoreWord, type SettingsOf } from "./kinds.ts";
import type { CommonSettings } from "./delivery/settings.ts";
import type { AdapterContext } from "./output-kind.ts";

/** Creates the adapter of an output. @throws Error when this Node or host does not support its settings. */
export async function createAdapter<Word extends StoreWord>(
  word: Word,
  settings: SettingsOf<Word>,
  { clock }: { readonly clock: Clock },
): Promise<OutputAdapter> {
  const kind = outputKinds.find((one) => one.word === word);
  if (kind === undefined) throw new Error(`there is no output ${word}`);
  const create = (await kind.load()) as (settings: SettingsOf<Word>, context: AdapterContext) => OutputAdapter;
  return create(settings, { clock, nameOf: fieldNames((settings as CommonSettings).ECS_ENABLE) });
}
