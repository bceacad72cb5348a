/**
 * Figures of the house that may only fall. `scripts/house-figures.ts` says what each counts; `node dist/scripts/house-figures.js`
 * prints them.
 */
export const figuresTable = {
  files: 715,
  singleUserFiles: 105,
  interfaces: 1170,
  interfacesWithOneImplementation: 70,
  longFunctions: 12,
  testImportsPastDoors: 249,
} as const;

/** How many files of `src/` each trip passes; may only fall, too. `node dist/test/support/trace-trips.js --files` names them. */
export const tripsTable = { CreateUdm: 50, ListUdms: 25, "NetFlow v9": 42, polls: 40 } as const;

/** @returns what to say of each number that is higher than in its table. A change that lowers one writes it there. */
export function risenNumbers<Name extends string>(
  table: Readonly<Record<Name, number>>,
  figures: Readonly<Record<NoInfer<Name>, number>>,
): string[] {
  return (Object.keys(table) as Name[])
    .filter((name) => figures[name] > table[name])
    .map((name) => `${name}: ${figures[name]}, but the table says ${table[name]}, and the number may only fall`);
}
