// The memory of the kernel, for both sides of it. This file is compiled to WebAssembly too, so it holds numbers only. Places
// and sizes are in bytes; numbers are little-endian.

/** The input of a run, and its results. */
export const resultEnd = 256;
export const resultNext = 260;
export const resultCount = 264;
export const resultLines = 312;
/** Which direction of the record at `resultNext` comes next: 0 or 1. */
export const resultDirection = 328;
/** Of a line that is left without additions: where they would begin. */
export const resultRest = 332;
/** Added up from what is read ahead of its use, so that it is read. */
export const prefetchedSum = 268;
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
/** Bytes that a line takes in addition to those of its program. */
export const extraRoom = 324;
/** Whether every line is left without its additions. */
export const isBare = 336;
/** A bit for each name of {@link numberNames} that the record has got, 64 bits. */
export const takenNames = 344;
/** What is done with source and destination: {@link expandEnds} and so on. */
export const endsFlags = 416;
/** A bit for each joined field, at the position of its number. */
export const joinFlags = 417;
/** The time of the sketch of servers, in {@link tickMs}. */
export const sketchTick = 420;
/** Of the line that was written last: which end is the client, 0 where it is not known. */
export const resultRole = 424;
/** The rule that said it. */
export const resultMethod = 428;
/** How many lines each rule was for, 32 bits each; the first is for those that none was for. */
export const methodCounts = 432;
export const conversationSeed = 464;
/** Two bytes in the order of the network. */
export const communityIdSeed = 468;
/** Where the steps end that a helper leaves to the kernel, from {@link stepList} on, or that the kernel listed. */
export const listedSteps = 356;

/**
 * Where the program of a filter begins: one of its nodes, or what happens to every record. How many records it dropped, and lines of them, which
 * the other side sets to 0.
 */
export const filterStart = 360;
export const filterDropped = 364;
export const filterKeeps = 0;
export const filterDrops = 1;
/** The other side is to judge the line. */
export const filterAsks = 2;

/** Whether it tests estimates of the counters, a byte. */
export const filterTakesEstimates = 368;

/** How many flows of {@link seenFlows} there are, which the other side sets to 0; and the slot of the direction, a byte. */
export const seenCount = 372;
export const seenDirectionSlot = 376;
/**
 * Whose lines are written, as a number by which its interfaces are known in {@link trafficTable}; 0: nothing is added up. The slots of both
 * interfaces, a byte each. How often there was no place for an interface, which the other side sets to 0.
 */
export const trafficInSlot = 377;
export const trafficOutSlot = 378;
export const trafficExporter = 380;
export const trafficLost = 388;

/** A node of the program of a filter: a test of a slot, and where it leads. */
export const filterNodeBytes = 48;
export const nodeTest = 0;
export const nodeSlot = 1;
export const nodeTrue = 4;
export const nodeFalse = 8;
/** Pairs of first and last, ascending: of 64 bits; for addresses of 32 bits, then of two words of 64 bits. */
export const nodeTable = 12;
export const nodeCount = 16;
export const nodeTable6 = 20;
export const nodeCount6 = 24;
export const nodeFirst = 32;
export const nodeLast = 40;
export const testRange = 0;
export const testRanges = 1;
export const testAddress = 2;
export const testExists = 3;

/** Additions to numbers: one block for each. */
export const numberBlocks = 201_216;
export const numberBlock = 32;
export const numberValueSlot = 0;
export const numberScopeSlot = 1;
export const numberIsOn = 2;
/** How many records got something of it. */
export const numberAdded = 4;
/** The bit of the name that it adds, 64 bits. */
export const numberName = 8;
export const maxNumbers = 64;
export const noSlot = 255;

/**
 * Values that something else in the line follows from, as 64-bit integers. An address is its place and, in the upper half, its
 * length. Negative ones are no such value.
 */
