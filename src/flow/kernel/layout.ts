// The memory of the kernel, for both sides of it. This file is compiled to WebAssembly too, so it holds numbers only. Places
// and sizes are in bytes; numbers are little-endian.

/** What one run is told, and what it tells. */
export const resultEnd = 256;
export const resultNext = 260;
export const resultCount = 264;
/** Where the record begins that is to become fields. */
export const resultRecord = 328;
/** Added up from what is read ahead of its use, so that it is read. */
export const touchedSum = 268;
export const headLength = 276;
/** Milliseconds since the epoch, a 64-bit integer. */
export const exportTime = 280;
/** The exporter's uptime in milliseconds, a 64-bit integer; unless {@link uptimeIsKnown}. */
export const uptime = 288;
export const uptimeIsKnown = 296;
export const uptimeIsOfHeader = 297;
export const rateIsOfRecord = 298;
export const hasNames = 299;
export const hasCommunityId = 300;
export const numberCount = 301;
/** How many slots are used. */
export const slotCount = 302;
/** A double; negative when it is not known. */
export const rate = 304;
/** What the address of the exporter adds. */
export const exporterLength = 316;
/** The control block of what is known of addresses; 0 when there is none. */
export const addressControl = 320;
/** Bytes that a line takes beside those of its program. */
export const extraRoom = 324;

/** Additions to numbers: one block for each. */
export const numberBlocks = 201_216;
export const numberBlock = 16;
export const numberValueSlot = 0;
export const numberScopeSlot = 1;
export const numberIsOn = 2;
/** How many records got something of it. */
export const numberAdded = 4;
/** A bit of 64 for each of those before it which add the same name. */
export const numberBefore = 8;
export const maxNumbers = 64;
export const noSlot = 255;

/** Values that something else in the line follows from, as 64-bit integers; -1 when absent. */
export const slots = 1024;
export const maxSlots = 64;
/** Of values that nobody asks for. */
export const unusedSlot = 0;
export const sourceSlot = 1;
export const destinationSlot = 2;
export const sourcePortSlot = 3;
export const destinationPortSlot = 4;
export const protocolSlot = 5;
export const icmpTypeSlot = 6;
export const icmpCodeSlot = 7;
export const octetsSlot = 8;
export const packetsSlot = 9;
export const sourceSystemSlot = 10;
export const destinationSystemSlot = 11;
export const versionSlot = 12;
export const sourceVlanSlot = 13;
export const destinationVlanSlot = 14;
export const firstFreeSlot = 15;

/** Texts that a kernel writes by itself: 63 bytes and their number. */
export const texts = 1536;
export const textBytes = 64;
export const textLength = 63;
export const versionText = 0;
export const rateText = 1;
export const scaledOctetsText = 2;
export const scaledPacketsText = 3;
export const communityIdText = 4;
export const icmpTypeText = 5;
export const icmpCodeText = 6;

/** Where the fields of a record of variable length are, as 32-bit integers. */
export const fieldOffsets = 2048;
export const fieldLengths = 3072;
export const maxFields = 200;

export const hexPairTable = 4096;
export const gapTable = 4608;
export const icmpPartnerTable = 5120;
export const icmpV6PartnerTable = 5632;
export const octetTable = 6144;
export const millisecondTable = 7168;
export const base64Table = 11_264;
export const digitTable = 20_480;
export const fourDigitTable = 60_480;
/** Each second that was written lately: its number, then its text of twenty characters. */
export const secondTable = 100_480;
export const secondBytes = 32;
export const cachedSeconds = 1024;
export const lastSecond = 253_402_300_799;

/** Eighty words of SHA-1. */
export const shaBlock = 133_248;

/** The datagram, or a set of it. */
export const input = 135_168;
/** Hashes of the addresses that are looked for together: of so many sources, then of as many destinations. */
export const hashes = 202_752;
export const maxTouched = 64;

/** The head of the lines, and what the exporter's address adds. */
export const headText = 204_800;
export const headTextBytes = 8192;
export const exporterText = 212_992;
/** What is left of the kernel's share of a workspace: for programs, for samples, and for lines that nobody gave memory for. */
export const programs = 262_144;
export const programsEnd = 10_485_760;
export const lines = 12_582_912;
export const linesEnd = 16_777_216;

