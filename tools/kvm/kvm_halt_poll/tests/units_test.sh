#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The unit tests, which are a program beside the one that dumps.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=exitcode=99

exec "$(dirname "${KVM_HALT_POLL_DUMP:-$HERE/dump}")/units"
