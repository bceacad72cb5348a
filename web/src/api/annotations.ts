import type { AnnotationsAnswer } from "./answers.gen.ts";
import { callApi, type ApiCall } from "./call.ts";
import type { AskedTime } from "../format/time-choice.ts";

export type Annotation = AnnotationsAnswer["annotations"][number];

/** Asks what happened in a time. */
export function annotationsCall({ from, to }: AskedTime): ApiCall {
  return { path: `api/v1/annotations?from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}` };
}

/** What people say of a mark that they set. */
export interface NewMark {
  readonly name: string;
  /** RFC 3339; until is empty where it took no time. */
  readonly time: string;
  readonly until: string;
}

export const saveMark = (mark: NewMark): Promise<unknown> =>
  callApi({ path: "api/v1/views/save", body: { mark, revision: 0 } });

export const deleteMark = (id: string): Promise<unknown> =>
  callApi({ path: "api/v1/views/delete", body: { kind: "mark", id } });
