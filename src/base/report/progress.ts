import type { Clock } from "./reporting.ts";

/** The kinds of long-running work. A check is a dry run. */
type TaskKind =
  | "import"
  | "import-check"
  | "replace"
  | "replace-check"
  | "apply-definitions"
  | "preview-definitions"
  | "discover-networks";

/** A long-running task, as shown. */
export interface TaskView {
  /** An id that is unique in this run. */
  readonly id: number;
  readonly kind: TaskKind;
  /** The subject, a few words. */
  readonly subject: string;
  /** The user who asked for it; absent where unknown. */
  readonly by?: string;
  /** The present step: `reading`, `comparing`, `saving`. */
  readonly step: string;
  /** The progress of the step, in its units. */
  readonly done: number;
  /** The total number of units; absent where unknown in advance. */
  readonly total?: number;
  readonly unit: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

/** One running task. Reporting its progress costs almost nothing. */
export interface Task {
  /** Begins the next step. */
  step(name: string, unit: string, total?: number): void;
  /** Sets the total progress of the step. */
  reached(done: number): void;
  end(): void;
}

type Changing = { -readonly [Name in keyof TaskView]: TaskView[Name] };

/** Lists running work that may take more than a second. */
export class Progress {
  readonly #clock: Pick<Clock, "now">;
  readonly #running = new Map<number, Changing>();
  #last = 0;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  begin({ kind, subject, by }: Pick<TaskView, "kind" | "subject" | "by">): Task {
    const id = ++this.#last;
    const whose = by === undefined ? {} : { by };
    const task: Changing = { id, kind, subject, ...whose, step: "", done: 0, unit: "", startedAt: this.#clock.now() };
    this.#running.set(id, task);
    return {
      step(name, unit, total) {
        Object.assign(task, { step: name, unit, done: 0 });
        if (total === undefined) delete task.total;
        else task.total = total;
      },
      reached: (done) => void (task.done = done),
      end: () => void this.#running.delete(id),
    };
  }

  /** Returns the tasks, oldest first. */
  tasks(): readonly TaskView[] {
    return Array.from(this.#running.values(), (task) => ({ ...task }));
  }
}
