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

type Changing = { -readonly [Name in keyof TaskView]: TaskView[Name] };

/** What is under way that takes more than a second now and then. */
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
