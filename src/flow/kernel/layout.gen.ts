// Generated from src/flow/kernel/layout.tsv by scripts/generate-kernel.js; do not edit.
export const noSlot = 255;
/** What a slot may hold instead of a value: nothing; a value that no slot can hold; one that the other side keeps. */
export const isAbsent = -1;
export const isOther = -2;
export const isElsewhere = -3;
/** Numbers from here on are kept in exactValues. */
export const tooLarge = 4611686018427387904;
/** What happens to a record instead of a test: the other side is to judge the line. */
export const filterKeeps = 0;
export const filterDrops = 1;
export const filterAsks = 2;
/** In which order an exporter sends type and code of ICMPv6. */
export const orderIsNotLearnt = 0;
export const orderIsUsual = 1;
export const orderIsSwapped = 2;
export const lastSecond = 253402300799;
/** Which end is the client. */
export const sourceIsClient = 1;
export const destinationIsClient = 2;
/** Flags of the ends; withoutPorts: whether requests and replies of ICMP have clients. */
export const expandEnds = 1;
export const withIds = 2;
export const withoutPorts = 4;
/** What a program says of who began the flow: it counts by initiator, its line is of the other direction. */
export const hasInitiator = 1;
export const isReverseLine = 2;
/** One byte of the tag of each cell of the sketch, this many bits up. */
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
export const tickMs = 60000;
/** A cell that nobody asked for in this many ticks is forgotten. */
export const maxCellAge = 30;
/** One of how many pairs of ports is chosen, as a number of bits. */
export const seenBits = 6;
export const seenIngress = 1;
export const seenEgress = 2;
/** A key of the traffic of interfaces has its place in one of this many cells. It is the exporter's number, then 32 bits of ifIndex, a bit for the way (0: in, 1: out), two for where the flow was seen. */
export const trafficProbes = 16;
export const trafficKeyShift = 35;
export const trafficIndexShift = 3;
export const trafficWay = 4;
export const trafficSeenIngress = 1;
export const trafficSeenEgress = 2;
/** The scope of a side is in one of this many cells of `scopeTable`. */
export const scopeProbes = 8;
export const scopeCells = 16384;
export const scopeHashBits = 14;
/** Of a structure whose first 32 bits may be anything. */
export const anyStart = 4294967295;
/** Formats of the records of a sample that are more than a row of fields. */
export const headerFormat = 1;
export const switchFormat = 1001;
/** No frame is longer, unless its packet does not say how long it is: 64 KiB and headers. */
export const longestFrame = 65792;
/** Below are ports of the system; from the second on those that systems give to clients. */
export const firstUserPort = 1024;
export const firstClientPort = 32768;
/** Flags of a program; isSteady: every record has a value in the same slots. */
export const isVariable = 1;
export const mayBePadded = 2;
export const isSteady = 4;
/** The length of a field that varies. */
export const variable = 65535;
/** What an operation writes of the ends: the value of a field below `flow.src` or `flow.dst`, whose upper bits are those of the joined field; a value whose quote is still to come; whole fields; fields anywhere in the line. */
export const markSource = 1;
export const markDestination = 2;
export const markOpen = 4;
export const markChunk = 8;
export const markLine = 16;
/** Parts of the text of an address: where it begins; bytes of the first part, and where the second one begins, 16 bits each; where it ends. */
export const markText = 24;
export const markJoinShift = 5;
/** What an operation writes is noted where its code has this bit. Then its last four bytes are a mark, and how many bytes of its text are behind the place where the name goes on, 16 bits each. */
export const isNoted = 128;
export const noteBytes = 4;
/** The lower twelve bits of a number. */
export const tcpFlagBits = 4095;
/** The engine whose selectors begin with the number of a vendor (RFC 6759 section 4.1), where they are longer than that. */
export const vendorsEngine = 20;
export const listOfLabels = 0;
export const listOfTags = 1;
export const listOfCommunities = 2;
export const stackOfLabels = 0;
export const stackOfExperimental = 1;
export const maxNumbers = 64;
export const maxSlots = 64;
export const maxFields = 4096;
/** A longer stack is left to the other side. */
export const maxLabels = 112;
export const cachedSeconds = 1024;
export const digestLanes = 4;
/** So many sources are prefetched together, and so many destinations. */
export const maxPrefetched = 64;
export const headTextBytes = 8192;
export const joins = 5;
export const maxNoted = 512;
export const maxJoined = 256;
export const sketchBuckets = 4096;
export const cellsOfBucket = 4;
export const sketchCell = 4;
export const maxSeen = 256;
export const trafficCells = 4096;
export const maxStructures = 64;
/** So many known lists follow an operation. */
export const maxListShapes = 8;
/** Longer lists are left to the helper. */
export const maxListValues = 4096;
export const maxSamples = 64;
export const maxSampleHeads = 16;
export const sampleHeadBytes = 2048;
/** A text of the kernel: 63 bytes and their number. */
export const textBytes = 64;
export const textLength = 63;
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
export const scaledOctetsSlot = 21;
export const scaledPacketsSlot = 22;
export const methodBiflow = 1;
export const methodInitiator = 2;
export const methodEvent = 3;
export const methodSyn = 4;
export const methodIcmp = 5;
export const methodLearnt = 6;
export const methodPort = 7;
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
export const methodTexts = 24;
export const textCount = 31;
export const testRange = 0;
export const testRanges = 1;
export const testAddress = 2;
export const testExists = 3;
export const selected = 0;
export const outcome = 1;
export const fits = 2;
export const firstFreeRegister = 3;
export const joinOfLabel = 1;
export const joinOfCity = 2;
export const joinOfCountry = 3;
export const joinOfTags = 4;
export const joinOfThreat = 5;
export const compactStep = 0;
export const expandedStep = 1;
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
export const sampleStepCount = 13;
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
export const packetStepCount = 20;
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
/** Values that some bytes do not have. When there is one, the program goes on `delta` times sixteen bytes further; else this much text before it is taken back as the argument says. */
export const opSeconds = 11;
export const opMilliseconds = 12;
export const opUptime = 13;
/** A value by the helper of the argument. The outcome is 1 when there is one; else it is 0, and this much text is taken back as `delta` says. It is 2 for a field without bytes. */
export const opValue = 14;
/** Whatever the helper of the argument writes, then the steps that it leaves. */
export const opHelper = 15;
/** Which of several fields has a bit set and a value, the first when none has: this many candidates follow. */
export const opSelect = 16;
/** Goes on this many bytes further unless the register of `delta` has the value in `length`, or if it has. */
export const opUnless = 17;
export const opIf = 18;
/** Whether a field of variable length has between `length` and `argument` bytes: 1 or 0 in its register, 2 when it has none. */
export const opFits = 19;
/** Sets the register of `delta`. */
export const opSet = 20;
/** The record has the names of these bits; the upper ones follow in `length` and `delta`. */
export const opTake = 21;
/** Says that the value of a slot is none that a slot can hold. */
export const opOther = 22;
/** Keeps the place of a field and its length. */
export const opPlace = 23;
/** A stack of labels, this many pairs of place and length follow. */
export const opLabels = 24;
/** Gives the line up when nothing was written before it, or only that there were no bytes and no packets. */
export const opReverse = 25;
/** What comes behind the fields of the template, and the end of the line. */
export const opRest = 26;
/** Goes on this many bytes further. */
export const opSkip = 27;
/** As opSeconds: NTP timestamps, with six and nine digits behind the second. */
export const opMicroseconds = 28;
export const opNanoseconds = 29;
/** A basicList: one of those that follow, or whatever the helper of the argument writes, which may add it to them. It finds them by listShapes. */
export const opList = 30;
/** Says that the line may have fields of the ends anywhere. */
export const opAnywhere = 31;
/** A signed number. */
export const opInt = 32;
/** An id of an application with its quotes: the engine and the selector, with a vendor's number between them where the engine has one. */
export const opApplication = 33;
export const opTcpBits = 34;
export const byLength = 0;
export const bySeconds = 1;
export const byMilliseconds = 2;
export const byUptime = 3;
export const byHelper = 4;
export const byMicroseconds = 5;
export const byNanoseconds = 6;
export const isDone = 0;
export const isFull = 1;
export const isLeft = 2;
export const isCut = 3;
export const formOther = 0;
export const formCompact = 1;
export const formExpanded = 2;
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
export const nodeTest = 0;
export const nodeSlot = 1;
export const nodeTrue = 4;
export const nodeFalse = 8;
export const nodeTable = 12;
export const nodeCount = 16;
export const nodeTable6 = 20;
export const nodeCount6 = 24;
export const nodeFirst = 32;
export const nodeLast = 40;
export const filterNodeBytes = 48;
export const numberValueSlot = 0;
export const numberScopeSlot = 1;
export const numberIsOn = 2;
export const numberAdded = 4;
export const numberName = 8;
export const numberBlock = 32;
export const notedName = 0;
export const notedEnd = 4;
export const notedMark = 8;
export const notedTotal = 12;
export const notedBytes = 16;
export const cellTags = 0;
export const cellPeers = 16;
export const cellTick = 32;
export const cellMarks = 48;
export const sketchBucket = 64;
export const trafficKey = 0;
export const trafficBytes = 8;
export const trafficRawBytes = 16;
export const trafficPackets = 24;
export const trafficCell = 32;
export const scopeFirst = 0;
export const scopeSecond = 8;
export const scopeNumber = 16;
export const scopeCell = 32;
export const structureFormat = 0;
export const structureLength = 4;
export const structureStep = 8;
export const structureRest = 12;
export const structureStart = 16;
export const structureGroup = 20;
export const structureBytes = 32;
export const programMinLength = 0;
export const programFields = 4;
export const programFlags = 6;
export const programLengths = 8;
export const programMaxLength = 12;
export const programPerByte = 16;
export const programSource = 20;
export const programSourceLength = 24;
export const programDestination = 28;
export const programDestinationLength = 32;
export const programReverse = 36;
export const programBegan = 40;
export const programBootTime = 44;
export const programBootTimeLength = 48;
/** Where each record has VRF, interface and VLAN of the way in, then out: offset and length, 16 bits each. No length: not at one place. */
export const programSides = 56;
export const programOperations = 128;
export const operationCode = 0;
export const operationSlot = 1;
export const operationText = 2;
export const operationPlace = 4;
export const operationDelta = 6;
export const operationSize = 8;
export const operationLength = 10;
export const operationArgument = 12;
export const operationHead = 16;
/** The mark of a step is in the upper half of its `delta`, those bytes in `length`. */
export const stepMark = 7;
export const stepName = 10;
export const shapeTextBytes = 208;
export const shapeTextLength = 0;
export const shapeValueLength = 2;
export const shapeCode = 4;
export const shapeIsMany = 5;
export const shapeIsQuoted = 6;
export const shapeHeadLength = 7;
export const shapeHead = 8;
export const shapeText = 32;
export const listShapeBytes = 256;
export const candidatePlace = 0;
export const candidateLength = 2;
export const candidateKind = 4;
export const candidateLeast = 6;
export const candidateMost = 8;
export const candidateHelper = 12;
export const candidateBytes = 16;
export const sampleSteps = 0;
export const sampleStepsEnd = 4;
export const sampleSource = 8;
export const sampleDestination = 12;
export const sampleAddressLength = 16;
export const sampleRoom = 20;
export const sampleRate = 24;
export const sampleForm = 32;
export const sampleAt = 36;
export const sampleEnd = 40;
export const sampleHead = 44;
export const sampleHeadLength = 48;
export const sampleBlock = 64;
export const seenHash = 0;
export const seenDirection = 4;
export const seenBytes = 8;
export const icmpNameBytes = 16;
export const secondBytes = 32;
/** The input of a run, and its results. */
export const resultEnd = 256;
export const resultNext = 260;
export const resultCount = 264;
export const resultLines = 268;
/** Which direction of the record at `resultNext` comes next: 0 or 1. */
export const resultDirection = 272;
/** Of a line that is left without additions: where they would begin. */
export const resultRest = 276;
/** Of the line that was written last: which end is the client, 0 where it is not known; and the rule that said it. */
export const resultRole = 280;
export const resultMethod = 284;
export const headLength = 288;
/** What the address of the exporter adds. */
export const exporterLength = 292;
/** Milliseconds since the epoch, and of the exporter's uptime, 64-bit integers. */
export const exportTime = 296;
export const uptime = 304;
export const uptimeIsKnown = 312;
export const uptimeIsOfHeader = 313;
export const rateIsOfRecord = 314;
export const hasNames = 315;
export const hasCommunityId = 316;
export const hasApps = 317;
export const numberCount = 318;
/** How many slots are used. */
export const slotCount = 319;
/** A double; negative when it is not known. */
export const rate = 320;
/** The control block of what is known of addresses; 0 when there is none. */
export const addressControl = 328;
/** Bytes that a line takes in addition to those of its program. */
export const extraRoom = 332;
/** A bit for each name that the record has got. */
export const takenNames = 336;
/** Whether every line is left without its additions. */
export const isUnenriched = 344;
/** By the last flow that showed it; the kernel learns it unless it is orderIsNotLearnt. */
export const icmpOrder = 345;
/** What is done with source and destination, and a bit for each joined field at the position of its number. */
export const endsFlags = 346;
export const joinFlags = 347;
/** How often type and code of ICMPv6 were in each other's place. */
export const icmpSwapped = 348;
/** Where the steps end that a helper leaves to the kernel, from `stepList` on, or that the kernel listed. */
export const listedSteps = 352;
/** Where the program of a filter begins: one of its nodes, or what happens to every record. How many records it dropped, which the other side sets to 0. */
export const filterStart = 356;
export const filterDropped = 360;
export const filterTakesEstimates = 364;
/** The slots of the flow's direction and of both interfaces. */
export const seenDirectionSlot = 365;
export const trafficInSlot = 366;
export const trafficOutSlot = 367;
/** The slots of the VRF of both ways. */
export const vrfInSlot = 368;
export const vrfOutSlot = 369;
/** How many flows of `seenFlows` there are, which the other side sets to 0. */
export const seenCount = 372;
/** Whose lines are written, as a number by which its sides are known in `scopeTable`; 0: there are no scopes. */
export const scopeExporter = 376;
/** A bit for each name that a scope may follow from, and that a record may bring itself. */
export const scopeNames = 384;
/** Whose lines are written, as a number by which its interfaces are known in `trafficTable`; 0: nothing is added up. */
export const trafficExporter = 392;
/** How often there was no place for an interface, and how many lines got an application; the other side sets them to 0. */
export const trafficLost = 396;
export const appsAdded = 400;
/** The time of the sketch of servers, in ticks. */
export const sketchTick = 404;
/** How many lines each rule was for; the first is for those that none was for. */
export const methodCounts = 408;
export const conversationSeed = 440;
/** In the order of the network. */
export const communityIdSeed = 444;
/** Added up from what is read ahead of its use, so that it is read. */
export const prefetchedSum = 448;
/** The rate that the texts below are of, a double; NaN before the first. Its factor, and the largest counter that the kernel applies it to, 64 bits each; that is negative where the other side reckons. */
export const renderedRate = 456;
export const rateFactor = 464;
export const largestCounter = 472;
/** The rate as it is in a line; then the same and what stands before the estimate of the bytes. */
export const rateTextLength = 480;
export const rateTextsLength = 484;
export const listShapes = 488;
/** Bytes that the steps which the kernel lists of one sample take in a line at most. */
export const listedRoom = 492;
export const structureCount = 496;
/** By slot, 64-bit integers. An address is its place and, in the upper half, its length. Negative ones are no such value. */
export const slots = 512;
export const texts = 1024;
/** Where in the line under way the numbers of slots are: those of systems, 0 for nowhere; of others anything. */
export const numberPlaces = 3008;
export const rateTexts = 3264;
/** Numbers that are too large for a slot, by slot. */
export const exactValues = 3392;
/** Addresses of both ends that are not in the record as such. */
export const otherAddresses = 3904;
/** Labels of a stack. */
export const labels = 3968;
export const registers = 4416;
export const hexPairTable = 6464;
export const gapTable = 6976;
export const icmpPartnerTable = 7232;
export const icmpV6PartnerTable = 7744;
/** A byte for each type of ICMPv6: 1 when it is assigned. */
export const icmpV6TypeTable = 8256;
export const dottedOctetTable = 8512;
export const millisecondTable = 9536;
export const octetTable = 13568;
/** By the leading zero bits of a number of 32 bits: what makes the upper half of the sum the count of its decimal digits, 64 bits. */
export const lengthTable = 14592;
/** `00` to `99` */
export const pairTable = 14848;
/** Each second that was written lately: its number, then its text of twenty characters. */
export const secondTable = 15104;
/** Eighty words of SHA-1, each of as many digests; the blocks that they are of, and the places of their texts. */
export const shaWords = 47872;
export const digestBlocks = 49152;
export const digestPlaces = 49408;
export const numberBlocks = 49472;
/** Hashes of the addresses that are prefetched together, and those of them that are not in the table. */
export const hashes = 51520;
export const missingAddresses = 52032;
/** `,"flow.client.` and `,"flow.server.` */
export const endPrefixes = 54592;
/** Both ends as keys of the sketch: hash and tag of each, then the bit of the host of each. */
export const endKeys = 54656;
/** Of each joined field: where its values of source and destination begin and end; and what stands before the values, as `texts`. */
export const joinPlaces = 54720;
export const joinTexts = 54848;
export const notedFields = 55168;
/** Elements of the array under way: where each begins, and its bytes. */
export const joinedElements = 63360;
/** Steps that the kernel lists by itself, by their number. */
export const listedOfSample = 65408;
export const listedOfPacket = 65472;
export const structures = 65600;
/** Flows that were chosen by their ports: a hash of addresses, protocol and ports, and where they were seen. */
export const seenFlows = 67648;
/** The head of the lines, and what the exporter's address adds. */
export const headText = 73728;
export const exporterText = 81920;
/** The datagram, or a set of it, which may begin anywhere within the first word. */
export const input = 94208;
/** Where the fields of a record of variable length are. */
export const fieldOffsets = 163840;
export const fieldLengths = 180224;
/** Buckets by the hash of address, port and protocol; and one byte of the tag of each cell: most ends are not in the sketch, and these bytes stay in the first caches of a processor. */
export const sketch = 196608;
export const sketchTags = 458752;
/** Ports of services: a bit for each port of TCP, UDP, SCTP. Ports that applications are known at by the address: a bit for each. */
export const servicePorts = 475136;
export const appPorts = 499712;
/** Cells by the hash of a side. */
export const scopeTable = 507904;
/** Cells by the hash of their key. */
export const trafficTable = 1032192;
/** By type: place and length of the name, place and number of the codes', each of which is a place and a length. No length: no name. */
export const icmpNames = 1163264;
export const icmpV6Names = 1167360;
/** Tables of the codes, and the texts. */
export const icmpTexts = 1171456;
export const icmpTextsEnd = 1196032;
/** The program of a filter, with its tables. */
export const filterProgram = 1196032;
export const filterProgramEnd = 1687552;
export const samples = 1687552;
/** What the lines of samples begin with: a head for each datagram. */
export const sampleHeads = 1691648;
/** The place of what is to be written, and a number or the place of a value. */
export const stepList = 1724416;
export const stepListEnd = 1855488;
/** Texts for steps, each behind its length. */
export const stepTexts = 1855488;
export const stepTextsEnd = 2883584;
/** Steps themselves, and the tables of their texts. */
export const steps = 2883584;
export const stepsEnd = 3784704;
/** What is left of the kernel's share of a workspace. */
export const programs = 3784704;
export const programsEnd = 8372224;
/** For a line that is too long for other memory. */
export const longLine = 8372224;
export const longLineEnd = 12566528;
export const lines = 12566528;
export const linesEnd = 16760832;