export const slots = 1024;
export const isAbsent = -1;
/** There is a value, but none that a slot can hold: {@link isElsewhere} when the other side keeps it. */
export const isOther = -2;
export const isElsewhere = -3;
/** Numbers from here on are kept in {@link exactValues}. */
export const tooLarge = 4_611_686_018_427_387_904;
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
export const sourceAsSlot = 10;
export const destinationAsSlot = 11;
export const versionSlot = 12;
export const sourceVlanSlot = 13;
export const destinationVlanSlot = 14;
export const reverseOctetsSlot = 15;
export const reversePacketsSlot = 16;
export const tcpFlagsSlot = 17;
export const biflowDirectionSlot = 18;
export const firewallEventSlot = 19;
export const natEventSlot = 20;
/** Estimates, kept for a filter that asks for them. */
export const scaledOctetsSlot = 21;
export const scaledPacketsSlot = 22;

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
export const assumedText = 7;
export const reverseOctetsText = 8;
export const reversePacketsText = 9;
export const labelText = 10;
export const labelExpText = 11;
export const labelBottomText = 12;
export const topLabelText = 13;
export const versionNameText = 14;
export const inVlanText = 15;
export const outVlanText = 16;
export const vlansText = 17;
export const establishedText = 18;
export const notEstablishedText = 19;
export const conversationText = 20;
export const sessionText = 21;
export const sourceLabelText = 22;
export const destinationLabelText = 23;
/** By the number of the rule, from this one on. */
export const methodTexts = 24;

/** Where in the line under way the numbers of slots are, as 32-bit integers: those of systems, 0 for nowhere; of others anything. */
export const numberPlaces = 3840;

/** Where the fields of a record of variable length are, as 32-bit integers. */
export const fieldOffsets = 229_376;
export const fieldLengths = 245_760;
export const maxFields = 4096;

/** Numbers that are too large for a slot, by slot. */
export const exactValues = 224_256;
/** Addresses of both ends that are not in the record as such, 16 bytes each. */
export const otherAddresses = 224_768;
/** Labels of a stack, 32 bits each. */
export const labels = 224_832;
/** A longer stack is left to the other side. */
export const maxLabels = 112;
/** What operations leave for those behind them, a byte each; the first three are for what comes directly behind. */
export const registers = 225_280;
export const selected = 0;
export const outcome = 1;
export const fits = 2;
export const firstFreeRegister = 3;
export const maxRegisters = 2048;
/** A byte for each type of ICMPv6: 1 when it is assigned. */
export const icmpV6TypeTable = 227_328;
/**
 * The rate that the texts below are of, a double; NaN before the first. Its factor, and the largest counter that the kernel applies it
 * to, 64 bits each; that is negative where the other side reckons.
 */
export const renderedRate = 227_584;
export const rateFactor = 227_592;
export const largestCounter = 227_600;
/** The rate as it is in a line; then the same and what stands before the estimate of the bytes. */
export const rateTextLength = 227_608;
export const rateTextsLength = 227_612;
export const rateTexts = 227_616;
/** How often type and code of ICMPv6 were in each other's place, 32 bits. */
export const icmpSwapped = 352;
/** In which order the exporter sends them, by the last flow that showed it; the kernel learns it unless it is {@link orderIsNotLearnt}. */
export const icmpOrder = 337;
export const orderIsNotLearnt = 0;
export const orderIsUsual = 1;
export const orderIsSwapped = 2;

export const hexPairTable = 4096;
export const gapTable = 4608;
export const icmpPartnerTable = 5120;
export const icmpV6PartnerTable = 5632;
export const dottedOctetTable = 6144;
export const millisecondTable = 7168;
export const octetTable = 20_480;
/** `00` to `99` */
export const pairTable = 21_760;
/** By the leading zero bits of a number of 32 bits: what makes the upper half of the sum the count of its decimal digits, 64 bits. */
export const lengthTable = 21_504;
/** Each second that was written lately: its number, then its text of twenty characters. */
export const secondTable = 100_480;
export const secondBytes = 32;
export const cachedSeconds = 1024;
export const lastSecond = 253_402_300_799;

/** Eighty words of SHA-1, each of as many digests; the blocks that they are of, and the places of their texts. */
export const shaWords = 11_264;
export const digestLanes = 4;
export const digestBlocks = 12_544;
export const digestPlaces = 12_800;

/** The datagram, or a set of it, which may begin anywhere within the first word. */
export const input = 135_168;
/** Hashes of the addresses that are prefetched together: of this many sources, then of as many destinations. */
export const hashes = 203_264;
export const maxPrefetched = 64;
/** Those of them that are not in the table. */
export const missingAddresses = 5_763_072;

