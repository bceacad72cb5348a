#!/usr/bin/env bash
# Readers of Arrow and Parquet in Python (PyPI pyarrow, polars). It serves nothing: `python` says where the interpreter is that has them.
. "$(dirname "$0")/lib.sh"
VERSION=26.0.1
need python3
make_env() { python3 -m venv --copies "$1/env" && "$1/env/bin/python" -m pip install -q --no-compile "pyarrow==$VERSION" polars==2.1.0; }
once python-$VERSION make_env
begin
ready $VERSION python "$CACHE/python-$VERSION/env/bin/python"
