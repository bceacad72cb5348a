import assert from "node:assert/strict";
import { test } from "node:test";
import * as layout from "../../src/flow/kernel/layout.ts";
import { addressLayout } from "../../src/record/index.ts";

type Name = keyof typeof layout;

/** Of entries in the order of their names: the number of the last one, and one more. */
const listed = (last: number): number => 4 * (last + 1);

/** How many bytes each place of the kernel's memory has. */
const places: Readonly<Partial<Record<Name, number>>> = {
  resultEnd: 4,
  resultNext: 4,
  resultCount: 4,
  prefetchedSum: 4,
  headLength: 4,
  exportTime: 8,
  uptime: 8,
  uptimeIsKnown: 1,
  uptimeIsOfHeader: 1,
  rateIsOfRecord: 1,
  hasNames: 1,
  hasCommunityId: 1,
  numberCount: 1,
  slotCount: 1,
  rate: 8,
  resultLines: 4,
  exporterLength: 4,
  addressControl: 4,
  extraRoom: 4,
  resultDirection: 4,
  resultRest: 4,
  isBare: 1,
  takenNames: 8,
  icmpSwapped: 4,
  icmpOrder: 1,
  listedSteps: 4,
  filterStart: 4,
  filterDropped: 4,
  filterTakesEstimates: 1,
  hasApps: 1,
  seenCount: 4,
  seenDirectionSlot: 1,
  trafficInSlot: 1,
  trafficOutSlot: 1,
  trafficExporter: 4,
  appsAdded: 4,
  trafficLost: 4,
  endsFlags: 1,
  joinFlags: 1,
  sketchTick: 4,
  resultRole: 4,
  resultMethod: 4,
  methodCounts: 4 * (layout.methodPort + 1),
  conversationSeed: 4,
  communityIdSeed: 2,
  slots: 8 * layout.maxSlots,
  texts: layout.textBytes * (layout.methodTexts + layout.methodPort),
  numberPlaces: 4 * layout.maxSlots,
  hexPairTable: 2 * 256,
  gapTable: 256,
  icmpPartnerTable: 2 * 256,
  icmpV6PartnerTable: 2 * 256,
  dottedOctetTable: 4 * 256,
  millisecondTable: 4 * 1000,
  octetTable: 4 * 256,
  lengthTable: 8 * 32,
  pairTable: 2 * 100,
  secondTable: layout.secondBytes * layout.cachedSeconds,
  shaWords: 4 * 80 * layout.digestLanes,
  digestBlocks: 64 * layout.digestLanes,
  digestPlaces: 4 * layout.digestLanes,
  input: 65_536 + 8,
  numberBlocks: layout.numberBlock * layout.maxNumbers,
  hashes: 2 * 4 * layout.maxPrefetched,
  missingAddresses: addressLayout.listedBytes * addressLayout.maxListed,
  headText: layout.headTextBytes,
  exporterText: 10_240,
  exactValues: 8 * layout.maxSlots,
  otherAddresses: 2 * 16,
  labels: 4 * layout.maxLabels,
  registers: layout.maxRegisters,
  icmpV6TypeTable: 256,
  renderedRate: 8,
  rateFactor: 8,
  largestCounter: 8,
  rateTextLength: 4,
  rateTextsLength: 4,
  rateTexts: 2 * layout.textBytes,
  listShapes: 4,
  fieldOffsets: 4 * layout.maxFields,
  fieldLengths: 4 * layout.maxFields,
  programs: layout.programsEnd - layout.programs,
  endPrefixes: 2 * 16,
  endKeys: 2 * 8,
  joinPlaces: 16 * layout.joins,
  joinTexts: layout.textBytes * layout.joins,
  notedFields: layout.notedBytes * layout.maxNoted,
  joinedElements: 8 * layout.maxJoined,
  sketch: layout.sketchBucket * layout.sketchBuckets,
  servicePorts: (3 * 65_536) / 8,
  seenFlows: layout.seenBytes * layout.maxSeen,
  appPorts: layout.appPortsBytes,
  listedOfSample: listed(layout.frameLengthStep),
  listedOfPacket: listed(layout.icmpCodeStep),
  listedRoom: 4,
  structureCount: 4,
  structures: layout.structureBytes * layout.maxStructures,
  sketchTags: layout.cellsOfBucket * layout.sketchBuckets,
  trafficTable: layout.trafficCell * layout.trafficCells,
  icmpNames: 256 * layout.icmpNameBytes,
  icmpV6Names: 256 * layout.icmpNameBytes,
  icmpTexts: layout.icmpTextsEnd - layout.icmpTexts,
  filterProgram: layout.filterProgramEnd - layout.filterProgram,
  longLine: layout.longLineEnd - layout.longLine,
  samples: layout.sampleBlock * layout.maxSamples,
  sampleHeads: layout.sampleHeadBytes * layout.maxSampleHeads,
  stepList: layout.stepListEnd - layout.stepList,
  stepTexts: layout.stepTextsEnd - layout.stepTexts,
  steps: layout.stepsEnd - layout.steps,
  lines: layout.linesEnd - layout.lines,
};

/** Constants that are as large as a place, and none: sizes, limits, values. */
const others: readonly Name[] = [
  "listShapeBytes",
  "maxJoined",
  "maxSeen",
  "maxNoted",
  "switchFormat",
  "cachedSeconds",
  "firstUserPort",
  "maxRegisters",
  "maxFields",
  "maxListValues",
  "sketchBuckets",
  "trafficCells",
  "appPortsBytes",
  "headTextBytes",
  "sampleHeadBytes",
  "firstClientPort",
  "tickMs",
  "variable",
  "anyStart",
  "lastSecond",
  "tcpFlagBits",
  "longestFrame",
  "tooLarge",
];

test("places of the kernel's memory do not overlap", () => {
  const inOrder = Object.entries(layout)
    .filter(([name]) => name in places)
    .map(([name, from]) => ({ name, from, to: from + (places[name as Name] as number) }))
    .toSorted((a, b) => a.from - b.from);
  const overlaps = inOrder
    .slice(1)
    .flatMap(({ name, from }, i) => ((inOrder[i]?.to ?? 0) > from ? [`${inOrder[i]?.name} reaches into ${name}`] : []));
  assert.deepEqual(overlaps, []);
  assert.ok((inOrder.at(-1)?.to ?? 0) <= layout.linesEnd);
});

test("as many addresses are looked up together as are prefetched, sources and destinations", () => {
  assert.equal(addressLayout.maxListed, 2 * layout.maxPrefetched);
});

test("each place of the kernel's memory has its length here", () => {
  const first = layout.resultEnd;
  const isEnd = (name: string): boolean => name.endsWith("End") && name !== "resultEnd";
  const large = (Object.entries(layout) as [Name, number][]).filter(([name, value]) => value >= first && !isEnd(name));
  const known = new Set<string>([...Object.keys(places), ...others]);
  assert.deepEqual(
    large.map(([name]) => name).filter((name) => !known.has(name)),
    [],
  );
});
