import type { ExporterState, OptionsState, StateChange, TemplateState } from "./exporter-state.ts";

/**
 * What the collectors of a fleet know of exporters, wherever they keep it. Each writes what its exporters said to it, and reads what they
 * said to others. It never waits: what cannot be written now is written later, or not.
 */
export interface SharedExporters {
  /** Takes a change, as the store of the files does. */
  put(change: StateChange): void;
  /** Exporters that were heard, by `stateKey`, with the time in milliseconds since the epoch. */
  heard(exporters: readonly (readonly [key: string, lastSeen: number])[]): void;
  /**
   * What was said by senders, and by relays of others. The times are those of this clock, whoever wrote them.
   *
   * @throws Error when nobody answers now; whoever asks then goes on as if there were no others.
   */
  find(senders: readonly string[]): Promise<readonly ExporterState[]>;
}

/** What is known of some senders. Plain data, which may be cloned to another thread. */
export interface SharedAnswer {
  /** Their addresses: those that nothing is known of, too. */
  readonly asked: readonly string[];
  readonly states: readonly ExporterState[];
}

/** The same with all its times later: who wrote it has another clock. */
export function shiftTimes(state: ExporterState, ms: number): ExporterState {
  const { firstSeen, lastSeen, templates, options } = state;
  const moved = ({ definedAt, ...template }: TemplateState): TemplateState => ({
    ...template,
    definedAt: definedAt + ms,
  });
  const said = ({ changedAt, ...rest }: OptionsState): OptionsState => {
    return changedAt === undefined || changedAt === 0 ? rest : { ...rest, changedAt: changedAt + ms };
  };
  return {
    ...state,
    firstSeen: firstSeen + ms,
    lastSeen: lastSeen + ms,
    templates: templates.map(moved),
    options: options.map(said),
  };
}