/** The head of the lines, and what the exporter's address adds. */
export const headText = 204_800;
export const headTextBytes = 8192;
export const exporterText = 212_992;
/** What is left of the kernel's share of a workspace: for programs, for a line that is too long for other memory, for samples, for lines. */
export const programs = 262_144;
export const programsEnd = 5_242_880;
/**
 * Names of ICMP by type: place and length of the name, place and number of the codes', each of which is a place and a length. No length:
 * no name.
 */
export const icmpNames = 5_767_168;
export const icmpV6Names = 5_771_264;
export const icmpNameBytes = 16;
/** The codes' tables, and the texts. */
export const icmpTexts = 5_775_360;
export const icmpTextsEnd = 5_799_936;
/** The program of a filter, with its tables. */
export const filterProgram = 5_799_936;
export const filterProgramEnd = 6_291_456;

/** Which end is the client. */
export const sourceIsClient = 1;
export const destinationIsClient = 2;
export const expandEnds = 1;
export const withIds = 2;
/** Whether requests and replies of ICMP have clients. */
export const withoutPorts = 4;
/** What a program says of who began the flow: it counts by initiator, its line is of the other direction. */
export const hasInitiator = 1;
export const isReverseLine = 2;
/** The rules. */
export const methodBiflow = 1;
export const methodInitiator = 2;
export const methodEvent = 3;
export const methodSyn = 4;
export const methodIcmp = 5;
export const methodLearnt = 6;
export const methodPort = 7;

/** `,"flow.client.` and `,"flow.server.`, sixteen bytes each. */
export const endPrefixes = 5_242_880;
/** Both ends as keys of the sketch: hash and tag of each, then the bit of the host of each. */
export const endKeys = 5_242_912;
/** Of each joined field: where its values of source and destination begin and end. */
export const joinPlaces = 5_242_944;
export const joins = 5;
export const joinOfLabel = 1;
export const joinOfCity = 2;
export const joinOfCountry = 3;
export const joinOfTags = 4;
export const joinOfThreat = 5;
/** What stands before the values, as {@link texts}. */
export const joinTexts = 5_243_072;
/**
 * Fields of both ends in the line under way, in its order: where the name goes on behind the end's, where the value ends, and a mark. Or pieces
 * of the line in which there may be some, with the mark {@link markPiece}.
 */
export const notedFields = 5_243_904;
export const maxNoted = 512;
export const notedBytes = 16;
export const notedEnd = 4;
export const notedMark = 8;
export const notedTotal = 12;
/** Elements of the array under way: where each begins, and its bytes. */
export const joinedElements = 5_252_096;
export const maxJoined = 256;

/**
 * The sketch of servers: buckets of four cells by the hash of address, port and protocol. A cell has a tag (0: it is free), a bit for
 * each of those that talked to it by their hash, the time of its last use, and what is known for certain; a bucket has the tags of its cells
 * side by side, and so on.
 */
export const sketch = 5_308_416;
export const sketchBuckets = 4096;
export const sketchBucket = 64;
export const cellsOfBucket = 4;
export const sketchCell = 4;
export const cellPeers = 16;
export const cellTick = 32;
export const cellMarks = 48;
/**
 * One byte of the tag of each cell, four to a bucket, {@link tagByteShift} bits up: most ends are not in the sketch, and these bytes stay in the
 * first caches of a processor.
 */
