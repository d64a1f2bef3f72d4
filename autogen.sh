#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes configure and Makefile.in from a clone. A release archive has them already.
set -eu
cd "$(dirname "$0")"
exec autoreconf --install --warnings=all,no-portability