/** The head of a program; its operations follow. */
export const programMinLength = 0;
export const programFields = 4;
export const programFlags = 6;
/** Where the lengths of fields are, from the head on, as 16-bit integers. */
export const programLengths = 8;
export const programMaxLength = 12;
export const programPerByte = 16;
/** Where addresses are in every record, and how long; no length: nowhere. */
export const programSource = 20;
export const programSourceLength = 24;
export const programDestination = 28;
export const programDestinationLength = 32;
export const programOperations = 48;

export const isVariable = 1;
export const mayBePadded = 2;
export const tellsBootTime = 4;

/** An operation: its head, then the text that is written before it, filled up to sixteen bytes. */
export const operationCode = 0;
export const operationSlot = 1;
export const operationText = 2;
/** An offset in the record or, where lengths vary, the position of the field; and what is added to it. */
export const operationPlace = 4;
export const operationDelta = 6;
export const operationSize = 8;
export const operationLength = 10;
export const operationArgument = 12;
export const operationHead = 16;
export const variable = 65_535;

export const opText = 0;
export const opUint8 = 1;
export const opUint16 = 2;
export const opUint32 = 3;
export const opUint = 4;
export const opIpv4 = 5;
export const opIpv6 = 6;
export const opMac = 7;
export const opHex = 8;
/** The text of a byte; the argument is the place of 256 pairs of place and length. */
export const opTable = 9;
export const opPlainText = 10;
export const opSeconds = 11;
export const opMilliseconds = 12;
export const opUptime = 13;
export const opInterpret = 14;
/** Which of several fields has a bit set, the first when none has: so many pairs of place and length follow. */
export const opSelect = 15;
/** Goes on so many bytes further unless that was, or if it was, the one in `length`. */
export const opUnless = 16;
export const opIf = 17;
export const opRest = 18;
/** Whether a byte is the one in `length`: 1 or 0 for the operations that ask which it was. */
export const opIsByte = 19;

/** How a run ended: all records are read, the memory for lines is full, one record needs the interpreter, one is cut off. */
export const isDone = 0;
export const isFull = 1;
export const isCareful = 2;
export const isCut = 3;

/** Samples whose lines are to be written: one block for each, with the places of its first step and behind its last. */
export const samples = 10_485_760;
export const maxSamples = 32;
export const sampleBlock = 32;
export const sampleSteps = 0;
export const sampleStepsEnd = 4;
/** Where the addresses of both ends are, and how long; no length: nowhere. */
export const sampleSource = 8;
export const sampleDestination = 12;
export const sampleAddressLength = 16;
/** Its line takes no more. */
export const sampleRoom = 20;
/** A double; negative when it is not known. */
export const sampleRate = 24;
/** What the lines of samples begin with. */
export const sampleHead = 10_487_808;
/** Steps: the place of what is to be written, and a number or the place of a value. */
export const stepList = 10_502_144;
export const stepListEnd = 10_633_216;
/** Texts for steps, each behind its length. */
export const stepTexts = 10_633_216;
export const stepTextsEnd = 11_157_504;
/** Steps themselves, and the tables of their texts. */
export const steps = 11_157_504;
export const stepsEnd = 12_582_912;

/**
 * A step is laid out as an operation, or as several: then each but the last has its size, and each reads a part of what lies at the
 * place of the step, at the offset `operationPlace`, as `operationDelta` says: */
export const readValue = 0;
export const readPlace = 1;
export const readUint8 = 2;
export const readUint16 = 3;
export const readUint24 = 4;
export const readUint32 = 5;
/** The identifier of a VLAN and its priority in a tag of 802.1Q; flags of TCP: parts of sixteen bits. */
export const readVlan = 6;
export const readPriority = 7;
export const readFlags = 8;

/** What a step writes behind its text: */
export const stepFixed = 0;
export const stepNumber = 1;
/** The text of a small number; the argument is the place of pairs of place and length. */
export const stepEntry = 2;
export const stepIpv4 = 3;
export const stepIpv6 = 4;
export const stepMac = 5;
export const stepUint64 = 6;
/** Text behind its length that has nothing to escape. */
export const stepText = 7;
/** A list behind its count; the argument is one of the kinds. */
export const stepNumbers = 8;
export const stepPath = 9;
export const stepGiven = 10;
/** A label stack: its place, with the number of its entries in the upper eight bits; the argument is one of the kinds. */
export const stepStack = 11;

export const listOfLabels = 0;
export const listOfTags = 1;
export const listOfCommunities = 2;
export const stackOfLabels = 0;
export const stackOfExperimental = 1;
