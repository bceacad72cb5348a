// Connection URLs of a metadata database.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { parseServerAddress } from "../../../src/base/postgresql/index.ts";

suite("the address of a database", { concurrency: true }, () => {
  test("has hosts, user, password and database, with what is written in percent", () => {
    assert.deepEqual(parseServerAddress("postgresql://ann:p%40ss@db1:5433,[2001:db8::1],db2/names"), {
      places: [
        { host: "db1", port: 5433 },
        { host: "2001:db8::1", port: 5432 },
        { host: "db2", port: 5432 },
      ],
      user: "ann",
      password: "p@ss",
      database: "names",
      tls: "verify-full",
    });
    const socket = parseServerAddress("postgres://ann@/?host=%2Frun%2Fpostgresql");
    assert.deepEqual(
      [socket.places, socket.database, socket.tls],
      [[{ host: "/run/postgresql", port: 5432 }], "ann", "disable"],
    );
  });

  test("is verified in full unless it is of this host, or says otherwise", () => {
    const tlsOf = (rest: string): string => parseServerAddress(`postgresql://u@${rest}`).tls;
    assert.deepEqual(
      [
        "localhost/d",
        "127.0.0.2/d",
        "[::1]/d",
        "db/d",
        "localhost,db/d",
        "127.example.com/d",
        "db/d?sslmode=require",
      ].map(tlsOf),
      ["disable", "disable", "disable", "verify-full", "verify-full", "verify-full", "require"],
    );
  });

  test("names what is wrong, and never the password", () => {
    const faults: [string, RegExp][] = [
      ["mysql://u:hidden@h/d", /is not a URL like postgresql:/],
      ["postgresql://u:hid/den@h/d", /characters like @ : \//],
      ["postgresql://h/d", /names no user/],
      [
        "postgresql://u:hidden@h/d?sslmode=prefer",
        /sslmode that is none of disable, require, verify-ca, verify-full: "prefer"/,
      ],
      ["postgresql://u:hidden@h/d?sslmod=require", /parameter that is not known: "sslmod"/],
      ["postgresql://u:hidden@h/d?target_session_attrs=standby", /must be read-write, not "standby"/],
      ["postgresql://u:hidden@h:99999/d", /a host that is none: "h:99999"/],
      ["postgresql://u:hid%den@h/d", /a password with a percent sign/],
    ];
    for (const [url, message] of faults) {
      assert.throws(
        () => parseServerAddress(url),
        (error: Error) => {
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /hidden|hid\/den/);
          return true;
        },
      );
    }
  });
});
