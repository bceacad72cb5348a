#!/usr/bin/env bash
# A store with the API of Amazon S3 (PyPI moto: its server keeps objects in memory, so it is not killed and started again).
# Region us-east-1, key AKIDEXAMPLE, secret `secret`; no signature is checked. The bucket `flows` is there.
. "$(dirname "$0")/lib.sh"
VERSION=5.2.5
need python3; need curl
make_env() { python3 -m venv --copies "$1/env" && "$1/env/bin/python" -m pip install -q --no-compile "moto[s3,server]==$VERSION"; }
once s3-$VERSION make_env
begin
ports 1
run "$CACHE/s3-$VERSION/env/bin/python" -m moto.server -H 127.0.0.1 -p "$PORT"
await 60 http "http://127.0.0.1:$PORT/moto-api/"
http -X PUT "http://127.0.0.1:$PORT/flows" || die "the bucket could not be made"
ready $VERSION url "http://127.0.0.1:$PORT" bucket flows key AKIDEXAMPLE secret secret
