import type { Clock } from "./reporting.ts";

/** The kinds of work that takes a while; a check is a dry run. */
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
  /** The subject, a few words. */
  readonly subject: string;
  /** The name of who asked for it; absent: nobody is known. */
  readonly by?: string;
  /** The work that is done now: `reading`, `comparing`, `saving`. */
  readonly step: string;
  /** The progress of the step, in its units. */
  readonly done: number;
  /** The total number of units; absent: not known beforehand. */
  readonly total?: number;
  readonly unit: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

/** One task while it runs. Saying how far it is costs next to nothing. */
export interface Task {
  /** Begins the next step. */
  step(name: string, unit: string, total?: number): void;
  /** Sets how far the step is in all. */
  reached(done: number): void;
  end(): void;
}

type Changing = { -readonly [Name in keyof TaskView]: TaskView[Name] };

/** Lists work under way that takes more than a second now and then. */
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

  /** The oldest first. */
  tasks(): readonly TaskView[] {
    return Array.from(this.#running.values(), (task) => ({ ...task }));
  }
}
