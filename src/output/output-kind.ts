import type { Clock } from "../base/report/index.ts";
import type { Revealed, SettingRows, ValuesOf } from "../base/settings/index.ts";
import type { NameOf } from "./delivery/line-fields.ts";
import type { OutputAdapter } from "./delivery/output-adapter.ts";
import type { CommonRows } from "./delivery/settings.ts";
import type { TlsConfig } from "./delivery/tls-options.ts";

/** The services for an adapter besides its settings. */
export interface AdapterContext {
  readonly clock: Clock;
  /** Returns the name of a field in the lines of the output. */
  readonly nameOf: NameOf;
}

/** The values of settings as an output's thread receives them: plain data, with secrets as text. */
export type OwnSettings<Rows> = Revealed<ValuesOf<Rows>>;

/** A kind of output to a store. Its folder has everything about it; `kinds.ts` lists it. */
export interface OutputKind<Word extends string, Rows extends SettingRows> {
  /** Its word in the names of settings: `SVC_OUTPUT_<WORD>_…`. */
  readonly word: Word;
  /** Its name everywhere else. */
  readonly name: string;
  /** All of its settings, without the beginning of their names, in the order of the settings page. */
  readonly rows: Rows;
  /** The setting that has its addresses. */
  readonly addresses: keyof Rows & string;
  /** Reads the TLS of its settings; undefined: it uses none. */
  tls(this: void, settings: OwnSettings<Rows>): TlsConfig | undefined;
  /** The most records of a batch; absent: as many as any output takes. */
  maxBatchRecords?(this: void, settings: OwnSettings<Rows>): number;
  /** Loads the code of its adapter, which other outputs do not need. The adapter throws an Error when this Node or host does not support it. */
  load(this: void): Promise<(settings: OwnSettings<Rows>, context: AdapterContext) => OutputAdapter>;
}

/** Defines a kind of output, with the types of its own rows. */
export function outputKind<const Word extends string, Rows extends CommonRows & SettingRows>(
  rows: Rows,
  kind: Omit<OutputKind<Word, NoInfer<Rows>>, "rows">,
): OutputKind<Word, Rows> {
  return Object.assign({ rows }, kind);
}
