check_PROGRAMS += tests/unit/loop/loop_test
