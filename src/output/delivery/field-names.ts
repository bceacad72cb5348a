import { ecsName } from "../../record/index.ts";

/** The name under which a field of records is in the lines of an output. */
export type NameOf = (field: string) => string;

/** @param isEcs whether the lines have the names of the Elastic Common Schema. */
export function fieldNames(isEcs: boolean): NameOf {
  return isEcs ? ecsName : (field) => field;
}
