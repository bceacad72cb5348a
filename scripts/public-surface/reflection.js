// What gRPC's reflection shows: the services, and the files of the schema that they are in.
import { connect } from "node:http2";
import { fromBinary, toJsonString } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { BinaryReader } from "@bufbuild/protobuf/wire";

/** Numbers of fields in the messages of reflection. */
const fieldOfSymbol = 4;
const fieldOfList = 7;
const fieldOfFiles = 4;
const fieldOfServices = 6;

/**
 * @param {number} port
 * @param {string} authorization
 * @param {(path: string, text: string) => void} put
 */
export async function describeReflection(port, authorization, put) {
  const session = connect(`http://127.0.0.1:${port}`);
  try {
    for (const version of ["v1", "v1alpha"]) {
      const ask = (/** @type {number} */ field, /** @type {string} */ text) =>
        call(
          session,
          `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
          authorization,
          requestOf(field, text),
        );
      const listed = await ask(fieldOfList, "*");
      const services = fieldsOf(listed, fieldOfServices)
        .flatMap((list) => fieldsOf(list, 1))
        .flatMap((entry) => fieldsOf(entry, 1).map((name) => Buffer.from(name).toString()))
        .sort();
      put(`reflection/${version}-services.txt`, services.join("\n"));
      for (const service of services) {
        const answer = await ask(fieldOfSymbol, service);
        for (const file of fieldsOf(answer, fieldOfFiles).flatMap((found) => fieldsOf(found, 1))) {
          const descriptor = fromBinary(FileDescriptorProtoSchema, file);
          // Places of comments; the comments themselves are in the files of proto/.
          descriptor.sourceCodeInfo = undefined;
          const text = toJsonString(FileDescriptorProtoSchema, descriptor, { prettySpaces: 2 });
          put(`reflection/${version}/${descriptor.name}.json`, text);
        }
      }
    }
  } finally {
    session.close();
  }
}

/** A request with one text field of fewer than 128 bytes. */
function requestOf(/** @type {number} */ field, /** @type {string} */ text) {
  return Buffer.concat([Buffer.from([(field << 3) | 2, text.length]), Buffer.from(text)]);
}

/**
 * @param {import("node:http2").ClientHttp2Session} session
 * @param {string} path
 * @param {string} authorization
 * @param {Buffer} message
 */
async function call(session, path, authorization, message) {
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
    authorization,
  });
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  stream.end(Buffer.concat([head, message]));
  const answer = Buffer.concat(await stream.toArray());
  return answer.subarray(5);
}

/** The values of a field with a length, in the order of the message. */
function fieldsOf(/** @type {Uint8Array} */ message, /** @type {number} */ field) {
  const reader = new BinaryReader(message);
  /** @type {Uint8Array[]} */
  const values = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (number === field) values.push(reader.bytes());
    else reader.skip(type, number);
  }
  return values;
}