export const sketchTags = 5_612_544;
export const tagByteShift = 8;
export const markClient = 1;
export const markServer = 2;
/** What a mark weighs against peers when a cell is wanted for another end. */
export const serverWeight = 8;
/** With this many peers an end is a server. */
export const leastPeers = 6;
/** A flow of this many packets is more than a probe. */
export const leastTalk = 3;
/** A packet of TCP without data has no more bytes than this, over IPv6 and with options. */
export const mostHeader = 80;
export const tickMs = 60_000;
/** A cell that nobody asked for in this many ticks is forgotten. */
export const maxCellAge = 30;
/** Ports of services: a bit for each port of TCP, UDP, SCTP. */
export const servicePorts = 5_570_560;
/** Flows that were chosen by their ports: a hash of addresses, protocol and ports, and {@link seenIngress} or {@link seenEgress}, 32 bits each. */
export const seenFlows = 5_595_136;
export const maxSeen = 256;
export const seenBytes = 8;
/** One of how many pairs of ports is chosen, as a number of bits. */
export const seenBits = 6;
export const seenIngress = 1;
export const seenEgress = 2;
/** Ports that applications are known at by the address: a bit for each. Whether there are any, a byte; how many lines got one. */
export const appPorts = 5_601_280;
export const appPortsBytes = 8192;
/**
 * What passed interfaces, in cells by the hash of their key, of 64 bits: the exporter's number, then 32 bits of ifIndex, a bit for the way (0: in,
 * 1: out), two for where the flow was seen (0: not known, 1: ingress, 2: egress); 0: it is free. Then estimated bytes, bytes as exported, and estimated
 * packets, doubles.
 */
export const trafficTable = 5_632_000;
export const trafficCells = 4096;
export const trafficCell = 32;
export const trafficBytes = 8;
export const trafficRawBytes = 16;
export const trafficPackets = 24;
/** A key has its place in one of this many cells. */
export const trafficProbes = 16;
export const trafficKeyShift = 35;
export const trafficIndexShift = 3;
export const trafficWay = 4;
export const trafficSeenIngress = 1;
export const trafficSeenEgress = 2;
export const hasApps = 369;
export const appsAdded = 384;
/** Steps that the kernel lists by itself, by their number: the place of each, 32 bits. Those of a packet begin at a table of their own. */
export const listedOfSample = 5_609_472;
export const compactStep = 0;
export const expandedStep = 1;
/** With the indexes of both interfaces. */
export const compactWholeStep = 2;
export const expandedWholeStep = 3;
export const inIndexStep = 4;
export const inInternalStep = 5;
export const outIndexStep = 6;
export const outInternalStep = 7;
export const outCountStep = 8;
export const ingressStep = 9;
export const egressStep = 10;
export const packetsStep = 11;
export const frameLengthStep = 12;
export const listedOfPacket = 5_609_600;
export const frameStep = 0;
export const taggedFrameStep = 1;
export const sourceMacStep = 2;
export const destinationMacStep = 3;
export const etherTypeStep = 4;
export const vlanStep = 5;
export const otherVlanStep = 6;
export const priorityStep = 7;
export const innerVlanStep = 8;
export const innerPriorityStep = 9;
export const ipv4Step = 10;
export const ipv6Step = 11;
export const trafficClassStep = 12;
export const lengthStep = 13;
export const flowLabelStep = 14;
export const protocolStep = 15;
export const portsStep = 16;
export const tcpStep = 17;
export const icmpTypeStep = 18;
export const icmpCodeStep = 19;
/** Bytes that the steps which the kernel lists of one sample take in a line at most, 32 bits. */
export const listedRoom = 5_609_728;
/**
 * Structures whose fields have fixed places: how many, then for each its format and length, its step, and that of all but its first
 * field; what its first 32 bits have to be, unless that is {@link anyStart}; and the number of its group, of which a sample has one.
 */
export const structureCount = 5_609_732;
export const structures = 5_609_984;
export const maxStructures = 64;
export const structureBytes = 32;
export const structureFormat = 0;
export const structureLength = 4;
export const structureStep = 8;
export const structureRest = 12;
export const structureStart = 16;
export const structureGroup = 20;
export const anyStart = 0xffff_ffff;
/** Formats of the records of a sample that are more than that. */
export const headerFormat = 1;
/** No frame is longer, unless its packet does not say how long it is: 64 KiB and headers. */
export const longestFrame = 0x1_0100;
export const switchFormat = 1001;
/** Below are ports of the system; from the second on those that systems give to clients. */
export const firstUserPort = 1024;
export const firstClientPort = 32_768;
export const longLine = 6_291_456;
export const longLineEnd = 10_485_760;
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
/** Where the program for the reverse direction begins, from the head on; 0 when there is none. */
export const programReverse = 36;
/** What is known of who began the flow: {@link hasInitiator}, {@link isReverseLine}. */
export const programBegan = 40;
/** Where the exporter's start time is, in bytes from the record on or as the position of a field, and its length; 0: nowhere. */
export const programBootTime = 48;
export const programBootTimeLength = 52;
export const programOperations = 64;

