import type { Clock } from "./reporting.ts";

/** What takes a while; a check is a dry run. */
type TaskKind =
  | "import"
  | "import-check"
  | "replace"
  | "replace-check"
  | "apply-definitions"
  | "preview-definitions"
  | "discover-networks";

/** Something that takes a while, as it is shown. */
export interface TaskView {
  /** Unique in this run. */
  readonly id: number;
  readonly kind: TaskKind;
  /** What it is about, a few words. */
  readonly subject: string;
  /** Who asked for it; absent: nobody is known. */
  readonly by?: string;
  /** What is being done now: `reading`, `comparing`, `saving`. */
  readonly step: string;
  /** How far the step is, in its units. */
  readonly done: number;
  /** How many there are; absent: not known beforehand. */
  readonly total?: number;
  readonly unit: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

/** One task while it runs. Saying how far it is costs next to nothing. */
export interface Task {
  /** Begins the next step. */
  step(name: string, unit: string, total?: number): void;
  /** How far the step is in all. */
  reached(done: number): void;
  end(): void;
}

/** What is under way that takes more than a second now and then. */
export interface Progress {
  begin(task: Pick<TaskView, "kind" | "subject" | "by">): Task;
  /** The oldest first. */
  tasks(): readonly TaskView[];
}

type Changing = { -readonly [Name in keyof TaskView]: TaskView[Name] };

export function createProgress(clock: Clock): Progress {
  const running = new Map<number, Changing>();
  let last = 0;
  return {
    begin({ kind, subject, by }) {
      const id = ++last;
      const startedAt = clock.now();
      const view: Changing = {
        id,
        kind,
        subject,
        ...(by !== undefined && { by }),
        step: "",
        done: 0,
        unit: "",
        startedAt,
      };
      running.set(id, view);
      return {
        step(name, unit, total) {
          const { total: _total, ...rest } = running.get(id) ?? view;
          running.set(id, { ...rest, step: name, unit, done: 0, ...(total !== undefined && { total }) });
        },
        reached(done) {
          const task = running.get(id);
          if (task !== undefined) task.done = done;
        },
        end: () => void running.delete(id),
      };
    },
    tasks: () => Array.from(running.values(), (task) => ({ ...task })),
  };
}

/** Where nobody looks. */
export const silentProgress: Progress = {
  begin: () => ({ step() {}, reached() {}, end() {} }),
  tasks: () => [],
};
