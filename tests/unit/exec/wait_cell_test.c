/* SPDX-License-Identifier: MIT */
/* src/exec/wait_cell.c as it was built. */
#include "tests/unit/exec/wait_cell_cases.h"

LULL_TEST_MAIN("wait_cell", wait_cell_suite)
