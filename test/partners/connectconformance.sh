#!/usr/bin/env bash
# The public conformance suite of Connect, built from its Go module: no server, but a program that drives one, and its schema.
# Without --install it prints where both are.
. "$(dirname "$0")/lib.sh"
VERSION=1.0.7
need go Go
MODULE=connectrpc.com/conformance
KEY=connectconformance-$VERSION
install() {
  GOBIN=$1 CGO_ENABLED=0 go install -ldflags '-s -w' "$MODULE/cmd/connectconformance@v$VERSION" &&
    cp -r "$(go env GOMODCACHE)/$MODULE@v$VERSION/proto" "$1/proto" && chmod -R u+w "$1/proto"
}
once "$KEY" install
begin
ready $VERSION program "$CACHE/$KEY/connectconformance" proto "$CACHE/$KEY/proto"