export const isVariable = 1;
export const mayBePadded = 2;
/** Every record has a value in the same slots. */
export const isSteady = 4;

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
/** What an operation writes of the ends, by marks. The value of a field below `flow.src` or `flow.dst`; the upper bits are those of the joined field. */
export const markSource = 1;
export const markDestination = 2;
/** Behind the value a quote is still to come. */
export const markOpen = 4;
/** Whole fields, some of which may be of an end. */
export const markPiece = 8;
/** The line may have such fields anywhere. */
export const markLine = 16;
/**
 * Parts of the text of an address: where it begins; bytes of the first part, and where the second one begins, 16 bits each; and where the text
 * ends.
 */
export const markText = 24;
export const markJoinShift = 5;
export const variable = 65_535;

/** The text alone. */
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
/** Text and the quote behind it. */
export const opString = 10;
/**
 * Values that some bytes do not have. When there is one, the program goes on `delta` times sixteen bytes further; else this much text
 * before it is taken back as the argument says.
 */
export const opSeconds = 11;
export const opMilliseconds = 12;
export const opUptime = 13;
/**
 * A value by the helper of the argument. The outcome is 1 when there is one; else it is 0, and this much text is taken back as `delta`
 * says. It is 2 for a field without bytes.
 */
export const opValue = 14;
/** Whatever the helper of the argument writes, then the steps that it leaves. */
export const opHelper = 15;
/** Which of several fields has a bit set and a value, the first when none has: this many candidates follow. */
export const opSelect = 16;
/** Goes on this many bytes further unless the register of `delta` has the value in `length`, or if it has. */
export const opUnless = 17;
export const opIf = 18;
/** Whether a field of variable length has between `length` and `argument` bytes: 1 or 0 in its register, 2 when it has none. */
export const opFits = 20;
/** Sets the register of `delta`. */
export const opSet = 21;
/** The record has the names of these bits; the upper ones follow in `length` and `delta`. */
export const opTake = 22;
/** Says that the value of a slot is none that a slot can hold. */
export const opOther = 23;
/** Keeps the place of a field and its length. */
export const opPlace = 24;
/** A stack of labels, this many pairs of place and length follow. */
export const opLabels = 25;
/** Gives the line up when nothing was written before it, or only that there were no bytes and no packets. */
export const opReverse = 26;
/** What comes behind the fields of the template, and the end of the line. */
export const opRest = 27;
/** Goes on this many bytes further. */
export const opSkip = 28;
/** As `opSeconds`: NTP timestamps, with six and nine digits behind the second. */
export const opMicroseconds = 29;
export const opNanoseconds = 30;

/** Says that the line may have fields of the ends anywhere. */
export const opAnywhere = 32;
/**
 * What an operation writes is noted where its code has this bit. Then its last four bytes are a mark, and how many bytes of its text are behind
 * the place where the name goes on, 16 bits each.
 */
export const isNoted = 128;
export const noteBytes = 4;
/** A signed number. An id of an application with its quotes: the engine and the selector, with a vendor's number between them where the engine has one. */
export const opInt = 33;
export const opApplication = 34;
/** The lower twelve bits of a number. */
export const opTcpBits = 35;
export const tcpFlagBits = 0xfff;
/** The engine whose selectors begin with the number of a vendor (RFC 6759 section 4.1), where they are longer than that. */
export const vendorsEngine = 20;
/** Of a step: the mark in the upper half of its `delta`, those bytes in `length`. */
export const stepMark = 7;
export const stepName = operationLength;

/**
 * A basicList: one of those that follow, or whatever the helper of the argument writes, which may add it to them. It finds them by
 * {@link listShapes}.
 */
export const opList = 31;
export const listShapes = 227_744;

