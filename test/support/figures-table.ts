/**
 * Figures of the house that may only fall. `scripts/house-figures.ts` says what each counts; `node dist/scripts/house-figures.js`
 * prints them.
 */
export const figuresTable = {
  files: 936,
  singleUserFiles: 141,
  interfaces: 1625,
  interfacesWithOneImplementation: 367,
  longFunctions: 136,
  testImportsPastDoors: 270,
} as const;

/** How many files of `src/` each trip passes; may only fall, too. `node dist/scripts/trace-trips.js --files` names them. */
export const tripsTable = { CreateUdm: 78, ListUdms: 43, "NetFlow v9": 71, polls: 41 } as const;

/** @returns what to say of each number that is not as in its table. */
export function changedNumbers<Name extends string>(
  table: Readonly<Record<Name, number>>,
  figures: Readonly<Record<NoInfer<Name>, number>>,
): string[] {
  return (Object.keys(table) as Name[]).flatMap((name) => {
    const is = figures[name];
    if (is > table[name]) return [`${name}: ${is}, but the table says ${table[name]}, and the number may only fall`];
    return is < table[name] ? [`${name}: the number is ${is} now: write it in the table`] : [];
  });
}
