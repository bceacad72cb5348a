import { fieldRows } from "./record-field.ts";

/** What records have that were made of several. */
export const rollupFields = fieldRows(`
flow.rollup.records | long | records | 17 | how many records were added up | rollup
`);