/** This many known lists follow, those in use first: by the head of a list, and whether it has one value or more. */
export const maxListShapes = 8;
export const listShapeBytes = 256;
/** Of what stands before the first value, 16 bits; 0 when it is not in use. */
export const shapeTextLength = 0;
/** Bytes of a value, 16 bits. */
export const shapeValueLength = 2;
/** The operation that writes a value. */
export const shapeCode = 4;
export const shapeIsMany = 5;
export const shapeIsQuoted = 6;
export const shapeHeadLength = 7;
/** The list's head. */
export const shapeHead = 8;
export const shapeText = 32;
export const shapeTextBytes = 208;
/** Longer lists are left to the helper. */
export const maxListValues = 4096;

/** A candidate of a selection: its place and length, and what it takes to have a value. */
export const candidateBytes = 16;
export const candidatePlace = 0;
export const candidateLength = 2;
export const candidateKind = 4;
export const candidateLeast = 6;
export const candidateMost = 8;
export const candidateHelper = 12;
export const byLength = 0;
export const bySeconds = 1;
export const byMilliseconds = 2;
export const byUptime = 3;
export const byHelper = 4;
export const byMicroseconds = 5;
export const byNanoseconds = 6;

/**
 * How a run ended: all records are read; the memory for lines is full; the last line has no additions; the next record is cut
 * off.
 */
export const isDone = 0;
export const isFull = 1;
export const isLeft = 2;
export const isCut = 3;

/**
 * Samples whose lines are to be written: one block for each, with the places of its first step and behind its last. The kernel lists the steps
 * of a sample that has a form, if it is of the common kinds.
 */
export const samples = 10_485_760;
export const maxSamples = 64;
export const sampleBlock = 64;
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
/** How its steps come to be listed, where it begins and where it ends. */
export const sampleForm = 32;
export const sampleAt = 36;
export const sampleEnd = 40;
/** What its line begins with. */
export const sampleHead = 44;
export const sampleHeadLength = 48;
/** By the other side; by the kernel, of flow samples and of expanded ones. */
export const formOther = 0;
export const formCompact = 1;
export const formExpanded = 2;
/** What the lines of samples begin with: a head for each datagram. */
export const sampleHeads = 10_489_856;
export const sampleHeadBytes = 2048;
export const maxSampleHeads = 16;
/** Steps: the place of what is to be written, and a number or the place of a value. */
export const stepList = 10_522_624;
export const stepListEnd = 10_653_696;
/** Texts for steps, each behind its length. */
export const stepTexts = 10_653_696;
export const stepTextsEnd = 11_681_792;
/** Steps themselves, and the tables of their texts. */
export const steps = 11_681_792;
export const stepsEnd = 12_582_912;

/**
 * A step is laid out as an operation, or as several: then each but the last has its size. Each has a number or the place of a value: what the list
 * says, and `operationPlace` more. What it writes behind its text:
 */
export const stepFixed = 0;
/** The number itself. */
export const stepNumber = 1;
/** The number that is at the place. */
export const stepUint8 = 2;
export const stepUint16 = 3;
export const stepUint24 = 4;
export const stepUint32 = 5;
/** 32 bits of which all ones say that the value is not known: then it writes nothing. */
export const stepKnown32 = 6;
/** The identifier of a VLAN and its priority in a tag of 802.1Q. */
export const stepVlan = 7;
export const stepPriority = 8;
/** The text of a small number; the argument is the place of pairs of place and length. The number itself, or at the place: a byte, flags of TCP. */
export const stepEntry = 9;
export const stepEntry8 = 10;
export const stepEntryOfFlags = 11;
export const stepIpv4 = 12;
export const stepIpv6 = 13;
export const stepMac = 14;
export const stepUint64 = 15;
/** Text behind its length. */
export const stepText = 16;
/** A list behind its count; the argument is one of the kinds. */
export const stepNumbers = 17;
export const stepPath = 18;
export const stepGiven = 19;
/** A label stack: its place, with the number of its entries in the upper eight bits; the argument is one of the kinds. */
export const stepStack = 20;
/** A number and a quote. */
export const stepQuoted = 21;
/** An array of bytes in hex: the number of its values, the length of what stands before them, a place and a length for each, that text. */
export const stepHexes = 22;

export const listOfLabels = 0;
export const listOfTags = 1;
export const listOfCommunities = 2;
export const stackOfLabels = 0;
export const stackOfExperimental = 1;
