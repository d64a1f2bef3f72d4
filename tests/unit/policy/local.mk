# Check programs of src/policy: see HACKING.md, "To add a file". The *_rescheduler tests put the arithmetic on a
# Rescheduler, an executor and the fake clock.
check_PROGRAMS += tests/unit/policy/backoff_test
tests_unit_policy_backoff_test_SOURCES = \
	tests/unit/policy/backoff_test.c tests/unit/policy/must.h
tests_unit_policy_backoff_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/policy/deadline_test
tests_unit_policy_deadline_test_SOURCES = \
	tests/unit/policy/deadline_test.c tests/unit/policy/must.h
tests_unit_policy_deadline_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/policy/idle_test
tests_unit_policy_idle_test_SOURCES = \
	tests/unit/policy/idle_test.c tests/unit/policy/must.h
tests_unit_policy_idle_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/policy/idle_rescheduler_test
tests_unit_policy_idle_rescheduler_test_SOURCES = \
	tests/unit/policy/idle_rescheduler_test.c tests/unit/policy/must.h
tests_unit_policy_idle_rescheduler_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/policy/keepalive_test
tests_unit_policy_keepalive_test_SOURCES = \
	tests/unit/policy/keepalive_test.c tests/unit/policy/keepalive_rows.h tests/unit/policy/must.h
tests_unit_policy_keepalive_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/policy/keepalive_cases_test
tests_unit_policy_keepalive_cases_test_SOURCES = \
	tests/unit/policy/keepalive_cases_test.c tests/unit/policy/keepalive_rows.h tests/unit/policy/must.h
tests_unit_policy_keepalive_cases_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/policy/keepalive_interval_test
tests_unit_policy_keepalive_interval_test_SOURCES = tests/unit/policy/keepalive_interval_test.c
tests_unit_policy_keepalive_interval_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/policy/keepalive_rescheduler_test
tests_unit_policy_keepalive_rescheduler_test_SOURCES = \
	tests/unit/policy/keepalive_rescheduler_test.c tests/unit/policy/must.h
tests_unit_policy_keepalive_rescheduler_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/policy/conn_age_test
tests_unit_policy_conn_age_test_SOURCES = \
	tests/unit/policy/conn_age_test.c tests/unit/policy/conn_age_rows.h
tests_unit_policy_conn_age_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/policy/conn_age_drain_test
tests_unit_policy_conn_age_drain_test_SOURCES = \
	tests/unit/policy/conn_age_drain_test.c tests/unit/policy/conn_age_rows.h tests/unit/policy/must.h
tests_unit_policy_conn_age_drain_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/policy/ping_police_test
tests_unit_policy_ping_police_test_SOURCES = \
	tests/unit/policy/ping_police_test.c tests/unit/policy/must.h
tests_unit_policy_ping_police_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/policy/ping_police_duel_test
tests_unit_policy_ping_police_duel_test_SOURCES = \
	tests/unit/policy/ping_police_duel_test.c tests/unit/policy/must.h
tests_unit_policy_ping_police_duel_test_LDADD = $(UNIT_LIBS)
