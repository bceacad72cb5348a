import {
  fieldNames,
  outputKinds,
  type AdapterContext,
  type OutputAdapter,
  type SettingsOf,
  type StoreWord,
} from "../../src/output/index.ts";
import { reveal, type SettingRows } from "../../src/base/settings/index.ts";
import { systemClock } from "../../src/base/report/index.ts";

type Create = (settings: unknown, context: AdapterContext) => OutputAdapter;

const creators = new Map(
  await Promise.all(outputKinds.map(async (kind) => [kind.word, (await kind.load()) as Create] as const)),
);

/** The settings of an output: those that are given, else their defaults. */
export function settingsFor<Word extends StoreWord>(
  word: Word,
  given: Partial<SettingsOf<Word>> = {},
): SettingsOf<Word> {
  const rows = outputKinds.find((kind) => kind.word === word)?.rows as SettingRows;
  const defaults = Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, row.default]));
  return { ...(reveal(defaults) as SettingsOf<Word>), ...given };
}

/** Makes the adapter of an output, at once. */
export function adapterOf<Word extends StoreWord>(word: Word, given: Partial<SettingsOf<Word>> = {}): OutputAdapter {
  const settings = settingsFor(word, given);
  const create = creators.get(word) as Create;
  return create(settings, { clock: systemClock, nameOf: fieldNames((settings as { ECS_ENABLE: boolean }).ECS_ENABLE) });
}

/** TLS with files in PEM. */
export function tlsSettings({ ca = "", cert = "", key = "" } = {}) {
  return { TLS_ENABLE: true, TLS_CA_CERT_FILEPATH: ca, TLS_CERT_FILEPATH: cert, TLS_KEY_FILEPATH: key };
}
